/** What agents in one directory know of each other: the stand-in engine, real runners. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import { BOARD_FOLDER, LOCK_FOLDER, THREAD_TITLE } from "../../shared/agent/markers.ts";
import { type AgentThread, bash, openThreads, says } from "../support/agent-threads.ts";
import { BYPASS_CONFIG } from "../support/agents.ts";
import { makeFolder } from "../support/folders.ts";
import { startSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

let shared: ReturnType<typeof makeFolder>;
let dir: string;
beforeEach(() => {
  shared = makeFolder();
  dir = join(shared.path, "work");
  for (const name of ["work", "board", "locks", "elsewhere"]) mkdirSync(join(shared.path, name));
});
const newThread = openThreads();
afterEach(() => shared.remove());

function open(number: number, title: string, fields: { dir?: string; writeMs?: number } = {}): AgentThread {
  const env = {
    [BOARD_FOLDER]: join(shared.path, "board"),
    [LOCK_FOLDER]: join(shared.path, "locks"),
    [THREAD_TITLE]: title,
    THREADMUX_DEMO_WRITE_MS: String(fields.writeMs ?? 0),
  };
  const agent = { permissionMode: "bypassPermissions" };
  return newThread({ number, dir: fields.dir ?? dir, agent, timeouts: { idleSeconds: 1 }, env });
}

const go = (name: string) => join(shared.path, name);
const run = (command: string, waitFor?: string): Round => ({
  tools: [bash(command)],
  ...(waitFor !== undefined && { waitFor: go(waitFor) }),
});
const call = (name: string, file: string, fields: object, waitFor?: string): Round => ({
  tools: [{ name, input: { file_path: join(dir, file), ...fields } }],
  ...(waitFor !== undefined && { waitFor: go(waitFor) }),
});

function tell(thread: AgentThread, ...rounds: Round[]): void {
  thread.write(says("go", ...rounds, { text: "Done." }));
  thread.start();
}

/** What the model was told after its rounds of calls, in order. */
function toldTo(thread: AgentThread): string[] {
  return thread
    .saved()
    .split("\n")
    .filter((line) => line.includes("PostToolBatch hook additional context"))
    .map((line) => line.replaceAll("\\n", "\n"));
}

const onBoard = () =>
  readdirSync(join(shared.path, "board"))
    .filter((name) => name.endsWith(".json"))
    .map((name) => JSON.parse(readFileSync(join(shared.path, "board", name), "utf8")));

test("an agent is told what the others in its directory do: when it changed, and never that it is alone", async () => {
  const teller = open(2, "Writing user model tests", { writeMs: 60_000 });
  const elsewhere = open(3, "Elsewhere", { dir: join(shared.path, "elsewhere") });
  const told = open(1, "Told");
  tell(told, run("true"), run("true", "a"), run("true", "b"), run("true", "c"));
  await told.event("tool_call_update");
  tell(elsewhere, run("true", "never"));
  tell(teller, call("Write", "user.ts", { content: "x" }));
  await until(
    "both to say what they do",
    () => onBoard().some(({ holds }) => holds.length > 0) && onBoard().length === 3,
  );
  for (const [i, name] of ["a", "b"].entries()) {
    writeFileSync(go(name), "");
    await told.event("tool_call_update", i + 2);
  }
  teller.control("kill");
  await teller.event("turn_end");
  await until("it to be gone", () => onBoard().length === 2);
  writeFileSync(go("c"), "");
  await told.ended();
  const said = toldTo(told);
  expect(said).toHaveLength(2);
  expect(said[0]).toContain(
    "#2 Writing user model tests: running, step 1, currently: Write user.ts, holds user.ts",
  );
  expect(said[0]).not.toContain("Elsewhere");
  expect(said[1]).toContain("no other agent works in this directory any more");
  expect(onBoard().map(({ number }) => number)).toEqual([3]);
});

