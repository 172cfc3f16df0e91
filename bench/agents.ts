/**
 * Measures agent threads beside the naive way, which runs the agent's program once a message: npm run bench:agents
 * [-- --smoke] [-- --only NAME]. The stand-in is the agent in both. Writes bench/results/agents.json.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { emptyFold } from "../shared/agent/fold.ts";
import { engineOutputPath, threadPath } from "../shared/agent/paths.ts";
import { createLog } from "../shared/log.ts";
import { runnersOf } from "../test/support/agent-siege.ts";
import { openAgent, STAND_IN, script } from "../test/support/agents.ts";
import { bundlePrograms } from "../test/support/programs.ts";
import { type SpawnedSidecar, spawnSidecar } from "../test/support/sidecar.ts";
import { until } from "../test/support/wait.ts";
import { AgentThread } from "../vm/agents/agent-thread.ts";
import { Projection } from "../vm/agents/projection.ts";
import { openStore } from "../vm/store/store.ts";
import { cpuSeconds, formatRow, percentile, type Row, ratioRow, rssMib } from "./measure.ts";

const isSmoke = process.argv.includes("--smoke");
const only = process.argv[process.argv.indexOf("--only") + 1];
const pick = <T>(full: T, smoke: T): T => (isSmoke ? smoke : full);
const folder = mkdtempSync(join(tmpdir(), "tmx-bench-"));
const MESSAGES = pick(20, 3);
const EVENTS = pick(100_000, 5_000);
const WAIT = { timeoutMs: 60_000, intervalMs: 1 };

async function withAgents<T>(idleSeconds: number, work: (sidecar: SpawnedSidecar) => Promise<T>): Promise<T> {
  const env = { AGENT_PROGRAM: STAND_IN, AGENT_IDLE_SECONDS: String(idleSeconds), MAX_THREADS: "1000" };
  const sidecar = await spawnSidecar(env);
  try {
    return await work(sidecar);
  } finally {
    await sidecar.close();
  }
}

const folderOf = ({ stateDir }: SpawnedSidecar, threadId: string) => join(stateDir, "threads", threadId);
const answer = (text: string) => script(text, { text: "ok" });

/** What the engine has printed, of all its processes. */
function printed(path: string): string {
  let text = "";
  for (let generation = 1; existsSync(engineOutputPath(path, generation)); generation++) {
    text += readFileSync(engineOutputPath(path, generation), "utf8");
  }
  return text;
}

/** Milliseconds from the request until the engine has begun with the message. */
async function untilBegun(sidecar: SpawnedSidecar, threadId: string, text: string): Promise<number> {
  const path = folderOf(sidecar, threadId);
  const begun = () => printed(path).split('"subtype":"init"').length;
  const before = begun();
  const startedAt = performance.now();
  const sent = sidecar.client.sendInput(threadId, { text: answer(text) });
  await until("the engine to begin", () => begun() > before, WAIT);
  const taken = performance.now() - startedAt;
  await sent;
  await untilIdle(sidecar, threadId);
  return taken;
}

const untilIdle = (sidecar: SpawnedSidecar, threadId: string) =>
  until("the answer", async () => (await sidecar.client.getThread(threadId)).status === "idle", {
    timeoutMs: 60_000,
  });
const untilCold = (sidecar: SpawnedSidecar, threadId: string) =>
  until("the runner's end", async () => !(await sidecar.client.getThread(threadId)).processRunning, {
    timeoutMs: 60_000,
  });

async function messages(
  idleSeconds: number,
  prepare: (sidecar: SpawnedSidecar) => Promise<void>,
): Promise<number> {
  return withAgents(idleSeconds, async (sidecar) => {
    await openAgent(sidecar, "bench", answer("first"));
    await untilIdle(sidecar, "bench");
    await prepare(sidecar);
    const taken: number[] = [];
    for (let i = 0; i < MESSAGES; i++) {
      if (idleSeconds === 1) await untilCold(sidecar, "bench");
      taken.push(await untilBegun(sidecar, "bench", `message ${i}`));
    }
    return percentile(
      taken.sort((a, b) => a - b),
      50,
    );
  });
}

