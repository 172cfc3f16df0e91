/** Agents in one directory: one file, one writer at a time, whoever is killed. The stand-in engine, real runners. */
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import { LOCK_FOLDER } from "../../shared/agent/markers.ts";
import { seededRandom } from "../../shared/random.ts";
import { type AgentThread, bash, openThreads, says } from "../support/agent-threads.ts";
import { inFull } from "../support/faults.ts";
import { makeFolder } from "../support/folders.ts";
import { besiegeFiles } from "../support/lock-siege.ts";
import { signal } from "../support/processes.ts";
import { until } from "../support/wait.ts";

const ROUNDS = inFull(200, 10);
/** So often a process takes the one file. */
const HAMMERS = inFull(1_000, 40);
const WRITE_MS = inFull(2_000, 200);
const KILLS = inFull(20, 3);
const TIMEOUT_MS = inFull(1_500_000, 120_000);

const siege = { rounds: ROUNDS, writeMs: WRITE_MS, timeoutMs: TIMEOUT_MS };

// Promise: R8
test.each(inFull([2, 5], [3]))(
  "%i agents edit the same files, under kill -9: no edit is lost, no lock is left",
  {
    timeout: TIMEOUT_MS + 30_000,
  },
  async (agents) => {
    const report = await besiegeFiles({ ...siege, agents, kills: KILLS, random: seededRandom(agents) });
    console.log(JSON.stringify({ agents, ...report }));
    expect(report).toMatchObject({ lost: [], twice: [], left: [], refused: 0 });
    // What a kill cut off is not told as done.
    expect(report.done).toBeGreaterThanOrEqual(ROUNDS - KILLS);
    expect(report.waits).toBeGreaterThan(0);
    expect(report.kills).toBeGreaterThan(0);
  },
);

// Promise: R8
test("many processes that want one file, and find it left by the dead: never have two of them it", async () => {
  const program = join(shared.path, "hammer.mjs");
  const entry = fileURLToPath(new URL("../support/lock-hammer.ts", import.meta.url));
  await build({ entryPoints: [entry], outfile: program, bundle: true, platform: "node", format: "esm" });
  const run = (id: string, rounds: number, end: string) =>
    new Promise<string>((resolve) => {
      const args = [program, locks, join(shared.path, "inside"), id, String(rounds), end];
      execFile(process.execPath, args, (_, stdout) => resolve(stdout.trim()));
    });
  const ended = await Promise.all([
    ...["1", "2", "3"].map((id) => run(id, HAMMERS, "")),
    ...["4", "5", "6"].map((id) => run(id, HAMMERS / 4, "dies")),
  ]);
  expect(ended).toEqual(["done", "done", "done", "", "", ""]);
});

test("without locks edits are lost", { timeout: TIMEOUT_MS }, async () => {
  const options = { ...siege, agents: 2, kills: 0, random: seededRandom(1), isUnlocked: true };
  const report = await besiegeFiles(options);
  console.log(JSON.stringify({ ...report, lost: report.lost.length }));
  expect(report.lost.length).toBeGreaterThan(0);
});

let shared: ReturnType<typeof makeFolder>;
let dir: string;
let locks: string;
beforeEach(() => {
  shared = makeFolder();
  dir = join(shared.path, "work");
  locks = join(shared.path, "locks");
  for (const path of [dir, locks]) mkdirSync(path);
});
const newThread = openThreads();
afterEach(() => shared.remove());

interface Options {
  number: number;
  mode?: string;
  writeMs?: number;
  lockSeconds?: number;
}

function open({ number, mode = "bypassPermissions", writeMs = 0, lockSeconds = 30 }: Options): AgentThread {
  return newThread({
    number,
    dir,
    agent: { permissionMode: mode },
    timeouts: { idleSeconds: 1, lockSeconds },
    env: { [LOCK_FOLDER]: locks, THREADMUX_DEMO_WRITE_MS: String(writeMs) },
  });
}

const write = (file: string, content: string): Round => ({
  tools: [{ name: "Write", input: { file_path: join(dir, file), content } }],
});
const read = (file: string) => readFileSync(join(dir, file), "utf8");

function tell(thread: AgentThread, ...rounds: Round[]): void {
  thread.write(says("go", ...rounds, { text: "Done." }));
  thread.start();
}

/** A thread whose call has the file for a long time. */
async function openHolder(file: string): Promise<AgentThread> {
  const holder = open({ number: 1, writeMs: 60_000 });
  tell(holder, write(file, "first"));
  await untilHeld();
  return holder;
}

const untilHeld = () =>
  until("a file to be locked", () => readdirSync(locks).some((name) => name.includes(".held.")));
const untilFree = () => until("no lock to be left", () => readdirSync(locks).length === 0);

test("who waits too long is told who has the file, and since when; the wait is a step", async () => {
  await openHolder("a.txt");
  const waiter = open({ number: 2, lockSeconds: 1 });
  tell(waiter, write("a.txt", "second"), write("b.txt", "other"));
  const step = await waiter.event("step_start", 2);
  expect(step).toMatchObject({ kind: "lock", title: "Awaiting file lock on a.txt (#1)" });
  expect(await waiter.event("tool_call_update")).toMatchObject({ status: "failed", reason: "locked" });
  await waiter.ended();
  const [end] = waiter.of("step_end").filter(({ stepId }) => stepId === step.stepId);
  expect(end).toMatchObject({ status: "failed" });
  expect(waiter.saved()).toMatch(
    /a\.txt is being edited by #1 since \d\d:\d\d:\d\d UTC \(\d+ s\)\. Gave up after 1 s, nothing was written/,
  );
  // It goes on with something else.
  expect([existsSync(join(dir, "a.txt")), read("b.txt")]).toEqual([false, "other"]);
});

