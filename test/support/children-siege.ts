/** Parents that spawn children and wait for them, while sidecar, runners and engines are killed. */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { NO_USE } from "../../shared/agent/budget.ts";
import type { ThreadEvent } from "../../shared/agent/events.ts";
import { foldEvents } from "../../shared/agent/fold.ts";
import { LIMIT_NAMES } from "../../shared/agent/limit-schema.ts";
import { ownUseOf } from "../../shared/agent/limits.ts";
import { engineOf, folderOf, runnersOf } from "./agent-siege.ts";
import { eventsIn } from "./agent-truth.ts";
import { script, untilStatus } from "./agents.ts";
import { callTool, type ToolUse } from "./mcp.ts";
import { signal } from "./processes.ts";
import type { SpawnedSidecar } from "./sidecar.ts";
import { until } from "./wait.ts";

const CHILDREN_OF_ONE = 8;
const CALL_TIMEOUT_MS = 240_000;
/** More often, and a thread fails: a person has to say that it is to go on. */
const KILLS_OF_ONE = 2;
const VICTIMS = ["engine", "sidecar", "engine", "runner"] as const;

export interface ChildrenSiegeOptions {
  sidecar: SpawnedSidecar;
  children: number;
  kills: number;
  /** Of each child's command. */
  workSeconds: number;
  /** Between two of them, about. */
  pauseMs: number;
  random: () => number;
}

export interface ChildrenReport {
  /** By victim, those that were alive. */
  kills: Record<string, number>;
  faults: string[];
}

/** Every call is made until it is answered, as by an engine that is told that its connection broke. */
export async function besiegeChildren(options: ChildrenSiegeOptions): Promise<ChildrenReport> {
  const { sidecar, children } = options;
  const parents = Array.from({ length: Math.ceil(children / CHILDREN_OF_ONE) }, (_, i) => `parent-${i}`);
  for (const parent of parents) {
    mkdirSync(join(sidecar.reposDir, parent));
    const command = script("Hello", { text: "Hello." });
    await sidecar.client.createThread({
      ...{ threadId: parent, type: "agent", dir: parent, command },
      agent: { permissionMode: "bypassPermissions", limits: { turns: 1_000, tokens: 1e9, seconds: 10_000 } },
    });
    await untilStatus(sidecar, parent, "idle");
  }
  const jobs = Array.from({ length: children }, (_, i) => ({
    name: `job${i}job`,
    parent: parents[i % parents.length] ?? "",
  }));
  const kills: Record<string, number> = {};
  const done = new AbortController();
  const killing = killAtRandom(options, kills, done.signal);
  const results = await Promise.all(jobs.map((job) => work(options, job))).finally(() => done.abort());
  await killing;
  await untilTold(sidecar, parents, 2 * children);
  const again = await Promise.all(results.map(({ parent, childId }) => wait(sidecar, parent, childId)));
  const faults = [
    ...(await findFaults(sidecar, results)),
    ...parents.flatMap((parent) => findMiscounted(sidecar, parent, results)),
    ...results.flatMap(({ name, told }, i) =>
      again[i] === told ? [] : [`${name}: told ${told}, then ${again[i]}`],
    ),
  ];
  return { kills, faults };
}

/** What the parents were told is in their inboxes when the calls are answered; their runners write it down later. */
async function untilTold(sidecar: SpawnedSidecar, parents: readonly string[], count: number): Promise<void> {
  const isTold = ({ type }: ThreadEvent) => type === "thread_spawned" || type === "thread_ended";
  const told = () =>
    parents.flatMap((parent) => eventsIn(folderOf(sidecar, parent)).filter(isTold)).length >= count;
  await until("the parents to have written down what they were told", told, { timeoutMs: 60_000 });
}

interface Job {
  name: string;
  parent: string;
}
type Result = Job & { childId: string; told: string };

async function work({ sidecar, workSeconds }: ChildrenSiegeOptions, { name, parent }: Job): Promise<Result> {
  const command = `echo ${name} >> ran; timeout ${workSeconds} tail -f /dev/null; true`;
  const prompt = script(
    `Do ${name}.`,
    { tools: [{ name: "Bash", input: { command } }], delayMs: 100 },
    { text: `Result of ${name}.`, delayMs: 100 },
  );
  const spawn = { threadId: parent, name: "spawn_thread", input: { prompt, mode: "async" }, callId: name };
  const said = await insist(sidecar, spawn, /^Started /);
  const childId = /^Started (\S+) /.exec(said)?.[1] ?? "";
  return { name, parent, childId, told: await wait(sidecar, parent, childId) };
}

