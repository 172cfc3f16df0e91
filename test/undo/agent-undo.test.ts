/** Undoing a turn: what a runner keeps of it, what comes back, and what is left. Real git, the stand-in engine. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type AgentThread, bash, openThreads, says } from "../support/agent-threads.ts";
import { makeFolder } from "../support/folders.ts";
import { until } from "../support/wait.ts";

const newThread = openThreads();

function git(thread: AgentThread, ...args: string[]): string {
  const who = ["-c", "user.name=t", "-c", "user.email=t@t"];
  return execFileSync("git", [...who, ...args], { cwd: thread.dir, encoding: "utf8" });
}

const read = (thread: AgentThread, path: string) => readFileSync(join(thread.dir, path), "utf8");
const write = (thread: AgentThread, path: string, text: string) =>
  writeFileSync(join(thread.dir, path), text);

/** A thread in a work tree with one commit. */
function repository(files: Record<string, string>): AgentThread {
  const thread = newThread({ agent: { permissionMode: "bypassPermissions" } });
  git(thread, "init", "-q", "-b", "main");
  for (const [path, text] of Object.entries(files)) write(thread, path, text);
  git(thread, "add", "-A");
  git(thread, "commit", "-qm", "first");
  return thread;
}

/** One turn of these calls. @returns its changes, as the transcript has them */
async function turn(thread: AgentThread, ...commands: string[]) {
  const count = thread.of("turn_end").length;
  thread.write(says("Do it", ...commands.map((command) => ({ tools: [bash(command)] })), { text: "Done." }));
  if (!thread.runner) thread.start();
  const { turnId } = await thread.event("turn_end", count + 1);
  return { turnId, changes: thread.of("turn_changes").find((event) => event.turnId === turnId) };
}

async function undo(thread: AgentThread, target: string) {
  const count = thread.of("undo").length;
  thread.control("undo", { turnId: target });
  if (!thread.runner) thread.start();
  return thread.event("undo", count + 1);
}

test("what a turn changed goes back; index, branch and stash stay; the next message tells the agent", async () => {
  const thread = repository({ a: "1\n", gone: "g\n", old: "o\n" });
  write(thread, "untracked", "u\n");
  const status = git(thread, "status", "--porcelain");
  const { turnId, changes } = await turn(
    thread,
    "echo 2 > a; rm gone; mv old new; mkdir -p d; echo n > d/n; echo x >> untracked",
    "printf '\\0\\1' > binary; chmod +x a",
  );
  expect(changes).toMatchObject({ files: 7, turnId });
  expect(git(thread, "for-each-ref", "--format=%(refname)", "refs/threadmux").trim().split("\n")).toEqual([
    `refs/threadmux/${thread.id}/${turnId}/after`,
    `refs/threadmux/${thread.id}/${turnId}/before`,
    `refs/threadmux/${thread.id}/${turnId}/end`,
  ]);
  const done = await undo(thread, turnId);
  expect(done).toMatchObject({ status: "completed", files: 7, left: [], leftCount: 0, target: turnId });
  expect(git(thread, "status", "--porcelain")).toBe(status);
  expect([read(thread, "a"), read(thread, "gone"), read(thread, "untracked")]).toEqual(["1\n", "g\n", "u\n"]);
  expect(existsSync(join(thread.dir, "d"))).toBe(false);
  await turn(thread, "true");
  const engine = readFileSync(join(thread.folder, "engine.1.jsonl"), "utf8");
  expect(engine).toContain("[threadmux: a person has undone changes; 7 files were put back");
  const again = await undo(thread, done.undoId);
  expect(again).toMatchObject({ status: "completed", files: 7, left: [] });
  expect([read(thread, "a"), read(thread, "new"), read(thread, "d/n")]).toEqual(["2\n", "o\n", "n\n"]);
});

test("what others wrote between the calls, or since the turn, is left and named", async () => {
  const thread = repository({ mine: "1", between: "1", since: "1", both: "1" });
  const go = join(thread.folder, "go");
  thread.write(
    says(
      "Do it",
      { tools: [bash("echo 2 > mine; echo 2 > since; echo 2 > both")] },
      { tools: [bash("echo 3 > mine")], waitFor: go },
      { text: "Done." },
    ),
  );
  thread.start();
  await thread.event("tool_call_update");
  await until("the call's hook", () => read(thread, "both") === "2\n");
  await until("the state after the call", () => {
    const notes = JSON.parse(readFileSync(join(thread.folder, "turn.json"), "utf8"));
    return notes.hasRun && notes.running.length === 0;
  });
  write(thread, "between", "theirs");
  write(thread, "both", "theirs");
  writeFileSync(go, "");
  const { turnId } = await thread.event("turn_end");
  expect(thread.of("turn_changes")[0]).toMatchObject({
    files: 2,
    others: ["between", "both"],
    othersCount: 2,
  });
  write(thread, "since", "theirs");
  const done = await undo(thread, turnId);
  expect(done).toMatchObject({
    files: 1,
    restored: ["mine"],
    left: [{ path: "since", reason: "changed since" }],
  });
  const texts = ["mine", "between", "since", "both"].map((path) => read(thread, path));
  expect(texts).toEqual(["1", "theirs", "theirs", "theirs"]);
});