// Promise: S26
test("the sidecar tells runners their threads' titles, whatever they hold", async () => {
  const sidecar = await startSidecar(BYPASS_CONFIG);
  try {
    mkdirSync(join(sidecar.reposDir, "both"));
    const create = (threadId: string, title: string, ...rounds: Round[]) =>
      sidecar.client.createThread({
        threadId,
        type: "agent",
        dir: "both",
        title,
        command: says("go", ...rounds),
        agent: { permissionMode: "bypassPermissions" },
      });
    const title = "#{pid} $(id) \"x\" 'y' `z` ; \\ %1 ;";
    await create("first", title, run("true", "never"));
    await create("second", "Second", run("true", "a"), run("true", "b"));
    const board = join(sidecar.folders.stateDir, "board");
    const calls = () =>
      readdirSync(board).filter(
        (name) => name.endsWith(".json") && readFileSync(join(board, name), "utf8").includes("Calling LLM"),
      );
    await until("both to say what they do", () => calls().length === 2);
    writeFileSync(go("a"), "");
    const projects = join(sidecar.folders.home, ".claude", "projects");
    const saved = () =>
      readdirSync(projects, { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".jsonl"))
        .map((name) => readFileSync(join(projects, name), "utf8"))
        .join("");
    await until("it to be told", () => saved().includes("other agents that work in this directory"));
    expect(saved()).toContain(
      JSON.stringify(`#1 ${title}: running, step 0, currently: Calling LLM`).slice(1, -1),
    );
  } finally {
    await sidecar.close();
  }
});

test("a runner that was killed tells nothing, and its next one does not say twice what was said", async () => {
  const other = open(2, "Other");
  tell(other, run("true", "never"));
  const told = open(1, "Told");
  tell(told, run("true", "a"), run("true", "b"), run("true", "c"));
  // What the other does is told anew when it changes: it waits for its model by now.
  const calls = () => onBoard().filter(({ doing }) => doing === "Calling LLM").length;
  await until("both to say what they do", () => calls() === 2);
  writeFileSync(go("a"), "");
  await told.event("tool_call_update");
  told.killRunner();
  await told.runnerDied();
  told.start();
  writeFileSync(go("b"), "");
  await told.event("tool_call_update", 2);
  other.killRunner();
  await other.runnerDied();
  writeFileSync(go("c"), "");
  await told.ended();
  const said = toldTo(told);
  expect(said.map((text) => /#2 Other/.test(text))).toEqual([true, false]);
  expect(said[1]).toContain("no other agent");
});

test("a file that the agent knows and somebody else changes is named to it once, and to people", async () => {
  for (const file of ["read.txt", "own.txt", "same.txt", "unread.txt"]) writeFileSync(join(dir, file), "old");
  const thread = open(1, "Told");
  tell(
    thread,
    call("Read", "read.txt", {}),
    call("Read", "own.txt", {}),
    call("Read", "same.txt", {}),
    call("Edit", "own.txt", { old_string: "old", new_string: "new" }),
    run("echo more >> own.txt"),
    run("true", "a"),
    run("true"),
  );
  await thread.event("tool_call_update", 5);
  writeFileSync(join(dir, "read.txt"), "changed by a person");
  writeFileSync(join(dir, "unread.txt"), "changed by a person");
  thread.killRunner();
  await thread.runnerDied();
  thread.start();
  writeFileSync(go("a"), "");
  await thread.ended();
  expect(thread.of("notice")).toMatchObject([
    { severity: "info", title: "Changed outside of this thread: read.txt" },
  ]);
  const said = toldTo(thread);
  expect(said).toHaveLength(1);
  expect(said[0]).toContain("changed by somebody else since you last read or wrote them: read.txt.");
});

test("what another agent writes is told to those who read it", async () => {
  writeFileSync(join(dir, "a.txt"), "old");
  const reader = open(1, "Reader");
  tell(reader, call("Read", "a.txt", {}), run("true", "a"));
  await reader.event("tool_call_update");
  const writer = open(2, "Writer");
  tell(writer, run("echo new > a.txt"));
  await writer.ended();
  writeFileSync(go("a"), "");
  await reader.ended();
  expect(reader.of("notice").map(({ title }) => title)).toEqual(["Changed outside of this thread: a.txt"]);
  expect(writer.of("notice")).toEqual([]);
});