const wait = (sidecar: SpawnedSidecar, parent: string, threadId: string) =>
  insist(sidecar, { threadId: parent, name: "wait_thread", input: { threadId } }, /\n\n/);

async function insist(sidecar: SpawnedSidecar, call: ToolUse, wanted: RegExp): Promise<string> {
  const deadline = Date.now() + CALL_TIMEOUT_MS;
  let last: unknown;
  while (Date.now() < deadline) {
    try {
      last = await callTool(sidecar, call);
      if (wanted.test(String(last))) return String(last);
    } catch (error) {
      last = error; // it is being started again
    }
    await sleep(100);
  }
  throw new Error(`${call.name} of ${call.threadId} was not answered: ${String(last)}`);
}

async function killAtRandom(
  { sidecar, kills: count, pauseMs, random }: ChildrenSiegeOptions,
  kills: Record<string, number>,
  signalEnd: AbortSignal,
): Promise<void> {
  const hit = new Map<string, number>();
  for (let done = 0; done < count && !signalEnd.aborted; ) {
    await sleep(pauseMs * (0.2 + random()));
    const victim = VICTIMS[done % VICTIMS.length] ?? "sidecar";
    if (victim === "sidecar") {
      await sidecar.kill9();
      await sidecar.start();
    } else if (!(await killOne(sidecar, victim, hit, random))) continue;
    kills[victim] = (kills[victim] ?? 0) + 1;
    done += 1;
  }
}

async function killOne(
  sidecar: SpawnedSidecar,
  victim: "engine" | "runner",
  hit: Map<string, number>,
  random: () => number,
): Promise<boolean> {
  const threads = await sidecar.client.listThreads({}).catch(() => []);
  const atWork = threads.filter(
    ({ threadId, status }) => status === "running" && (hit.get(threadId) ?? 0) < KILLS_OF_ONE,
  );
  const first = Math.floor(random() * atWork.length);
  for (const { threadId } of [...atWork.slice(first), ...atWork.slice(0, first)]) {
    const folder = folderOf(sidecar, threadId);
    const pid = victim === "engine" ? engineOf(folder) : runnersOf(folder)[0];
    if (pid === undefined) continue;
    signal(pid, "SIGKILL");
    hit.set(threadId, (hit.get(threadId) ?? 0) + 1);
    return true;
  }
  return false;
}

/** What the parent was told that its children have used, against what they have used. */
function findMiscounted(sidecar: SpawnedSidecar, parent: string, results: readonly Result[]): string[] {
  const { endedUse = NO_USE } = foldEvents(eventsIn(folderOf(sidecar, parent)));
  const children = results.filter((result) => result.parent === parent);
  const used = children.map(({ childId }) => ownUseOf(foldEvents(eventsIn(folderOf(sidecar, childId))), 0));
  return LIMIT_NAMES.flatMap((name) => {
    const sum = used.reduce((total, use) => total + use[name], 0);
    const isSame = Math.abs(sum - endedUse[name]) < 1e-6;
    return isSame ? [] : [`${parent}: its children used ${sum} ${name}, ${endedUse[name]} were counted`];
  });
}

async function findFaults(sidecar: SpawnedSidecar, results: readonly Result[]): Promise<string[]> {
  const threads = await sidecar.client.listThreads({ status: "all" });
  const children = threads.filter(({ parentId }) => parentId !== null);
  const ids = new Set(results.map(({ childId }) => childId));
  const faults =
    children.length === results.length && ids.size === results.length
      ? []
      : [`${children.length} children of ${results.length} calls, ${ids.size} were named`];
  for (const { name, parent, childId, told } of results) {
    const ofParent = eventsIn(folderOf(sidecar, parent));
    for (const type of ["thread_spawned", "thread_ended"] as const) {
      const count = ofParent.filter((event) => event.type === type && event.threadId === childId).length;
      if (count !== 1) faults.push(`${name}: ${count} × ${type}`);
    }
    if (!told.endsWith(`Result of ${name}.`)) faults.push(`${name}: its result is ${told}`);
    const messages = eventsIn(folderOf(sidecar, childId)).filter(({ type }) => type === "user_message");
    if (messages.length !== 1) faults.push(`${name}: it was told ${messages.length} times`);
    const file = join(sidecar.reposDir, parent, "ran");
    const ran = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
    if (ran.filter((line) => line === name).length > 1) faults.push(`${name}: it ran twice`);
  }
  return faults;
}
