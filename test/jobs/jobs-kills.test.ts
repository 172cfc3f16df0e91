/**
 * Jobs of the clock and of requests, with the real programs: sidecar, relay and runners are killed at each point of a
 * run. Each due instant and each delivery has one row and one start, and is told once.
 */
import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, type TestContext, test } from "vitest";
import { WIDE_LIMITS } from "../../local-discord/rate-limits.ts";
import { type LocalDiscord, runLocalDiscord } from "../../local-discord/run.ts";
import { VmJobs } from "../../relay/sidecar/jobs.ts";
import type { JobRequest, JobRun } from "../../shared/jobs/job.ts";
import { pause } from "../../shared/lifecycle.ts";
import { seededRandom } from "../../shared/random.ts";
import { statePaths } from "../../vm/config.ts";
import { signRequest } from "../../vm/hooks/proof.ts";
import { broughtRunName, runName } from "../../vm/jobs/names.ts";
import { openAgent, STAND_IN, script, transcriptOf } from "../support/agents.ts";
import { inFull, isFull } from "../support/faults.ts";
import { findProcessesOf, signal } from "../support/processes.ts";
import { relayConfigFor } from "../support/relay-config.ts";
import { bundleRelay, makeRelayProcess, type RelayProcess } from "../support/relay-process.ts";
import { freePort, type SpawnedSidecar, spawnSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

const SEED = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1e9));
/** Into how many runs the long form is split, each with a seed of its own: `PIECES=10 SEED=1`. */
const PIECES = Number(process.env["PIECES"] ?? 1);
/** The due instants, and as many deliveries. */
const COUNT = inFull(1_000 / PIECES, 40);
const KILLS = inFull(150 / PIECES, 9);
/** All of them come within this time. */
const SPREAD_MS = inFull(600_000 / PIECES, 8_000);
const TIMEOUT_MS = inFull(60 * 60_000, 120_000);
/** One in a hundred; of the few rows of a short form or a piece, a fixed number. */
const MAX_UNBEGUN = Math.max(inFull(20 / PIECES, 2), 2);
const SECRET = "a-secret-that-nobody-knows";
const PROOF = { preset: "github" as const };
const KINDS = ["command", "terminal", "input", "command", "agent", "input", "command", "terminal"] as const;
type Kind = (typeof KINDS)[number];

/** The points of a run at which something is killed: a row that is there then, and what is killed. */
const POINTS = [
  ["claim", "SELECT 1 FROM job_runs WHERE status = 'claimed' AND begun_at IS NULL", "sidecar"],
  ["begun", "SELECT 1 FROM job_runs WHERE status = 'claimed' AND begun_at IS NOT NULL", "sidecar"],
  ["started", "SELECT 1 FROM job_runs WHERE status = 'started'", "sidecar"],
  ["turn", "SELECT 1 FROM steps WHERE kind = 'turn' AND ended_at IS NULL", "runner"],
  ["request", "SELECT 1 FROM hook_requests WHERE body IS NOT NULL", "sidecar"],
  ["news", "SELECT 1 FROM job_news WHERE is_told = 0", "relay"],
] as const;

interface Town {
  sidecar: SpawnedSidecar;
  discord: LocalDiscord;
  relay: RelayProcess;
  hookPort: number;
  /** In it commands note by their run, or their job's name, that they begin and end. */
  log: string;
  database: Database.Database;
}

async function build({ onTestFinished }: Pick<TestContext, "onTestFinished">): Promise<Town> {
  const program = await bundleRelay({ isQuick: !isFull });
  onTestFinished(() => program.remove());
  const hookPort = await freePort();
  const sidecar = await spawnSidecar({
    ...{ HOOK_HOST: "127.0.0.1", HOOK_PORT: `${hookPort}`, MAX_JOBS: `${301 + 3 * COUNT}` },
    ...{ MAX_THREADS: `${3 * COUNT}`, MAX_AGENTS: "20", AGENT_PROGRAM: STAND_IN, ALLOW_BYPASS: "1" },
    AGENT_IDLE_SECONDS: "5",
  });
  onTestFinished(() => sidecar.close());
  mkdirSync(join(sidecar.reposDir, "shop"));
  const discord = await runLocalDiscord({ limits: WIDE_LIMITS });
  onTestFinished(() => discord.close());
  const relay = makeRelayProcess(program, relayConfigFor(sidecar, discord), sidecar.folders.home);
  onTestFinished(() => relay.stop());
  relay.start();
  await relay.untilReady();
  const log = join(sidecar.reposDir, "shop", "log");
  appendFileSync(log, "");
  const database = new Database(statePaths(sidecar.stateDir).database, { readonly: true });
  onTestFinished(() => void database.close());
  return { sidecar, discord, relay, hookPort, log, database };
}

