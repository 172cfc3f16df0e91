/** Threads that agents spawn: once each, with their parents' rights or fewer, over restarts. With the stand-in. */
import { appendFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openAgent, STAND_IN_CONFIG, script, transcriptOf, untilStatus, wordsOf } from "../support/agents.ts";
import { callTool, callTools } from "../support/mcp.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { refusal } from "../support/threads.ts";
import { until, untilValue } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
});
afterAll(() => sidecar?.close());

const call = (threadId: string, name: string, input: object, callId = "call") =>
  callTool(sidecar, { threadId, name, input, callId });

const childrenOf = async (parentId: string) =>
  (await sidecar.client.listThreads({ status: "all" })).filter((thread) => thread.parentId === parentId);

test("a parent awaits its child and is given its result; both say so", async () => {
  const prompt = script("Do your part", { text: "My part is done." });
  const spawn = { name: "mcp__threadmux__spawn_thread", input: { prompt, title: "a part" } };
  await openAgent(sidecar, "parent", script("Split it", { tools: [spawn] }, { text: "All done." }));
  await untilStatus(sidecar, "parent", "idle");
  expect(await wordsOf(sidecar, "parent")).toEqual(["All done."]);
  const [child] = await childrenOf("parent");
  expect(child).toMatchObject({ title: "a part", dir: "parent", status: "idle" });
  expect(await wordsOf(sidecar, child?.threadId ?? "")).toEqual(["My part is done."]);
  const events = await transcriptOf(sidecar, "parent");
  const told = events.filter(({ type }) => type === "thread_spawned" || type === "thread_ended");
  expect(told).toMatchObject([
    { type: "thread_spawned", threadId: child?.threadId, mode: "await" },
    { type: "thread_ended", threadId: child?.threadId, stopReason: "end_turn" },
  ]);
  const results = events.filter(({ type }) => type === "tool_call_update");
  expect(JSON.stringify(results)).toContain("My part is done.");
});

test("a branch of a child comes from that child, and outlives the agent that spawned it", async () => {
  await openAgent(sidecar, "spawner", script("Hello", { text: "Hello." }));
  await untilStatus(sidecar, "spawner", "idle");
  await call("spawner", "spawn_thread", { prompt: script("Part", { text: "Part." }), mode: "async" });
  const [child] = await childrenOf("spawner");
  const childId = child?.threadId ?? "";
  await untilStatus(sidecar, childId, "idle");
  await sidecar.client.branchThread(childId, { threadId: "of-child", lockParent: false });
  expect(await sidecar.client.getThread("of-child")).toMatchObject({ parentId: childId });
  expect(await call("spawner", "kill_thread", { threadId: "of-child" })).toContain("no child");
  await call(
    "spawner",
    "spawn_thread",
    { prompt: script("Other", { text: "Other." }), mode: "async" },
    "second",
  );
  const secondId = (await childrenOf("spawner")).find(({ threadId }) => threadId !== childId)?.threadId ?? "";
  await untilStatus(sidecar, secondId, "idle");
  await call("spawner", "kill_thread", { threadId: secondId });
  await sidecar.client.killThread("spawner");
  expect(await sidecar.client.getThread(childId)).toMatchObject({ status: "killed" });
  expect(await sidecar.client.getThread("of-child")).toMatchObject({ status: "idle" });
  // Whoever ended the parent ended its child; an agent ends its own by its tool.
  const endedBy = async (threadId: string) =>
    (await transcriptOf(sidecar, threadId)).flatMap((event) =>
      event.type === "control" && event.op === "kill" ? [event.by] : [],
    );
  expect(await endedBy(secondId)).toEqual(["thread:spawner"]);
  expect(await endedBy(childId)).toEqual(["owner"]);
});