/** The program once a message, on one conversation. */
async function naiveMessages(): Promise<number> {
  const home = join(folder, "home");
  mkdirSync(home, { recursive: true });
  const session = randomUUID();
  const taken: number[] = [];
  for (let i = 0; i < MESSAGES + 1; i++) {
    const how = i === 0 ? ["--session-id", session] : ["--resume", session];
    const streams = ["--input-format", "stream-json", "--output-format", "stream-json"];
    const args = ["-p", ...streams, "--verbose", ...how];
    const startedAt = performance.now();
    const child = spawn(STAND_IN, args, { env: { PATH: process.env["PATH"] ?? "", HOME: home }, cwd: home });
    const message = { role: "user", content: answer(`message ${i}`) };
    child.stdin.end(`${JSON.stringify({ type: "user", message, uuid: randomUUID() })}\n`);
    await untilPrinted(child, '"subtype":"init"');
    if (i > 0) taken.push(performance.now() - startedAt);
    if (child.exitCode === null) await new Promise((resolve) => child.once("exit", resolve));
  }
  return percentile(
    taken.sort((a, b) => a - b),
    50,
  );
}

function untilPrinted({ stdout, stderr }: ChildProcess, part: string): Promise<void> {
  let text = "";
  return new Promise((resolve, reject) => {
    const take = (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes(part)) resolve();
    };
    stdout?.on("data", take);
    stderr?.on("data", take);
    stdout?.once("end", () => reject(new Error(`the program ended: ${text}`)));
  });
}

async function rowMessages(): Promise<Row[]> {
  const naive = await naiveMessages();
  const warm = await messages(600, async () => undefined);
  const cold = await messages(1, async () => undefined);
  const long = await messages(1, async (sidecar) => {
    await untilCold(sidecar, "bench");
    await sidecar.stop();
    lengthen(folderOf(sidecar, "bench"));
    await sidecar.start();
    await untilBegun(sidecar, "bench", "the first one reads all"); // later ones have its snapshot
  });
  return [
    ratioRow("message → engine, warm, p50 (ms)", warm, naive, { atMost: 0.15 }),
    ratioRow("message → engine, cold, p50 (ms)", cold, naive, { atMost: 1.2 }),
    ratioRow(`message → engine, cold, ${EVENTS} events (ms)`, long, naive, { atMost: 1.2 }),
  ];
}

/** As many events as a long life has: turns of a call each. */
function lengthen(path: string): void {
  const file = threadPath(path, "transcript");
  let seq = existsSync(file) ? readFileSync(file, "utf8").split("\n").length - 1 : 0;
  const ts = new Date().toISOString();
  const lines: string[] = [];
  const add = (type: string, fields: object) => {
    seq++;
    lines.push(JSON.stringify({ seq, id: `r${seq}.0`, ts, type, ...fields }));
  };
  for (let turn = 0; lines.length < EVENTS; turn++) {
    const [turnId, toolCallId, at] = [`t${turn}`, `c${turn}`, `u${turn}`];
    add("turn_start", { turnId, cause: "task", deliveryIds: [] });
    add("agent_message", { messageId: `m${turn}`, at, text: "Reading the file first." });
    add("tool_call", { toolCallId, at, name: "Read", title: "Read a.ts", kind: "read", rawInput: {} });
    add("tool_call_update", { toolCallId, at, status: "completed", durationMs: 5 });
    add("turn_end", { turnId, stopReason: "end_turn", durationMs: 20 });
  }
  appendFileSync(file, `${lines.join("\n")}\n`);
}

async function rowRebuild(): Promise<Row[]> {
  const path = join(folder, "thread");
  mkdirSync(path);
  writeFileSync(threadPath(path, "config"), "{}");
  lengthen(path);
  const store = openStore(join(folder, "rebuild.db"));
  try {
    const thread = { threadId: "x", type: "agent" as const, dir: ".", path, command: "x", title: "x" };
    const more = { createdBy: "x", createdAt: 0, cols: 80, rows: 24, marker: "x=x", agentSession: null };
    store.threads.insert({ ...thread, ...more });
    store.agents.insert({ threadId: "x", number: 1, status: "idle", fold: emptyFold() });
    const startedAt = performance.now();
    const projection = new Projection(store);
    const log = createLog("vm", "silent");
    new AgentThread({
      threadId: "x",
      folder: path,
      fold: emptyFold(),
      transcriptBytes: 0,
      projection,
      log,
    }).refresh();
    const seconds = (performance.now() - startedAt) / 1_000;
    const isWhole = store.agents.find("x")?.transcriptBytes === statSync(threadPath(path, "transcript")).size;
    if (!isWhole) throw new Error("not all of the transcript was read");
    const name = `steps rebuilt from ${EVENTS} events (s)`;
    return [{ name, ours: seconds, baseline: undefined, isMet: seconds <= 2, bar: "≤ 2 s" }];
  } finally {
    store.close();
  }
}