const isTrue = (town: Town, query: string) => town.database.prepare(query).get() !== undefined;

function linesOf(town: Town, word: "begin" | "end"): string[] {
  const lines = readFileSync(town.log, "utf8").split("\n");
  return lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));
}

/** Makes what a job of this kind does: it notes by `name` that it begins, and that it ends. */
function whatOf(kind: Kind, name: string): JobRequest["what"] {
  const noting = `echo "begin ${name}" >>log; sleep 0.2; echo "end ${name}" >>log`;
  if (kind === "command") return { type: kind, dir: "shop", command: `${noting}; echo "ran ${name}"` };
  if (kind === "terminal") return { type: kind, dir: "shop", command: noting };
  if (kind === "input") return { type: kind, threadId: "stream", text: script("go on", { text: "ok" }) };
  const report = { name: "mcp__threadmux__report", input: { ok: false, text: `all of ${name}` } };
  const prompt = script("work", { tools: [report] }, { text: "done", delayMs: 100 });
  const agent = { permissionMode: "bypassPermissions" };
  return { type: "agent", dir: "shop", prompt, agent };
}

/** A due instant or a delivery, and the run that it shall have. */
interface Wanted {
  job: string;
  run: string;
  kind: Kind;
  /** The name that its command notes; undefined of what is no command. */
  noted: string | undefined;
}

/** Hundreds of messages in one thread cost more than a job may by itself on a day. */
const NO_LIMITS = { calls: null, seconds: null, spendUsd: null, spendUsdPerDay: null };
const ALWAYS = { overlap: "allow", missed: "once", limits: NO_LIMITS } as const;

async function addInstants({ sidecar }: Town, startMs: number): Promise<Wanted[]> {
  const wanted: Wanted[] = [];
  for (let at = 0; at < COUNT; at++) {
    const kind = KINDS[at % KINDS.length] ?? "command";
    const job = `due-${at}`;
    const due = startMs + Math.floor((at * SPREAD_MS) / COUNT);
    const when = { type: "at", at: new Date(due).toISOString() } as const;
    await new VmJobs(sidecar.client).create({ name: job, when, what: whatOf(kind, job), ...ALWAYS });
    const isNoted = kind === "command" || kind === "terminal";
    wanted.push({ job, run: runName(job, due), kind, noted: isNoted ? job : undefined });
  }
  return wanted;
}

/** Adds a hook for each terminal, and one for all deliveries of each other kind. */
async function addHooks({ sidecar }: Town): Promise<Wanted[]> {
  const when = { type: "webhook", proof: PROOF, secret: SECRET, perMinute: 6_000, trust: "own" } as const;
  const wanted: Wanted[] = [];
  const made = new Set<string>();
  for (let at = 0; at < COUNT; at++) {
    const kind = KINDS[at % KINDS.length] ?? "command";
    const job = kind === "terminal" ? `hook-${at}` : `hook-${kind}`;
    const ofRun = "$" + "{THREADMUX_JOB_RUN##*:}";
    const what = whatOf(kind, kind === "command" ? ofRun : job);
    if (!made.has(job)) await new VmJobs(sidecar.client).create({ name: job, when, what, ...ALWAYS });
    made.add(job);
    const run = broughtRunName(job, `d${at}`);
    wanted.push({ job, run, kind, noted: kind === "command" ? run : kind === "terminal" ? job : undefined });
  }
  return wanted;
}

