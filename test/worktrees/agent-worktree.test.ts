/** Agents in worktrees of their own: made, undone in, branched, kept and removed. */
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { threadPath } from "../../shared/agent/paths.ts";
import { agents } from "../../shared/protocol/agents.ts";
import { BYPASS_CONFIG, script, untilStatus } from "../support/agents.ts";
import { buildCli } from "../support/cli.ts";
import { makeSidecarFolders, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { refusal } from "../support/threads.ts";
import { until, untilValue } from "../support/wait.ts";
import { bash, git, worktreesOf } from "../support/worktrees.ts";

let sidecar: TestSidecar;
const { at, inTree, repository, open, eventsOf } = worktreesOf(() => sidecar);

beforeAll(async () => {
  const worktreeSetup = "echo ready > set-up";
  sidecar = await startSidecar({ ...BYPASS_CONFIG, worktreeSetup });
});
afterAll(() => sidecar?.close());

test("it works on a branch of its own, after the person's command; undo and branches work there", async () => {
  repository("shop");
  writeFileSync(at("shop", "a.txt"), "uncommitted\n");
  await open("tree", "shop", bash("cat set-up >> a.txt"), { text: "Done." });
  const { number } = await untilStatus(sidecar, "tree", "idle");
  const branch = `threadmux/${number}-fix-the-login`;
  expect(readFileSync(inTree("tree", "a.txt"), "utf8")).toBe("one\nready\n");
  expect(readFileSync(at("shop", "a.txt"), "utf8")).toBe("uncommitted\n");
  expect(git(inTree("tree"), "branch", "--show-current")).toBe(branch);
  expect((await eventsOf("tree", "step_start")).slice(0, 2)).toMatchObject([
    { kind: "setup", title: `Making a worktree on ${branch}` },
    { kind: "setup", title: expect.stringMatching(/^Setting up: echo/) },
  ]);
  expect(await sidecar.client.getWorktree("tree")).toMatchObject({ branch, files: ["a.txt"], commits: 0 });

  const request = {
    threadId: "twig",
    lockParent: false,
    text: script("more", bash("pwd > where"), { text: "So." }),
  };
  await sidecar.client.branchThread("tree", request);
  await untilStatus(sidecar, "twig", "idle");
  expect(readFileSync(inTree("tree", "where"), "utf8").trim()).toBe(inTree("tree"));
  await sidecar.client.killThread("twig");

  await sidecar.client.controlAgent("tree", { control: "undo" });
  await until("the undo", async () => (await eventsOf("tree", "undo")).length > 0);
  expect(readFileSync(inTree("tree", "a.txt"), "utf8")).toBe("one\n");
});

test("without a repository below REPOS_DIR, or a commit in it, there is none", async () => {
  git(sidecar.reposDir, "-C", "..", "init", "-q");
  expect(await refusal(open("outside", ".", { text: "No." }))).toMatchObject({
    code: "unsupported",
    message: expect.stringContaining("no git repository below REPOS_DIR"),
  });
  rmSync(at("..", ".git"), { recursive: true });
  mkdirSync(at("plain"));
  expect(await refusal(open("none", "plain"))).toMatchObject({
    code: "unsupported",
    message: expect.stringContaining("no git repository"),
  });
  mkdirSync(at("empty"));
  git(at("empty"), "init", "-q");
  await open("unborn", "empty", { text: "Never." });
  await until("its failure", async () => (await eventsOf("unborn", "failure")).length > 0);
  expect(await eventsOf("unborn", "failure")).toMatchObject([
    { code: "no_worktree", message: expect.stringContaining("no commit yet") },
  ]);
  expect(existsSync(inTree("unborn"))).toBe(false);
});

test("nothing goes silently: files that are not committed are named, a branch with commits stays", async () => {
  repository("blog");
  await open("kept", "blog", bash("echo two > a.txt; echo x > new"), { text: "Done." });
  const { number } = await untilStatus(sidecar, "kept", "idle");
  expect(await refusal(sidecar.client.removeWorktree("kept"))).toMatchObject({ code: "worktree_in_use" });
  await sidecar.client.killThread("kept");
  expect(existsSync(inTree("kept", "new"))).toBe(true);
  const refused = await refusal(sidecar.client.removeWorktree("kept"));
  expect(refused.code).toBe("worktree_dirty");
  for (const name of ["a.txt", "new"]) expect(refused.message).toContain(name);
  // Another thread of its id would need its place: it is refused, and nothing of the first one goes.
  expect(await refusal(open("kept", "blog", { text: "No." }))).toMatchObject({ code: "thread_exists" });
  expect(await sidecar.client.getThread("kept")).toMatchObject({ status: "killed", number });
  expect(await eventsOf("kept", "agent_message")).toMatchObject([{ text: "Done." }]);
  git(inTree("kept"), "add", ".");
  git(inTree("kept"), "commit", "-qm", "second");
  const branch = `threadmux/${number}-fix-the-login`;
  expect(await sidecar.client.removeWorktree("kept")).toEqual({ removed: true, branch });
  expect(existsSync(inTree("kept"))).toBe(false);
  expect(git(at("blog"), "worktree", "list").split("\n")).toHaveLength(1);
  expect(git(at("blog"), "log", "-1", "--format=%s", branch)).toBe("second");
  expect(await refusal(sidecar.client.getWorktree("kept"))).toMatchObject({ code: "not_found" });
});

test("its directory is there though the commit lacks it, and is never one that the commit leads to", async () => {
  repository("deep");
  symlinkSync("/", at("deep", "link"));
  git(at("deep"), "add", ".");
  git(at("deep"), "commit", "-qm", "a link");
  rmSync(at("deep", "link"));
  for (const name of ["new", "link"]) mkdirSync(at("deep", name, "below"), { recursive: true });
  await open("lacking", "deep/new/below", bash("pwd > where"), { text: "Done." });
  await untilStatus(sidecar, "lacking", "idle");
  expect(readFileSync(inTree("lacking", "new/below/where"), "utf8")).toBe(
    `${inTree("lacking", "new/below")}\n`,
  );
  await open("led", "deep/link/below", bash("pwd > where"), { text: "Never." });
  await until("its failure", async () => (await eventsOf("led", "failure")).length > 0);
  expect((await eventsOf("led", "failure"))[0]?.message).toContain("link is no directory in the commit");
});

test("nobody begins to work in a worktree that is being removed", async () => {
  repository("going");
  await open("gone", "going", { text: "Done." });
  await untilStatus(sidecar, "gone", "idle");
  await sidecar.client.killThread("gone");
  const heir = { threadId: "heir", type: "agent" as const, dir: "going" };
  const agent = { originThreadId: "gone" };
  const [made, removed] = await Promise.allSettled([
    sidecar.client.createThread({ ...heir, command: script("go", { text: "Here." }), agent }),
    sidecar.client.removeWorktree("gone"),
  ]);
  expect([made, removed].some(({ status }) => status === "fulfilled")).toBe(true);
  if (made.status === "fulfilled") {
    const folder = join(sidecar.stateDir, "threads", "heir");
    const { dir } = JSON.parse(readFileSync(threadPath(folder, "config"), "utf8"));
    expect(existsSync(dir)).toBe(true);
  } else expect(made.reason).toMatchObject({ code: "unavailable" });
});

test("what a killed removal has left goes at the next start", async () => {
  const left = [inTree(".gone-x"), inTree(".git-x")];
  for (const path of left) {
    mkdirSync(join(path, "below"), { recursive: true });
    writeFileSync(join(path, "below", "file"), "x");
  }
  await sidecar.restart();
  await until("it to be gone", () => left.every((path) => !existsSync(path)));
});

test("a child of an agent in a worktree works there too, or in a directory of it", async () => {
  repository("split");
  const spawn = (input: object) => ({
    tools: [{ name: "mcp__threadmux__spawn_thread", input: { ...input, mode: "async" } }],
  });
  const prompt = (name: string) => script("part", bash(`echo ${name} > ${name}`), { text: "Done." });
  await open(
    "parent",
    "split",
    bash("mkdir below"),
    spawn({ prompt: prompt("one") }),
    spawn({ prompt: prompt("two"), dir: "below" }),
    spawn({ prompt: prompt("three"), dir: ".." }),
    { text: "Split." },
  );
  const files = ["one", join("below", "two")].map((name) => inTree("parent", name));
  await until("the children's files", () => files.every((file) => existsSync(file)));
  await untilStatus(sidecar, "parent", "idle");
  expect(JSON.stringify(await eventsOf("parent", "tool_call_update"))).toContain("below this thread's own");
  const children = (await sidecar.client.listThreads()).filter(({ parentId }) => parentId === "parent");
  expect(children).toHaveLength(2);
  await sidecar.client.killThread("parent");
  await sidecar.client.removeWorktree("parent", { force: true });
  expect(existsSync(inTree("parent"))).toBe(false);
});

test("a branch with files has those of its point in a worktree of its own; its parent keeps its own", async () => {
  repository("past");
  const write = (content: string) => bash(`printf '${content}' > a.txt; touch ${content}`);
  const shared = { type: "agent" as const, dir: "past" };
  const agent = { permissionMode: "bypassPermissions" };
  await sidecar.client.createThread({
    ...shared,
    threadId: "old",
    command: script("go", write("two"), { text: "It is two." }),
    agent,
  });
  await untilStatus(sidecar, "old", "idle");
  await sidecar.client.sendInput("old", {
    text: script("go on", write("three"), write("four"), { text: "It is four." }),
  });
  await untilValue(
    "both turns to be kept",
    () => eventsOf("old", "turn_changes"),
    ({ length }) => length === 2,
  );
  const [two, four] = await eventsOf("old", "agent_message");
  const [, call] = await eventsOf("old", "tool_call_update");
  const branch = async (threadId: string, seq: number | undefined, more: object = {}) => {
    const text = script("look", bash("pwd"), { text: "Seen." });
    await sidecar.client.branchThread("old", {
      threadId,
      lockParent: false,
      files: true,
      text,
      ...(seq !== undefined && { seq }),
      ...more,
    });
    await untilStatus(sidecar, threadId, "idle");
    return ["a.txt", "two", "three", "four"].flatMap((name) =>
      existsSync(inTree(threadId, name)) ? [`${name}: ${readFileSync(inTree(threadId, name), "utf8")}`] : [],
    );
  };
  expect(await branch("at-two", two?.seq)).toEqual(["a.txt: two", "two: "]);
  // From before that turn; of its script, which the stand-in goes on with, only the second call is left.
  expect(await branch("between", call?.seq)).toEqual(["a.txt: four", "two: ", "four: "]);
  expect(await branch("at-four", four?.seq)).toEqual(["a.txt: four", "two: ", "three: ", "four: "]);
  expect(await branch("now", undefined)).toEqual(["a.txt: four", "two: ", "three: ", "four: "]);
  expect(readFileSync(at("past", "a.txt"), "utf8")).toBe("four");
  const told = async (id: string) => JSON.stringify(await eventsOf(id, "notice"));
  for (const id of ["at-two", "at-four", "now"])
    expect(await told(id)).toContain("The files are those of the branch's point");
  expect(await told("between")).toContain(
    "in the midst of a turn: the files are those from before that turn",
  );

  // What was undone does not come back, and what somebody else wrote meanwhile is not lost.
  writeFileSync(at("past", "theirs"), "theirs");
  await sidecar.client.controlAgent("old", { control: "undo" });
  await until("the undo", async () => (await eventsOf("old", "undo")).length > 0);
  expect(await branch("undone", undefined)).toEqual(["a.txt: two", "two: "]);
  expect(readFileSync(inTree("undone", "theirs"), "utf8")).toBe("theirs");
  expect((await sidecar.client.getWorktree("at-two")).files.sort()).toEqual(["a.txt", "two"]);

  await sidecar.client.createThread({ ...shared, threadId: "talk", command: script("hi", { text: "Hi." }) });
  await untilStatus(sidecar, "talk", "idle");
  const nothing = { threadId: "none", files: true };
  expect(await refusal(sidecar.client.branchThread("talk", nothing))).toMatchObject({
    code: "unsupported",
    message: expect.stringContaining("files: no state of the files"),
  });
});

test("a STATE_DIR that is a link has worktrees too", async () => {
  const folders = makeSidecarFolders();
  mkdirSync(`${folders.stateDir}-real`, { mode: 0o700 });
  symlinkSync(`${folders.stateDir}-real`, folders.stateDir);
  const linked = await startSidecar(BYPASS_CONFIG, { folders });
  try {
    const own = worktreesOf(() => linked);
    own.repository("shop");
    await own.open("tree", "shop", bash("pwd > where"), { text: "Done." });
    await untilStatus(linked, "tree", "idle");
    const path = join(`${folders.stateDir}-real`, "worktrees/tree");
    expect(readFileSync(join(path, "where"), "utf8")).toBe(`${path}\n`);
  } finally {
    await linked.close();
  }
});

test("it is merged into the branch that it left, also once its thread has ended; not in the midst of a turn", async () => {
  repository("merged");
  git(at("merged"), "switch", "-qc", "work");
  const save = "git add . && git -c user.name=a -c user.email=a@b commit -qm second";
  const stay = bash(`until [ -e ${at("go")} ]; do sleep 0.05; done`);
  await open("joined", "merged", bash(`echo two > a.txt; ${save}`), stay, { text: "Done." });
  const merge = () => sidecar.client.call(agents.mergeWorktree, { id: "joined" }, { body: { how: "merge" } });
  await until(
    "its commit",
    () =>
      existsSync(inTree("joined", "a.txt")) &&
      git(inTree("joined"), "log", "--format=%s").startsWith("second"),
  );
  expect(await refusal(merge())).toMatchObject({ code: "turn_running" });
  writeFileSync(at("go"), "");
  await untilStatus(sidecar, "joined", "idle");
  const cli = await buildCli(sidecar);
  expect((await cli.call(["worktree", "joined", "--merge", "--remove"])).code).toBe(2);
  expect((await cli.call(["worktree", "joined", "--merge", "--rebase"])).code).toBe(2);
  expect(await cli.ok("worktree", "joined", "--merge")).toMatch(
    /^1 commit in work as it is, [0-9a-f]{12}\n$/,
  );
  expect(readFileSync(at("merged", "a.txt"), "utf8")).toBe("two\n");
  expect(git(at("merged"), "log", "-1", "--format=%s", "main")).toBe("first");
  await sidecar.client.killThread("joined");
  expect(await refusal(merge())).toMatchObject({
    code: "not_found",
    message: expect.stringContaining("work has all"),
  });
  expect(await sidecar.client.removeWorktree("joined")).toEqual({ removed: true, branch: null });
  expect(await refusal(merge())).toMatchObject({ code: "not_found" });
});
