/** Branches: a thread that goes on from a point of another one's conversation. */
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EventOf, EventType, ThreadEvent } from "../../shared/agent/events.ts";
import { openAgent, STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { heardBy, sessionOf } from "../support/heard.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { refusal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
});
afterAll(() => sidecar?.close());

/** A conversation of messages m-1, m-2, … and texts t-1, t-2, …; each message's id is its name. */
async function talk(threadId: string, count: number): Promise<void> {
  await openAgent(sidecar, threadId, script("m-1", { text: "t-1" }));
  await untilStatus(sidecar, threadId, "idle");
  for (let n = 2; n <= count; n++) await say(threadId, n);
}

async function say(threadId: string, n: number): Promise<void> {
  const text = script(`m-${n}`, { text: `t-${n}` });
  await sidecar.client.sendInput(threadId, { text, inputId: `m-${n}` });
  await until(`t-${n} of ${threadId}`, async () =>
    (await eventsOf(threadId, "agent_message")).some((event) => event.text === `t-${n}`),
  );
  await untilStatus(sidecar, threadId, "idle");
}

async function eventsOf<T extends EventType>(threadId: string, type: T): Promise<EventOf<T>[]> {
  const events: ThreadEvent[] = await transcriptOf(sidecar, threadId);
  return events.filter((event) => event.type === type) as EventOf<T>[];
}

const seqOf = async (threadId: string, text: string) =>
  (await eventsOf(threadId, "agent_message")).find((event) => event.text === text)?.seq ?? 0;

type Point = Partial<Parameters<TestSidecar["client"]["branchThread"]>[1]>;
const branch = (parent: string, threadId: string, point: Point = {}) =>
  sidecar.client.branchThread(parent, { threadId, lockParent: false, ...point });

/** Sends a branch its first message. @returns what its model had heard and said before that */
async function known(threadId: string): Promise<string[]> {
  await sidecar.client.sendInput(threadId, { text: script("m-99", { text: "t-99" }) });
  const heard = await until(`the first message in ${threadId}`, () => {
    const all = heardBy(sidecar, threadId);
    return all.includes("m-99") && all;
  });
  await untilStatus(sidecar, threadId, "idle");
  return heard.slice(0, heard.indexOf("m-99"));
}

describe("the model of a branch knows what was said up to its point, and no more", () => {
  beforeAll(() => talk("p", 3));

  test("at a text, a message, and the newest point", async () => {
    await branch("p", "at-text", { seq: await seqOf("p", "t-2") });
    await branch("p", "at-message", { messageId: "m-2" });
    await branch("p", "at-end");
    expect(await known("at-text")).toEqual(["m-1", "t-1", "m-2", "t-2"]);
    expect(await known("at-message")).toEqual(["m-1", "t-1", "m-2"]);
    expect(await known("at-end")).toEqual(["m-1", "t-1", "m-2", "t-2", "m-3", "t-3"]);
    for (const child of ["at-text", "at-message", "at-end"]) {
      const [start] = await eventsOf(child, "engine_start");
      expect(start).toMatchObject({ resumed: false });
      expect(start).not.toHaveProperty("reseeded");
    }
    expect(heardBy(sidecar, "p")).toEqual(["m-1", "t-1", "m-2", "t-2", "m-3", "t-3"]);
  });

  test("if the engine has lost its own record, from the transcript", async () => {
    await talk("lost", 2);
    await branch("lost", "from-lost", { seq: await seqOf("lost", "t-1") });
    const session = sessionOf(sidecar.stateDir, "lost");
    const projects = join(sidecar.folders.home, ".claude", "projects");
    rmSync(findSession(projects, `${session}.jsonl`));
    expect(await known("from-lost")).toEqual(["m-1", "t-1"]);
    expect(await eventsOf("from-lost", "engine_start")).toMatchObject([{ reseeded: true }]);
  });

  test("of a branch, and of one that nobody has written to yet", async () => {
    await branch("p", "child", { seq: await seqOf("p", "t-1") });
    await branch("child", "grandchild");
    await sidecar.client.sendInput("child", { text: script("m-7", { text: "t-7" }) });
    await until("t-7", async () => (await seqOf("child", "t-7")) > 0);
    await untilStatus(sidecar, "child", "idle");
    await branch("child", "late", { seq: await seqOf("child", "t-7") });
    expect(await known("grandchild")).toEqual(["m-1", "t-1"]);
    expect(await known("late")).toEqual(["m-1", "t-1", "m-7", "t-7"]);
    expect(await sidecar.client.getThread("late")).toMatchObject({
      origin: { threadId: "child", seq: await seqOf("child", "t-7") },
    });
  });

  test("in the midst of a turn: not what the model is about to hear", async () => {
    await talk("busy", 1);
    const call = { tools: [{ name: "Bash", input: { command: "touch done" } }] };
    const text = script("m-2", { text: "t-2", ...call }, { text: "t-3" });
    await sidecar.client.sendInput("busy", { text, inputId: "m-2" });
    const ask = await until("the ask", async () => (await sidecar.client.listAsks("busy"))[0]);
    await sidecar.client.sendInput("busy", { text: script("m-3", { text: "t-4" }), inputId: "m-3" });
    await until("m-3 to wait", async () =>
      (await eventsOf("busy", "user_message")).some(({ messageId }) => messageId === "m-3"),
    );
    expect(await refusal(branch("busy", "no", { messageId: "m-3" }))).toMatchObject({
      code: "invalid_request",
      message: expect.stringContaining("has not read this message yet"),
    });
    await branch("busy", "mid");
    expect(await known("mid")).toEqual(["m-1", "t-1", "m-2", "t-2"]);
    await sidecar.client.answerAsk("busy", ask.requestId, { optionId: "once" });
    await untilStatus(sidecar, "busy", "idle");
    expect(heardBy(sidecar, "busy")).toEqual(["m-1", "t-1", "m-2", "t-2", "m-3", "t-3"]);
  });
});