/** As a sender does: one to three times, and again as long as nobody has taken it. */
async function deliver(town: Town, wanted: readonly Wanted[], random: () => number): Promise<void> {
  const body = Buffer.from("{}");
  const send = async (job: string, id: string) => {
    const headers = signRequest(PROOF, SECRET, body, { id, nowSeconds: Date.now() / 1_000 });
    const url = `http://127.0.0.1:${town.hookPort}/hook/${job}`;
    const reply = await fetch(url, { method: "POST", body, headers }).catch(() => undefined);
    await reply?.arrayBuffer().catch(() => undefined);
    return reply?.status === 202;
  };
  for (const [at, { job }] of wanted.entries()) {
    const times = 1 + Math.floor(random() * 3);
    for (let taken = 0; taken < times; ) {
      if (await send(job, `d${at}`)) taken += 1;
      else await pause(50);
    }
    await pause((random() * 1.6 * SPREAD_MS) / COUNT);
  }
}

/** A sidecar needs a moment to store the end of a command, and looks through the machine for what it left behind. */
const STORED_WITHIN_MS = 1_000;

/** Notes when the commands' own log said first that they had ended. */
function watchEnds(town: Town): { seenAt: ReadonlyMap<string, number>; stop: () => void } {
  const seenAt = new Map<string, number>();
  const look = () => {
    for (const name of linesOf(town, "end")) if (!seenAt.has(name)) seenAt.set(name, Date.now());
  };
  const timer = setInterval(look, 50);
  return { seenAt, stop: () => clearInterval(timer) };
}

/** Lists the runs at work when the sidecar was killed, as the commands themselves and the machine tell. */
function underWay(town: Town, endedAt: ReadonlyMap<string, number>, killedAt: number): string[] {
  const isAtWork = (name: string) => (endedAt.get(name) ?? killedAt) > killedAt - STORED_WITHIN_MS;
  const noted = linesOf(town, "begin").filter(isAtWork);
  const running = findProcessesOf(town.sidecar.folders.path).flatMap(({ command, environment }) => [
    environment
      .find((one) => one.startsWith("THREADMUX_JOB_RUN="))
      ?.split(":")
      .at(-1) ?? "",
    /\/runs\/(\S+)\.(?:\d+|program)\b/.exec(command)?.[1] ?? "",
  ]);
  return [...noted, ...running];
}

async function killAll(town: Town, random: () => number) {
  const { sidecar, relay } = town;
  const kills: Record<string, number> = {};
  const atWork = new Set<string>();
  const killedAt: number[] = [];
  const ends = watchEnds(town);
  for (let kill = 0; kill < KILLS; kill++) {
    const [point, query, victim] = POINTS[kill % POINTS.length] ?? POINTS[0];
    const isHere = await until(point, () => isTrue(town, query), { timeoutMs: 3_000, intervalMs: 2 }).then(
      () => true,
      () => false,
    );
    if (!isHere) continue;
    await pause(random() * 20);
    kills[point] = (kills[point] ?? 0) + 1;
    if (victim === "runner") {
      const runners = findProcessesOf(sidecar.folders.path).filter(({ command }) =>
        command.includes("agent/main.cjs"),
      );
      signal(runners[Math.floor(random() * runners.length)]?.pid ?? sidecar.pid(), "SIGKILL");
      if (runners.length > 0) continue;
    }
    if (victim === "relay") {
      await relay.kill9();
      relay.start();
      continue;
    }
    const at = Date.now();
    killedAt.push(at);
    await sidecar.kill9();
    for (const name of underWay(town, ends.seenAt, at)) atWork.add(name);
    await pause(random() * 300);
    // A program that tmux was told of just before begins a moment later.
    for (const name of underWay(town, ends.seenAt, at)) atWork.add(name);
    await sidecar.start();
    await pause((SPREAD_MS / KILLS) * random());
  }
  ends.stop();
  /** How long before the next kill a command's end was seen, in milliseconds. */
  const endedBefore = (name: string) => {
    const end = ends.seenAt.get(name) ?? Number.NaN;
    return Math.min(...killedAt.filter((at) => at >= end).map((at) => at - end));
  };
  return { kills, atWork, endedBefore };
}