test("a call spawns one child however often it comes, also over a restart, and its result stays the same", async () => {
  await openAgent(sidecar, "busy", script("Hello", { text: "Hello." }));
  await untilStatus(sidecar, "busy", "idle");
  const input = { prompt: script("Work", { text: "Result." }), mode: "async" };
  const spawn = (callId: string) => call("busy", "spawn_thread", input, callId);
  await Promise.all(["1", "1", "2", "1", "2"].map(spawn));
  await sidecar.restart();
  await Promise.all(["1", "2", "3"].map(spawn));
  const children = await childrenOf("busy");
  expect(children).toHaveLength(3);
  const threadId = children[0]?.threadId ?? "";
  const first = await call("busy", "wait_thread", { threadId });
  expect(first).toContain("Result.");
  expect(await call("busy", "wait_thread", { threadId })).toBe(first);
  const told = async () => {
    const types = (await transcriptOf(sidecar, "busy")).map(({ type }) => type);
    return ["thread_spawned", "thread_ended"].map((one) => types.filter((type) => type === one).length);
  };
  // When a call is answered, this lies in its parent's inbox.
  await untilValue("all to be told", told, ([spawned = 0, ended = 0]) => spawned >= 3 && ended >= 1);
  expect(await told()).toEqual([3, 1]);
  // Itself first, then its children.
  expect((await call("busy", "list_threads", {})).split("\n")).toHaveLength(4);
  expect(await call("busy", "read_transcript", { threadId })).toContain("Result.");
  // Of thousands of calls in one request each would read at once.
  const reads = Array.from({ length: 60 }, () => ({ name: "read_transcript", input: { threadId } }));
  const read = await callTools(sidecar, "busy", reads);
  expect(read.filter((text) => text.includes("Result."))).toHaveLength(50);
  expect(read.filter((text) => text.includes("50 calls of this thread are under way"))).toHaveLength(10);
  expect(await call("busy", "spawn_thread", input, "x".repeat(201))).toContain("longer than 200 characters");
  // What somebody else wrote into its transcript.
  appendFileSync(join(sidecar.stateDir, "threads", threadId, "transcript.jsonl"), '{"seq":\nnot ours\n');
  expect(await call("busy", "wait_thread", { threadId })).toBe(first);
  // Its children end with it.
  await sidecar.client.killThread("busy");
  expect((await childrenOf("busy")).map(({ status }) => status)).toEqual(["killed", "killed", "killed"]);
});