async function idleCost(
  threads: number,
  seconds: number,
): Promise<{ cpu: number; rss: number; runners: number }> {
  return withAgents(1, async (sidecar) => {
    const ids = Array.from({ length: threads }, (_, i) => `idle-${i}`);
    for (const id of ids) await openAgent(sidecar, id, answer("hi"));
    for (const id of ids) await untilCold(sidecar, id);
    await sleep(pick(10_000, 1_000)); // V8 cleans up behind all that first
    const before = cpuSeconds([sidecar.pid()]);
    await sleep(seconds * 1_000);
    const cpu = cpuSeconds([sidecar.pid()]) - before;
    const runners = ids.flatMap((id) => runnersOf(folderOf(sidecar, id))).length;
    return { cpu, rss: rssMib(sidecar.pid()), runners };
  });
}

async function rowIdle(): Promise<Row[]> {
  const [threads, seconds] = [pick(200, 3), pick(30, 2)];
  const without = await idleCost(0, seconds);
  const { cpu, rss, runners } = await idleCost(threads, seconds);
  const more = cpu - without.cpu;
  const grown = rss - without.rss;
  return [
    {
      name: `processes of ${threads} idle agents`,
      ours: runners,
      baseline: undefined,
      isMet: runners === 0,
      bar: "0",
    },
    {
      name: `CPU of ${threads} idle agents, ${seconds} s (s)`,
      ours: cpu,
      baseline: without.cpu,
      isMet: more <= 0.1,
      bar: "+ 0.1 s",
    },
    {
      name: `memory of ${threads} idle agents (MiB)`,
      ours: rss,
      baseline: without.rss,
      isMet: grown <= 60,
      bar: "+ 60 MiB",
    },
  ];
}

async function rowRunner(): Promise<Row[]> {
  const threads = pick(5, 1);
  return withAgents(600, async (sidecar) => {
    const ids = Array.from({ length: threads }, (_, i) => `busy-${i}`);
    const go = join(sidecar.folders.path, "go");
    for (const id of ids)
      await openAgent(sidecar, id, script("hi", { text: "A long answer.", pauseFor: go }));
    const pids = ids.map((id) => () => runnersOf(folderOf(sidecar, id))[0]);
    for (const pid of pids) await until("a runner", pid, WAIT);
    await sleep(pick(3_000, 500));
    const sizes = pids.map((pid) => pssMib(pid() ?? 0)).sort((a, b) => a - b);
    const pss = percentile(sizes, 50);
    return [
      {
        name: `PSS a runner, ${threads} busy (MiB)`,
        ours: pss,
        baseline: undefined,
        isMet: pss <= 15,
        bar: "≤ 15 MiB",
      },
    ];
  });
}

function pssMib(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "latin1"))?.[1]) / 1_024;
}

const rows = { messages: rowMessages, rebuild: rowRebuild, idle: rowIdle, runner: rowRunner };

try {
  await bundlePrograms();
  console.log(
    `${"".padEnd(48)} ${"ours".padStart(10)} ${"baseline".padStart(10)} ${"ratio".padStart(9)}  bar`,
  );
  const results: Row[] = [];
  for (const [name, measure] of Object.entries(rows)) {
    if (process.argv.includes("--only") && only !== name) continue;
    const measured = await measure();
    results.push(...measured);
    for (const row of measured) console.log(formatRow(row));
  }
  mkdirSync(new URL("./results/", import.meta.url), { recursive: true });
  const report = { at: new Date().toISOString(), node: process.version, isSmoke, rows: results };
  writeFileSync(new URL("./results/agents.json", import.meta.url), `${JSON.stringify(report, null, 2)}\n`);
  const missed = results.filter((row) => !row.isMet).length;
  console.log(missed === 0 ? "all bars are met" : `${missed} of ${results.length} bars are missed`);
  // A smoke run only shows that everything can be measured: its figures are too short to be judged.
  process.exitCode = isSmoke || missed === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