// Promise: R1
test("with kills at each point of a run: one row each, one start, told once", {
  timeout: TIMEOUT_MS,
}, async (context) => {
  const town = await build(context);
  const { sidecar, discord, relay, database } = town;
  const random = seededRandom(SEED);
  await openAgent(sidecar, "stream", script("hello", { text: "hi" }));
  const hooks = await addHooks(town);
  const instants = await addInstants(town, Date.now() + 2_000 + COUNT * 15);
  const delivering = deliver(town, hooks, seededRandom(SEED + 1));
  const { kills, atWork, endedBefore } = await killAll(town, random);
  await delivering;
  const wanted = [...instants, ...hooks];
  const isOver = () =>
    isTrue(town, `SELECT 1 WHERE (SELECT count(*) FROM job_runs WHERE ended_at IS NOT NULL) >= ${2 * COUNT}`);
  await until("all runs to be over", isOver, { timeoutMs: TIMEOUT_MS / 2, intervalMs: 100 });
  const rows = database.prepare("SELECT run, status, reason, report FROM job_runs").all() as Pick<
    JobRun,
    "run" | "status" | "reason" | "report"
  >[];
  expect(rows.map(({ run }) => run).sort(), `seed ${SEED}`).toEqual(wanted.map(({ run }) => run).sort());

  const statusOf = new Map(rows.map(({ run, status }) => [run, status]));
  const begun = linesOf(town, "begin");
  const stream = await transcriptOf(sidecar, "stream");
  const starts = new Map<string, number>();
  for (const { run, kind, noted } of wanted) {
    const events = kind === "agent" ? await transcriptOf(sidecar, run).catch(() => []) : stream;
    const heard = events.filter((event) => event.type === "user_message" && event.messageId === run);
    const count = noted === undefined ? heard.length : begun.filter((name) => name === noted).length;
    starts.set(run, count);
  }
  const counts = [...starts.values()];
  const once = counts.filter((count) => count === 1).length / counts.length;
  const unknown = wanted.filter(({ run }) => statusOf.get(run) === "unknown");
  const failed = rows.filter(({ status }) => !["done", "unknown"].includes(status));
  console.log(
    `jobs and kills: ${JSON.stringify({ seed: SEED, rows: rows.length, kills, once, unknown: unknown.length, failed })}`,
  );
  expect(
    [...starts].filter(([, count]) => count > 1),
    "begun twice",
  ).toEqual([]);
  // A command that was killed with the sidecar before its first line is unknown, and told as that.
  const unbegun = [...starts].filter(([, count]) => count === 0).map(([run]) => run);
  expect(unbegun.filter((run) => statusOf.get(run) !== "unknown")).toEqual([]);
  expect(unbegun.length, `seed ${SEED}`).toBeLessThanOrEqual(MAX_UNBEGUN);
  expect(failed).toEqual([]);
  const isSeen = ({ run, noted }: Wanted) => atWork.has(run) || (noted !== undefined && atWork.has(noted));
  // Nobody sees one at work that was killed before its first line: it is among those that have not begun.
  const unseen = unknown.filter((one) => !isSeen(one) && !unbegun.includes(one.run));
  expect(
    unseen.map(({ run, noted = "" }) => `${run} had ended ${endedBefore(noted)} ms before a kill`),
    `unknown without a command at work, seed ${SEED}`,
  ).toEqual([]);

  // People are told a command's output, or that nobody knows what became of it, and each agent's report.
  const isTold = () => !isTrue(town, "SELECT 1 FROM job_news WHERE is_told = 0");
  if (!relay.isReady()) relay.start();
  await until("all to be told", isTold, { timeoutMs: 60_000, intervalMs: 100 });
  const commands = new Set(wanted.filter(({ kind }) => kind === "command").map(({ run }) => run));
  const texts = discord.driver.messages(discord.channelId).map(({ content }) => content);
  // A report that was made while the sidecar was away has failed before its agent's eyes.
  const told = rows.filter(
    ({ run, status, report }) => status === "unknown" || report !== null || commands.has(run),
  );
  const summed = texts.map((text) => Number(/^📋 (\d+) more news/.exec(text)?.[1] ?? 0));
  const apart = texts.filter((text) => /\bran | all of |command ran; it is not run again/.test(text));
  const total = apart.length + summed.reduce((sum, count) => sum + count, 0);
  const outputs = apart.flatMap((text) => /\bran (\S+)/.exec(text)?.[1] ?? []);
  expect(new Set(outputs).size, `seed ${SEED}`).toBe(outputs.length);
  expect(total, `seed ${SEED}`).toBe(told.length);
});
