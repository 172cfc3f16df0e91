/** Agents that edit the same files at once while their runners and engines are killed, and what the files are then. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LOCK_FOLDER } from "../../shared/agent/markers.ts";
import { type AgentProgram, AgentThread, DEMO, says } from "./agent-threads.ts";
import { makeFolder } from "./folders.ts";
import { signal } from "./processes.ts";
import { until } from "./wait.ts";

export interface LockSiegeOptions {
  agents: number;
  /** Edits of all agents together. */
  rounds: number;
  writeMs: number;
  kills: number;
  random: () => number;
  /** Nobody takes a lock. */
  isUnlocked?: boolean;
  program?: AgentProgram;
  /** Called with each thread before it starts. */
  prepare?: (thread: AgentThread) => void;
  /** So long a call waits. */
  lockSeconds?: number;
  timeoutMs: number;
}

export interface LockSiegeReport {
  /** Edits that the model was told are done. */
  done: number;
  /** Of these, those that are not in the file. */
  lost: string[];
  /** In a file more than once. */
  twice: string[];
  /** Calls that waited for a file, and the longest wait. */
  waits: number;
  longestMs: number;
  /** Calls that waited in vain. */
  refused: number;
  kills: number;
  /** What is left in the folder of locks when all have ended. */
  left: string[];
  seconds: number;
}

const FILES = ["one.txt", "two.txt"];
/** Two agents want the same file all the time. */
const filesOf = (agents: number) => (agents > 2 ? FILES : FILES.slice(0, 1));
const END = "the end";

const edit = (dir: string, file: string, line: string) => ({
  name: "Edit",
  input: { file_path: join(dir, file), old_string: END, new_string: `${line}\n${END}` },
});

export async function besiegeFiles(options: LockSiegeOptions): Promise<LockSiegeReport> {
  const root = makeFolder();
  const dir = join(root.path, "work");
  const locks = join(root.path, "locks");
  for (const folder of [dir, locks]) mkdirSync(folder);
  const files = filesOf(options.agents);
  for (const file of files) writeFileSync(join(dir, file), `${END}\n`);
  const threads = Array.from({ length: options.agents }, (_, i) =>
    open(options, { dir, locks, number: i + 1 }),
  );
  const startedMs = Date.now();
  try {
    const each = Math.ceil(options.rounds / options.agents);
    for (const thread of threads) options.prepare?.(thread);
    for (const thread of threads) begin(thread, each, files);
    const kills = await untilDone(threads, options);
    return {
      ...report(
        threads,
        files.map((file) => join(dir, file)),
      ),
      kills,
      left: readdirSync(locks),
      seconds: Math.round((Date.now() - startedMs) / 1_000),
    };
  } finally {
    for (const thread of threads) await thread.close();
    root.remove();
  }
}

function open(
  { program = DEMO, writeMs, isUnlocked = false, lockSeconds = 30 }: LockSiegeOptions,
  { dir, locks, number }: { dir: string; locks: string; number: number },
): AgentThread {
  const env = { THREADMUX_DEMO_WRITE_MS: String(writeMs), ...(!isUnlocked && { [LOCK_FOLDER]: locks }) };
  const agent = { permissionMode: "bypassPermissions" };
  return new AgentThread({ agent, dir, number, program, timeouts: { idleSeconds: 1, lockSeconds }, env });
}

/** Reads come first: the real program edits nothing that it has not read. */
function begin(thread: AgentThread, rounds: number, files: readonly string[]): void {
  const reads = files.map((file) => ({ name: "Read", input: { file_path: join(thread.dir, file) } }));
  const edits = Array.from({ length: rounds }, (_, i) => ({
    // All begin at once, with the same file.
    ...(i === 0 && { waitFor: goFile(thread.dir) }),
    tools: [edit(thread.dir, files[i % files.length] ?? "", lineOf(thread, i))],
  }));
  thread.write(says("go", { tools: reads }, ...edits, { text: "Done." }));
}

const goFile = (dir: string) => `${dir}.go`;
const lineOf = (thread: AgentThread, i: number) => `edit ${thread.id} ${i}.`;

/** Keeps runners running and kills, until every agent has said its last word and has gone. @returns how often it killed */
async function untilDone(threads: readonly AgentThread[], options: LockSiegeOptions): Promise<number> {
  const { kills, random, timeoutMs, writeMs } = options;
  let killed = 0;
  let nextKillMs = Date.now() + 500;
  const resumed = new Set<string>();
  const look = () => {
    const working = threads.filter((thread) => !isDone(thread));
    for (const thread of working) {
      const fold = thread.fold();
      if (fold.failure && !resumed.has(`${thread.id} ${fold.turnCount}`)) {
        resumed.add(`${thread.id} ${fold.turnCount}`);
        thread.control("resume");
      }
      if (!thread.runner) thread.start();
    }
    if (threads.every((thread) => thread.of("tool_call_update").length > 0)) {
      writeFileSync(goFile(threads[0]?.dir ?? ""), "");
    }
    const victim = working[Math.floor(random() * working.length)];
    if (victim && killed < kills && Date.now() > nextKillMs && victim.fold().turn !== null) {
      kill(victim, random());
      killed += 1;
      nextKillMs = Date.now() + (0.5 + random()) * Math.max(500, 2 * writeMs);
    }
    return working.length === 0 && threads.every(({ runner }) => !runner);
  };
  await until("the agents to be done", look, { timeoutMs, intervalMs: 30 });
  return killed;
}

function kill(thread: AgentThread, chosen: number): void {
  const engine = thread.enginePid();
  if (chosen > 0.3) thread.killRunner();
  if (chosen < 0.7 && engine) signal(engine, "SIGKILL");
}

function isDone(thread: AgentThread): boolean {
  return thread.of("agent_message").some(({ text }) => text === "Done.") && thread.fold().turn === null;
}

function report(
  threads: readonly AgentThread[],
  paths: readonly string[],
): Omit<LockSiegeReport, "kills" | "left" | "seconds"> {
  const text = paths.map((path) => readFileSync(path, "utf8")).join("");
  const count = (line: string) => text.split(line).length - 1;
  const done = threads.flatMap((thread) => {
    const ended = new Set(
      thread
        .of("tool_call_update")
        .flatMap((event) => (event.status === "completed" ? [event.toolCallId] : [])),
    );
    const edits = thread
      .of("tool_call")
      .filter(({ name, toolCallId }) => name === "Edit" && ended.has(toolCallId));
    return edits.map(
      ({ rawInput }) => String((rawInput as { new_string: string }).new_string).split("\n")[0] ?? "",
    );
  });
  const waits = threads.flatMap((thread) =>
    thread
      .of("step_end")
      .filter(({ stepId, status }) => stepId.startsWith("lock-") && status !== "cancelled"),
  );
  return {
    done: done.length,
    lost: done.filter((line) => count(line) === 0),
    twice: done.filter((line) => count(line) > 1),
    waits: waits.length,
    longestMs: Math.max(0, ...waits.map(({ durationMs }) => durationMs)),
    refused: waits.filter(({ status }) => status === "failed").length,
  };
}
