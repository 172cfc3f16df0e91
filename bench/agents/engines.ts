/**
 * The engines `own` and `acp` through a sidecar: message → model, memory at rest, and what a step costs in a long
 * conversation. `acp` has the tests' scripted agent, which is measured alone too: the bare program.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { type Model, startModel } from "../../test/agents/model.ts";
import { buildAcpAgent, heardBy, told } from "../../test/support/acp.ts";
import { processesOf, runnersOf } from "../../test/support/agent-siege.ts";
import { openAgent, script } from "../../test/support/agents.ts";
import { envOf } from "../../test/support/own-agent.ts";
import type { SpawnedSidecar } from "../../test/support/sidecar.ts";
import { until } from "../../test/support/wait.ts";
import { cpuSeconds, percentile, type Row, times } from "../measure.ts";
import { naiveHome } from "./agent.ts";
import { memoryOf } from "./idle.ts";
import { folderOf, startAgents, untilCold, untilIdle } from "./threads.ts";

const THREAD = "bench";
/** The last steps of the conversation are measured. */
const MEASURED = 0.1;
const WAIT = { timeoutMs: 600_000, intervalMs: 1 };

export interface EnginesOptions {
  folder: string;
  messages: number;
  /** The number of steps of the long conversation. */
  steps: number;
  /** Before memory is read. */
  settleMs: number;
}

interface BenchEngine {
  name: "own" | "acp";
  program: string;
  env: Record<string, string>;
  /** A number that grows each time the model is asked. */
  countAsked: (sidecar: SpawnedSidecar) => number;
  /** A message of a turn with so many steps. */
  work: (steps: number) => string;
  /** The bare program's: milliseconds from its start, and from a later message, until it has the message; its memory. */
  bare?: { cold: number[]; warm: number[]; pss: number };
  close: () => Promise<void>;
}

export async function rowEngines(options: EnginesOptions): Promise<Row[]> {
  const rows: Row[] = [];
  for (const make of [ownEngine, acpEngine]) {
    const engine = await make(options);
    try {
      rows.push(...(await measure(engine, options)));
    } finally {
      await engine.close();
    }
  }
  return rows;
}

async function ownEngine(): Promise<BenchEngine> {
  const model = await startModel();
  return {
    ...{ name: "own", program: "own", env: envOf("anthropic", model.url) },
    countAsked: () => askedOf(model),
    work: (steps) =>
      script("go", ...Array.from({ length: steps }, () => ({ tools: [READ] })), { text: "Done." }),
    close: () => model.close(),
  };
}

const READ = { name: "read", input: { path: "a.txt" } };

/** Requests are many and long: what is counted is forgotten. */
function askedOf({ requests }: Model): number {
  for (const request of requests) request.messages = [];
  return requests.length;
}

async function acpEngine({ folder, messages, settleMs }: EnginesOptions): Promise<BenchEngine> {
  const agent = await buildAcpAgent();
  const program = agent.program();
  return {
    ...{ name: "acp", program, env: {} },
    countAsked: ({ folders }) => heardBy(folders).length,
    work: (steps) =>
      told("go", ...Array.from({ length: steps }, (_, n) => ({ call: `step ${n}` })), { text: "Done." }),
    bare: await measureBare(program, naiveHome(folder), messages, settleMs),
    close: async () => agent.remove(),
  };
}

async function measure(engine: BenchEngine, { messages, steps, settleMs }: EnginesOptions): Promise<Row[]> {
  const { name, bare } = engine;
  const cold = await withThread(engine, 1, async (sidecar) => {
    const taken: number[] = [];
    for (let n = 0; n < messages; n++) {
      await untilCold(sidecar, THREAD);
      taken.push(await timeOf(() => untilAsked(engine, sidecar)));
      await untilIdle(sidecar, THREAD);
    }
    return ascending(taken);
  });
  return withThread(engine, 600, async (sidecar) => {
    const taken: number[] = [];
    for (let n = 0; n < messages; n++) {
      taken.push(await timeOf(() => untilAsked(engine, sidecar)));
      await untilIdle(sidecar, THREAD);
    }
    const warm = ascending(taken);
    await sleep(settleMs);
    const pss = enginePids(sidecar, ALL).reduce((sum, pid) => sum + memoryOf(pid).pss, 0);
    const step = await stepCost(engine, sidecar, steps);
    const row = (what: string, ours: number, baseline?: number, atMost?: number): Row => {
      const bar = atMost === undefined ? "" : `≤ ${atMost}`;
      return { name: `${name}: ${what}`, ours, baseline, isMet: atMost === undefined || ours <= atMost, bar };
    };
    const isOwn = name === "own";
    const p50 = (list: number[] = []) => (list.length === 0 ? undefined : percentile(list, 50));
    return [
      row("message → model, cold, p50 (ms)", percentile(cold, 50), p50(bare?.cold), isOwn ? 350 : undefined),
      row("message → model, warm, p50 (ms)", percentile(warm, 50), p50(bare?.warm)),
      row("PSS at rest (MiB)", pss, bare?.pss, isOwn ? 60 : undefined),
      row(`CPU of engine and runner a step, ${steps} steps (ms)`, step, undefined, 5),
    ];
  });
}