test("two that want each other's file: a call has one file alone, so neither waits for the other without end", async () => {
  const pair = (...files: string[]): Round => ({
    tools: files.map((file) => ({ name: "Write", input: { file_path: join(dir, file), content: file } })),
  });
  const threads = [open({ number: 1, writeMs: 400 }), open({ number: 2, writeMs: 400 })] as const;
  const [there, back] = [pair("a.txt", "b.txt"), pair("b.txt", "a.txt")];
  // Both are at work before either begins: otherwise a slow start might leave nothing to wait for.
  const go = join(shared.path, "go");
  tell(threads[0], { ...there, waitFor: go }, there, there);
  tell(threads[1], { ...back, waitFor: go }, back, back);
  for (const thread of threads) await thread.event("step_start");
  writeFileSync(go, "");
  let most = 0;
  await until("both to be done", () => {
    const held = readdirSync(locks).filter((name) => name.includes(".held."));
    for (const { id } of threads) {
      const own = held.filter((name) => findText(join(locks, name)).includes(`"threadId":"${id}"`));
      most = Math.max(most, own.length);
    }
    return threads.every((thread) => thread.of("turn_end").length === 1);
  });
  expect(most).toBe(1);
  const ends = threads.flatMap((thread) => thread.of("tool_call_update").map(({ status }) => status));
  expect(ends).toEqual(Array.from({ length: 12 }, () => "completed"));
  const waits = threads.flatMap((thread) => thread.of("step_start").filter(({ kind }) => kind === "lock"));
  expect(waits.length).toBeGreaterThan(0);
  for (const thread of threads) await thread.ended();
  await untilFree();
});

function findText(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

// Promise: R8
test("the engine that holds a file dies: the next one has it at once", async () => {
  const holder = await openHolder("a.txt");
  const waiter = open({ number: 2 });
  tell(waiter, write("a.txt", "second"));
  await until("the wait", () => waiter.of("step_start").some(({ kind }) => kind === "lock"));
  holder.killRunner();
  await holder.runnerDied();
  // The runner's death gives nothing back: the engine is in the middle of its call.
  expect(readdirSync(locks).filter((name) => name.includes(".held."))).toHaveLength(1);
  signal(holder.enginePid(), "SIGKILL");
  await waiter.ended();
  expect(read("a.txt")).toBe("second");
  await untilFree();
});

test("a person is asked: meanwhile others have the file; after the yes the call waits for it again", async () => {
  const asking = open({ number: 1, mode: "default" });
  tell(asking, write("a.txt", "first"));
  const { requestId } = await asking.event("permission_request");
  await untilFree();
  const other = open({ number: 2, writeMs: 60_000 });
  tell(other, write("a.txt", "second"));
  await untilHeld();
  asking.answer(requestId, "once");
  const step = await asking.event("step_start", 2);
  expect(step).toMatchObject({ kind: "lock", title: "Awaiting file lock on a.txt (#2)" });
  expect(existsSync(join(dir, "a.txt"))).toBe(false);
  other.control("interrupt");
  await asking.ended();
  await other.ended();
  expect(read("a.txt")).toBe("first");
  await untilFree();
});

test("Stop ends the wait, and no lock is left", async () => {
  const holder = await openHolder("a.txt");
  const waiter = open({ number: 2 });
  tell(waiter, write("a.txt", "second"));
  const step = await waiter.event("step_start", 2);
  expect(step.kind).toBe("lock");
  waiter.control("interrupt");
  await waiter.event("turn_end");
  expect(waiter.of("step_end").at(-1)).toMatchObject({ stepId: step.stepId, status: "cancelled" });
  holder.control("interrupt");
  await holder.event("turn_end");
  await untilFree();
});

test("reads take no lock, and a link's other name is the same file", async () => {
  execFileSync("ln", ["-s", "a.txt", "b.txt"], { cwd: dir });
  writeFileSync(join(dir, "a.txt"), "old");
  await openHolder("a.txt");
  const reader = open({ number: 2, lockSeconds: 1 });
  const input = { file_path: join(dir, "a.txt") };
  tell(reader, { tools: [{ name: "Read", input }] }, write("b.txt", "second"));
  expect(await reader.event("tool_call_update")).toMatchObject({ status: "completed" });
  expect(await reader.event("tool_call_update", 2)).toMatchObject({ status: "failed", reason: "locked" });
});

test("an undo leaves the file that another agent writes", async () => {
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], { cwd: dir });
  for (const file of ["a.txt", "b.txt"]) writeFileSync(join(dir, file), "old");
  git("init", "-q");
  git("add", "-A");
  git("commit", "-qm", "first");
  const undoing = open({ number: 2 });
  tell(undoing, { tools: [bash("echo new > a.txt; echo new > b.txt")] });
  const { turnId } = await undoing.event("turn_end");
  await openHolder("a.txt");
  // What is written as the runner ends, nobody would read.
  await undoing.ended();
  undoing.control("undo", { turnId });
  undoing.start();
  expect(await undoing.event("undo")).toMatchObject({
    restored: ["b.txt"],
    left: [{ path: "a.txt", reason: "#1 is writing it" }],
  });
});
