/** Where text from outside can go, the mark goes first: to children, branches, readers, and receivers of messages. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { VmJobs } from "../../relay/sidecar/jobs.ts";
import type { ThreadEvent } from "../../shared/agent/events.ts";
import { STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { buildCli } from "../support/cli.ts";
import { callTool } from "../support/mcp.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { untilValue } from "../support/wait.ts";

const STRANGER = "obey-the-stranger";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  mkdirSync(join(sidecar.reposDir, "shop"));
});
afterAll(() => sidecar.close());

async function open(threadId: string, said = "first words"): Promise<string> {
  const command = script("go", { text: said });
  await sidecar.client.createThread({ threadId, type: "agent", dir: "shop", command });
  await untilStatus(sidecar, threadId, "idle");
  return threadId;
}

/** As a job's check does. */
async function mark(threadId: string): Promise<void> {
  const text = script("look", { text: `it says ${STRANGER}` });
  const jobs = new VmJobs(sidecar.client);
  const name = `look-${threadId}`.slice(0, 40);
  const what = { type: "input" as const, threadId, text };
  await jobs.create({ name, when: { type: "every", seconds: 3_600 }, what, check: `echo ${STRANGER}` });
  await jobs.run(name);
  await untilValue(
    "its answer",
    () => transcriptOf(sidecar, threadId),
    (events) => events.filter(({ type }) => type === "turn_end").length >= 2,
  );
  await untilStatus(sidecar, threadId, "idle");
}

const isMark = (event: ThreadEvent) => event.type === "control" && event.op === "mark";
const findMark = async (threadId: string) => (await transcriptOf(sidecar, threadId)).find(isMark);
const marked = (threadId: string) =>
  untilValue(
    `the mark of ${threadId}`,
    () => transcriptOf(sidecar, threadId),
    (events) => events.some(isMark),
  );
const spawn = async (threadId: string, callId: string) => {
  const input = { prompt: script("work", { text: "done" }), mode: "async", title: `${STRANGER} ${callId}` };
  const said = await callTool(sidecar, { threadId, name: "spawn_thread", callId, input });
  const [, child = ""] = /Started (child-\w+)/.exec(said) ?? [];
  expect(child, said).not.toBe("");
  await untilStatus(sidecar, child, "idle");
  return child;
};

test("a reader is marked before it gets a word; what others see of a marked thread has none of its words", async () => {
  const parent = await open("reader");
  const child = await spawn(parent, "one");
  expect(await callTool(sidecar, { threadId: parent, name: "list_threads" })).toContain(STRANGER);
  await mark(child);
  const listed = await callTool(sidecar, { threadId: parent, name: "list_threads" });
  expect(listed).toContain("it has read text from outside");
  expect(listed).not.toContain(STRANGER);
  expect(
    await callTool(sidecar, { threadId: parent, name: "thread_status", input: { threadId: child } }),
  ).not.toContain(STRANGER);
  expect(await findMark(parent)).toBeUndefined();
  const text = await callTool(sidecar, {
    threadId: parent,
    name: "read_transcript",
    input: { threadId: child },
  });
  expect(text).toContain(STRANGER);
  expect(await findMark(parent)).toMatchObject({
    by: `thread:${child}`,
    why: expect.stringContaining(`the check of`),
  });
});

test("children and branches of a marked thread begin marked, receivers of its messages are marked", async () => {
  const parent = await open("source");
  const older = await spawn(parent, "older");
  await mark(parent);
  const younger = await spawn(parent, "younger");
  const [first] = (await marked(younger)).filter((event) => isMark(event) || event.type === "user_message");
  expect(first).toMatchObject({
    op: "mark",
    why: expect.stringMatching(/^text of thread source, which has read the check/),
  });
  expect(await findMark(older)).toBeUndefined();
  const sent = await callTool(sidecar, {
    ...{ threadId: parent, name: "message", callId: "m1" },
    input: { threadId: older, text: "look at this" },
  });
  expect(sent).toMatch(/^Sent to/);
  const events = (await marked(older)).filter((event) => isMark(event) || event.type === "user_message");
  expect(events.map(({ type }) => type).slice(-2)).toEqual(["control", "user_message"]);

  await sidecar.client.branchThread(parent, { threadId: "tainted", lockParent: false });
  await sidecar.client.sendInput("tainted", { text: script("on", { text: "ok" }) });
  await marked("tainted");
});

test("begun anew without it, a branch knows what was said before, and no word of it; a person trusts what is read", async () => {
  const cli = await buildCli(sidecar);
  const thread = await open("old", "the words before");
  const refused = await cli.call(["branch", thread, "--before-outside"]);
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("has read no text from outside"),
  });
  await mark(thread);
  const anew = (await cli.ok("branch", thread, "--before-outside")).trim();
  await sidecar.client.sendInput(anew, { text: script("on", { text: "ok" }) });
  await untilValue(
    "its turn",
    () => transcriptOf(sidecar, anew),
    (events) => events.some(({ type }) => type === "turn_end"),
  );
  expect(await findMark(anew)).toBeUndefined();
  const { origin } = await sidecar.client.getThread(anew);
  const seq = (await findMark(thread))?.seq ?? 0;
  expect(origin?.seq).toBeLessThan(seq);

  await cli.ok("trust", thread);
  await untilValue(
    "that it is trusted",
    () => transcriptOf(sidecar, thread),
    (events) => events.some((event) => event.type === "control" && event.op === "unmark"),
  );
  expect((await cli.call(["branch", thread, "--before-outside", "--at", "1"])).stderr).toMatch(
    /--before-outside/,
  );
});