test("in a sub-folder of the work tree, with files beside it", async () => {
  // Not above the thread's folder: of such a work tree no state is kept.
  const { path: root, remove } = makeFolder();
  onTestFinished(remove);
  const agent = { permissionMode: "bypassPermissions" as const };
  const thread = newThread({ agent, dir: join(root, "work") });
  execFileSync("git", ["init", "-q"], { cwd: root });
  writeFileSync(join(root, "beside"), "1");
  const { turnId } = await turn(thread, "echo 2 > ../beside; echo 2 > here");
  expect(await undo(thread, turnId)).toMatchObject({ files: 2, left: [] });
  expect(readFileSync(join(root, "beside"), "utf8")).toBe("1");
  expect(existsSync(join(thread.dir, "here"))).toBe(false);
});

test("without git there is no undo, and the thread says so", async () => {
  const thread = newThread({ agent: { permissionMode: "bypassPermissions" } });
  const { turnId, changes } = await turn(thread, "echo 2 > a");
  expect(changes).toMatchObject({ files: 0, problem: expect.stringContaining("is in no git work tree") });
  expect(await undo(thread, turnId)).toMatchObject({
    status: "refused",
    message: expect.stringContaining("is in no git work tree"),
  });
  expect(read(thread, "a")).toBe("2\n");
});

test("a turn that only reads keeps nothing", async () => {
  const thread = repository({ a: "1" });
  thread.write(
    says("Look", { tools: [{ name: "Read", input: { file_path: join(thread.dir, "a") } }] }, { text: "1" }),
  );
  thread.start();
  await thread.event("turn_end");
  expect(thread.of("turn_changes")).toEqual([]);
  expect(git(thread, "for-each-ref", "refs/threadmux")).toBe("");
});

test("after a commit, a checkout and a finished rebase: what is as the turn left it goes back, HEAD and index stay", async () => {
  const thread = repository({ a: "1\n", b: "1\n", c: "1\n" });
  git(thread, "branch", "other");
  const { turnId } = await turn(thread, "echo 2 > a; echo 2 > b; echo 2 > c; echo 2 > new");
  git(thread, "add", "-A");
  git(thread, "commit", "-qm", "second");
  const undoAt = async () => {
    const [head, index] = [git(thread, "rev-parse", "HEAD"), git(thread, "ls-files", "-s")];
    const done = await undo(thread, turnId);
    expect([git(thread, "rev-parse", "HEAD"), git(thread, "ls-files", "-s")]).toEqual([head, index]);
    return done;
  };
  const committed = await undoAt();
  expect(committed).toMatchObject({ status: "completed", files: 4, left: [] });
  expect(git(thread, "status", "--porcelain")).toBe(" M a\n M b\n M c\n D new\n");
  git(thread, "checkout", "-q", "--", ".");

  git(thread, "checkout", "-q", "other");
  write(thread, "a", "other\n");
  git(thread, "commit", "-qam", "another");
  git(thread, "checkout", "-q", "main", "--", "b");
  const other = await undoAt();
  expect(other).toMatchObject({ status: "completed", files: 1 });
  expect(other.left.map(({ path }) => path).sort()).toEqual(["a"]); // c and new are as before the turn already
  expect([read(thread, "a"), read(thread, "b"), read(thread, "c")]).toEqual(["other\n", "1\n", "1\n"]);
  git(thread, "checkout", "-q", "-f", "main");

  git(thread, "rebase", "-q", "-X", "theirs", "other");
  const rebased = await undoAt();
  expect(rebased).toMatchObject({ status: "completed", files: 4, left: [] });
  expect([read(thread, "a"), existsSync(join(thread.dir, "new"))]).toEqual(["1\n", false]);
});

test("in the middle of a rebase, and after the folder is gone, an undo is refused", async () => {
  const thread = repository({ a: "1" });
  const { turnId } = await turn(thread, "echo 2 > a");
  mkdirSync(join(thread.dir, ".git/rebase-merge"));
  expect(await undo(thread, turnId)).toMatchObject({
    status: "refused",
    message: expect.stringContaining("a rebase"),
  });
  expect(read(thread, "a")).toBe("2\n");
  rmSync(join(thread.dir, ".git"), { recursive: true });
  expect(await undo(thread, turnId)).toMatchObject({ status: "refused" });
  expect(read(thread, "a")).toBe("2\n");
});

// Promise: R9
test("an undo whose runner is killed in the middle is finished by the next one", async () => {
  const count = 400;
  const names = Array.from({ length: count }, (_, i) => `f${i}`);
  const thread = repository(Object.fromEntries(names.map((name) => [name, "1\n"])));
  const { turnId } = await turn(thread, "for f in f*; do echo 2 > $f; done");
  const countBack = () => names.filter((name) => read(thread, name) === "1\n").length;
  thread.control("undo", { turnId });
  if (!thread.runner) thread.start();
  await until("some files to be back", () => countBack() > 10);
  thread.killRunner();
  await thread.runnerDied();
  expect(thread.of("undo")).toEqual([]);
  expect(countBack()).toBeLessThan(count);
  thread.start();
  expect(await thread.event("undo")).toMatchObject({ status: "completed", files: count, left: [] });
  expect(countBack()).toBe(count);
  expect(git(thread, "status", "--porcelain")).toBe("");
});