async function timeOf(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

const ascending = (taken: number[]) => taken.sort((a, b) => a - b);

async function withThread<T>(
  { name, program, env, work }: BenchEngine,
  idleSeconds: number,
  run: (sidecar: SpawnedSidecar) => Promise<T>,
): Promise<T> {
  const sidecar = await startAgents({ program, env }, idleSeconds, { AGENT_ENGINE: name });
  try {
    await openAgent(sidecar, THREAD, work(0));
    writeFileSync(`${sidecar.reposDir}/${THREAD}/a.txt`, "a line\n");
    await untilIdle(sidecar, THREAD);
    return await run(sidecar);
  } finally {
    await sidecar.close();
  }
}

/** The time is up when the model is asked; what comes after belongs to no message. */
async function untilAsked(engine: BenchEngine, sidecar: SpawnedSidecar): Promise<void> {
  const before = engine.countAsked(sidecar);
  await sidecar.client.sendInput(THREAD, { text: engine.work(0) });
  await until("the model to be asked", () => engine.countAsked(sidecar) > before, WAIT);
}

/** @returns milliseconds of CPU a step, at the end of a conversation of so many */
async function stepCost(engine: BenchEngine, sidecar: SpawnedSidecar, steps: number): Promise<number> {
  const last = Math.max(1, Math.round(steps * MEASURED));
  await untilIdle(sidecar, THREAD);
  const turn = async (count: number) => {
    const before = engine.countAsked(sidecar);
    await sidecar.client.sendInput(THREAD, { text: engine.work(count) });
    await until("the turn to begin", () => engine.countAsked(sidecar) > before, WAIT);
    await untilIdle(sidecar, THREAD);
  };
  for (let done = 0; done < steps - last; done += last) await turn(last);
  const pids = [...runnersOf(folderOf(sidecar, THREAD)), ...enginePids(sidecar, OURS)];
  if (pids.length !== 2) throw new Error(`runner and engine are ${pids.length} processes`);
  const before = cpuSeconds(pids);
  await turn(last);
  return ((cpuSeconds(pids) - before) * 1_000) / last;
}

const OURS = /engines\/(own|acp)\/main\.cjs/;
/** And the agent that ours has started. */
const ALL = /engines\/(own|acp)\/main\.cjs|agent\.mjs/;

/** Without what stands before an engine in the sandbox. */
function enginePids(sidecar: SpawnedSidecar, command: RegExp): number[] {
  const folder = folderOf(sidecar, THREAD);
  const runners = runnersOf(folder);
  const pids = processesOf(folder).map((one) => Number.parseInt(one, 10));
  return pids.filter((pid) => !runners.includes(pid) && command.test(commandOf(pid)));
}

/** Its program and its first argument. */
const commandOf = (pid: number) =>
  readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0").slice(0, 2).join(" ");

async function measureBare(program: string, home: string, messages: number, settleMs: number) {
  mkdirSync(home, { recursive: true });
  const heard = () => heardBy({ home }).length;
  const cold: number[] = [];
  for (let n = 0; n < messages; n++) {
    const startedAt = performance.now();
    const agent = new BareAgent(program, home);
    await agent.open(heard);
    cold.push(performance.now() - startedAt);
    await agent.close();
  }
  const agent = new BareAgent(program, home);
  await agent.open(heard);
  const warm = await times(messages, () => agent.prompt(heard));
  await sleep(settleMs);
  const pss = memoryOf(agent.pid).pss;
  await agent.close();
  return { cold: ascending(cold), warm, pss };
}

/** The scripted agent with nothing of ours around it. */
class BareAgent {
  readonly #child: ChildProcess;
  readonly #home: string;
  readonly #answers = new Map<number, (result: unknown) => void>();
  #id = 0;
  #sessionId = "";

  constructor(program: string, home: string) {
    this.#home = home;
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: home,
      THREADMUX_TEST: process.env["THREADMUX_TEST"] ?? "",
    };
    const child = spawn(program, [], { env, cwd: home, stdio: ["pipe", "pipe", "inherit"] });
    this.#child = child;
    createInterface({ input: child.stdout }).on("line", (line) => {
      const { id, result } = JSON.parse(line) as { id?: number; result?: unknown };
      if (id !== undefined) this.#answers.get(id)?.(result);
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async open(heard: () => number): Promise<void> {
    await this.#request("initialize", { protocolVersion: 1, clientCapabilities: {} });
    const opened = await this.#request("session/new", { cwd: this.#home, mcpServers: [] });
    this.#sessionId = (opened as { sessionId: string }).sessionId;
    await this.prompt(heard);
  }

  async prompt(heard: () => number): Promise<void> {
    const before = heard();
    const prompt = [{ type: "text", text: told("go") }];
    const answered = this.#request("session/prompt", { sessionId: this.#sessionId, prompt });
    await until("it to hear", () => heard() > before, WAIT);
    await answered;
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGKILL");
    await ended;
  }

  #request(method: string, params: object): Promise<unknown> {
    const id = ++this.#id;
    this.#child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return new Promise((resolve) => this.#answers.set(id, resolve));
  }
}