describe("the parent", () => {
  test("is locked when its turn has ended, until somebody resumes it", async () => {
    await talk("locked", 1);
    const call = { tools: [{ name: "Bash", input: { command: "touch done" } }] };
    await sidecar.client.sendInput("locked", {
      text: script("m-2", { text: "t-2", ...call }, { text: "t-3" }),
    });
    const ask = await until("the ask", async () => (await sidecar.client.listAsks("locked"))[0]);
    await branch("locked", "locker", { lockParent: true, text: script("m-8", { text: "t-8" }) });
    expect(await sidecar.client.getThread("locked")).toMatchObject({ status: "waiting" });
    const later = sidecar.client.sendInput("locked", { text: "m-3", when: "next_turn" });
    expect(await refusal(later)).toMatchObject({ code: "thread_locked" });
    await sidecar.client.answerAsk("locked", ask.requestId, { optionId: "once" });
    await untilStatus(sidecar, "locked", "locked");
    expect(await refusal(sidecar.client.sendInput("locked", { text: "m-3" }))).toMatchObject({
      code: "thread_locked",
    });
    await sidecar.client.controlAgent("locked", { control: "resume" });
    await say("locked", 4);
    await untilStatus(sidecar, "locker", "idle");
  });

  test("is locked from the moment on at which its branch is there, whatever is killed then", async () => {
    await talk("early", 1);
    const made = branch("early", "locking", { lockParent: true, text: script("m-8", { text: "t-8" }) });
    const seen = await until(
      "the branch",
      async () => {
        const threads = await sidecar.client.listThreads();
        return threads.some(({ threadId }) => threadId === "locking") && threads;
      },
      { intervalMs: 1 },
    );
    expect(seen.find(({ threadId }) => threadId === "early")).toMatchObject({ status: "locked" });
    await made;
    await untilStatus(sidecar, "locking", "idle");
  });

  test("that was killed is not branched, but a new thread may know it", async () => {
    await talk("dead", 2);
    await sidecar.client.killThread("dead");
    expect(await refusal(branch("dead", "no"))).toMatchObject({ code: "thread_ended" });
    expect(await refusal(sidecar.client.getThread("no"))).toMatchObject({ code: "not_found" });
    await sidecar.client.createThread({
      threadId: "heir",
      type: "agent",
      dir: "dead",
      command: script("m-9", { text: "t-9" }),
      agent: { originThreadId: "dead" },
    });
    await untilStatus(sidecar, "heir", "idle");
    expect(heardBy(sidecar, "heir").slice(0, 5)).toEqual(["m-1", "t-1", "m-2", "t-2", "m-9"]);
    expect(await sidecar.client.getThread("heir")).toMatchObject({ origin: { threadId: "dead" } });
  });
});

test("what can't be branched is refused, and leaves nothing", async () => {
  await talk("one", 1);
  const refused = async (point: Point, parent = "one", id = "never") =>
    (await refusal(branch(parent, id, point))).code;
  expect(await refused({ messageId: "who?" })).toBe("not_found");
  expect(await refused({ seq: 1 })).toBe("invalid_request");
  expect(await refused({ seq: 1_000_000 })).toBe("not_found");
  expect(await refused({ seq: 2, messageId: "m-1" })).toBe("invalid_request");
  expect(await refused({}, "nobody")).toBe("not_found");
  expect(await refused({}, "one", "one")).toBe("thread_exists");
  expect(await refused({ agent: { permissionMode: "" } })).toBe("invalid_request");
  expect(await refused({ files: true })).toBe("unsupported");
  const threads = await sidecar.client.listThreads({ status: "all" });
  expect(threads.map(({ threadId }) => threadId)).not.toContain("never");
  expect(readdirSync(join(sidecar.stateDir, "branches"))).toEqual([]);
});

test("what a long message was cut of comes along", async () => {
  const long = `m-1 ${"x".repeat(90_000)}`;
  await openAgent(sidecar, "long", long);
  await until("an answer", async () => (await eventsOf("long", "agent_message")).length > 0);
  await branch("long", "longer");
  const folder = (id: string) => join(sidecar.stateDir, "threads", id, "blobs");
  expect(readdirSync(folder("longer"))).toEqual(expect.arrayContaining(readdirSync(folder("long"))));
  await sidecar.client.killThread("long");
});

function findSession(folder: string, name: string): string {
  const project = readdirSync(folder).find((one) => existsSync(join(folder, one, name)));
  return join(folder, project ?? "", name);
}