test("a wait has an end: its time, or a person who pauses the child, which the parent's thread shows once", async () => {
  const gate = join(sidecar.reposDir, "paused-may-end");
  await openAgent(sidecar, "waits", script("Hello", { text: "Hello." }));
  await untilStatus(sidecar, "waits", "idle");
  const work = { tools: [{ name: "Bash", input: { command: "ls" } }] };
  const prompt = script("Do your part", work, { text: "Result.", waitFor: gate });
  await call("waits", "spawn_thread", { prompt, title: "a part", mode: "async" });
  const [child] = await childrenOf("waits");
  const threadId = child?.threadId ?? "";
  const wait = (timeoutSeconds: number) => call("waits", "wait_thread", { threadId, timeoutSeconds });
  await untilStatus(sidecar, threadId, "running");
  expect(await wait(1)).toMatch(/: running.*\n\nIt has not ended yet/);
  await sidecar.client.controlAgent(threadId, { control: "pause" });
  await untilStatus(sidecar, threadId, "paused");
  const paused = expect.stringMatching(/: paused.*paused by the owner at [\d:]+ UTC, and goes on once/s);
  expect(await Promise.all([wait(1), wait(1)])).toEqual([paused, paused]);
  await sidecar.restart();
  expect(await wait(1)).toEqual(paused);
  const notices = async () =>
    (await transcriptOf(sidecar, "waits")).flatMap((event) => (event.type === "notice" ? [event.title] : []));
  await until("its notice", async () => (await notices()).length > 0);
  expect(await notices()).toEqual([expect.stringMatching(/^Waits for #\d+ \(a part\), paused by the owner/)]);
  const whole = call("waits", "wait_thread", { threadId });
  writeFileSync(gate, "");
  await sidecar.client.controlAgent(threadId, { control: "resume" });
  expect(await whole).toContain("Result.");
  expect(await call("waits", "wait_thread", { threadId, timeoutSeconds: 0 })).toContain("timeoutSeconds");
});

test("a call that was cut off while it waited is not made twice by the model that makes it again", async () => {
  const gate = (name: string) => join(sidecar.reposDir, name);
  const prompt = script("Do your part", { text: "My part is done.", waitFor: gate("child-may-end") });
  const spawn = { name: "mcp__threadmux__spawn_thread", input: { prompt } };
  const again = { tools: [spawn], waitFor: gate("parent-may-try") };
  await openAgent(sidecar, "again", script("Split it", { tools: [spawn] }, again, { text: "Told." }));
  await until("the child", async () => (await childrenOf("again")).length > 0);
  await until("the parent to know", async () =>
    (await transcriptOf(sidecar, "again")).some(({ type }) => type === "thread_spawned"),
  );
  await sidecar.restart();
  writeFileSync(gate("parent-may-try"), "");
  await untilStatus(sidecar, "again", "idle");
  const [child, ...more] = await childrenOf("again");
  expect(more).toEqual([]);
  const threadId = child?.threadId ?? "";
  expect(JSON.stringify(await transcriptOf(sidecar, "again"))).toContain(
    `${threadId} does this: a call of yours that was cut off has spawned it`,
  );
  writeFileSync(gate("child-may-end"), "");
  expect(await call("again", "wait_thread", { threadId })).toContain("My part is done.");
  // It has ended: the same once more is another child.
  expect(await call("again", "spawn_thread", { prompt }, "later")).toContain("My part is done.");
  expect(await childrenOf("again")).toHaveLength(2);
});

// Promise: S28
test("a child has its parent's rights or fewer, and reaches nobody's threads but its own", async () => {
  const { client, reposDir } = sidecar;
  await openAgent(sidecar, "other", script("Hello", { text: "A secret of others." }));
  await untilStatus(sidecar, "other", "idle");
  await openAgent(sidecar, "narrow", script("Hello", { text: "Hello." }));
  await untilStatus(sidecar, "narrow", "idle");
  mkdirSync(join(reposDir, "narrow", "below"));
  symlinkSync(join(reposDir, "other"), join(reposDir, "narrow", "link"));
  const refused: [object, string][] = [
    [{ permissionMode: "acceptEdits" }, "no more than its parent"],
    [{ permissionMode: "bypassPermissions" }, "no more than its parent"],
    [{ permissionMode: "root" }, "permissionMode: one of"],
    [{ dir: "../other" }, "below this thread's own"],
    [{ dir: "link" }, "below this thread's own"],
    [{ dir: "/etc" }, "below this thread's own"],
    [{ tools: ["all"] }, "The input is wrong"],
  ];
  for (const [more, why] of refused)
    expect(await call("narrow", "spawn_thread", { prompt: "x", mode: "async", ...more }), why).toContain(why);
  for (const tool of ["wait_thread", "thread_status", "kill_thread"])
    expect(await call("narrow", tool, { threadId: "other" }), tool).toContain("You have no child");
  expect(await call("narrow", "read_transcript", { threadId: "other" })).toContain("no thread");
  expect((await client.getThread("other")).status).toBe("idle");
  const own = { type: "agent" as const, dir: ".", command: "x", threadId: "forged" };
  const agent = { parentThreadId: "other" } as never;
  expect(await refusal(client.createThread({ ...own, agent }))).toMatchObject({ code: "unsupported" });

  const prompt = script("Hello", { text: "Hi." });
  await call("narrow", "spawn_thread", { prompt, dir: "below", permissionMode: "plan", mode: "await" }, "ok");
  const [child] = await childrenOf("narrow");
  expect(child?.dir).toBe("narrow/below");
  const childId = child?.threadId ?? "";
  expect(await call(childId, "spawn_thread", { prompt, permissionMode: "default" })).toContain(
    "no more than",
  );
  expect(await call(childId, "wait_thread", { threadId: "narrow" })).toContain("You have no child");
  const deeper = (threadId: string) => call(threadId, "spawn_thread", { prompt, mode: "await" }, "deeper");
  await deeper(childId);
  const grandchild = (await childrenOf(childId))[0]?.threadId ?? "";
  await deeper(grandchild);
  const last = (await childrenOf(grandchild))[0]?.threadId ?? "";
  expect(await deeper(last)).toContain("3 deep at most");
});

// Promise: S30
test("a parent that spawns and ends children in a loop is stopped, also after a restart", async () => {
  const many = await startSidecar(STAND_IN_CONFIG);
  try {
    await openAgent(many, "loop", script("Hello", { text: "Hello." }));
    await untilStatus(many, "loop", "idle");
    const spawn = (callId: string) =>
      callTool(many, {
        threadId: "loop",
        name: "spawn_thread",
        input: { prompt: "Hi", mode: "async" },
        callId,
      });
    expect(await spawn("first")).toMatch(/^Started child-/);
    const [child] = (await many.client.listThreads()).filter(({ parentId }) => parentId === "loop");
    await many.client.killThread(child?.threadId ?? "");
    await many.stop();
    repeatThread(many.stateDir, child?.threadId ?? "", 49);
    await many.restart();
    expect(await spawn("again")).toContain(
      "A thread may spawn 50 children in 24 hours, ended ones included.",
    );
    expect(await spawn("first")).toMatch(/^Started child-/); // the call that has spawned one before
  } finally {
    await many.close();
  }
});

/** As if it had been spawned and ended so often more. */
function repeatThread(stateDir: string, threadId: string, times: number): void {
  const db = new Database(join(stateDir, "threadmux.db"));
  const columns = db
    .prepare("SELECT name FROM pragma_table_info('threads')")
    .all()
    .map((row) => String((row as { name: string }).name));
  const rest = columns.filter((name) => name !== "thread_id" && name !== "name").join(", ");
  const copy = db.prepare(
    `INSERT INTO threads (thread_id, name, ${rest}) SELECT ?, ?, ${rest} FROM threads WHERE thread_id = ?`,
  );
  const folder = join(stateDir, "threads");
  const config = readFileSync(join(folder, threadId, "thread.json"), "utf8");
  for (let i = 0; i < times; i++) {
    copy.run(`ended-${i}`, `name-${i}`, threadId);
    mkdirSync(join(folder, `ended-${i}`));
    writeFileSync(join(folder, `ended-${i}`, "thread.json"), config.replaceAll(threadId, `ended-${i}`));
  }
  db.close();
}

test("with one place, parents that await their children hold none: all end", async () => {
  const small = await startSidecar({ ...STAND_IN_CONFIG, maxAgents: 1 });
  try {
    const part = {
      name: "mcp__threadmux__spawn_thread",
      input: { prompt: script("Part", { text: "Done." }) },
    };
    const whole = script("Split it", { tools: [part] }, { text: "All done." });
    const parents = ["one", "two", "three"];
    for (const parent of parents) await openAgent(small, parent, whole);
    await Promise.all(parents.map((parent) => untilStatus(small, parent, "idle", 50_000)));
    for (const parent of parents) expect(await wordsOf(small, parent)).toEqual(["All done."]);
  } finally {
    await small.close();
  }
});

test("a family reads what was said in its threads, on from where it was, and nobody else's", async () => {
  const { client } = sidecar;
  await openAgent(sidecar, "elder", script("Go", { text: "First words." }));
  await openAgent(sidecar, "neighbour", script("Go", { text: "Not for you." }));
  for (const id of ["elder", "neighbour"]) await untilStatus(sidecar, id, "idle");
  for (const title of ["one", "two"])
    await call("elder", "spawn_thread", { prompt: script("Go", { text: `Did ${title}.` }), title }, title);
  const children = await childrenOf("elder");
  const idOf = (name: string) => children.find(({ title }) => title === name)?.threadId ?? "";
  const [one, two] = [idOf("one"), idOf("two")];
  const first = await call(one, "read_transcript", { threadId: "elder" });
  expect(first).toContain("First words.");
  expect(await call(one, "read_transcript", { threadId: two })).toContain("Did two.");
  const last = await call("elder", "read_transcript", { threadId: one, last: 1 });
  expect(last).toMatch(/^Did one\.\n\n\(Read up to/);
  const since = Number(/since: (\d+)/.exec(first)?.[1]);
  await client.sendInput("elder", { inputId: "more", text: script("More", { text: "Second words." }) });
  const more = await until("the second words", async () => {
    const text = await call(one, "read_transcript", { threadId: "elder", since });
    return text.includes("Second words.") && text;
  });
  expect(more).not.toContain("First words.");
  const far = await call(one, "read_transcript", { threadId: "elder", since: 10 ** 9 });
  expect(far).toContain("beyond the transcript's end");
  for (const threadId of ["neighbour", one])
    expect(await call(one, "read_transcript", { threadId })).toContain("no thread");
});
