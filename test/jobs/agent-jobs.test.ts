/** An agent wakes itself, or a child, at a later time: once for each call, within bounds, and not from within a run. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { VmJobs } from "../../relay/sidecar/jobs.ts";
import { STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { callTool } from "../support/mcp.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { untilValue } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  mkdirSync(join(sidecar.reposDir, "shop"));
});
afterAll(() => sidecar.close());

async function open(threadId: string): Promise<string> {
  const command = script("go", { text: "ok" });
  await sidecar.client.createThread({ threadId, type: "agent", dir: "shop", command });
  await untilStatus(sidecar, threadId, "idle");
  return threadId;
}
const use = (threadId: string, name: string, input: object, callId = "c") =>
  callTool(sidecar, { threadId, name, input, callId });
const list = () => new VmJobs(sidecar.client).list();

test("it wakes itself: its words come back as the job's, and people see the job in its thread", async () => {
  const thread = await open("early");
  const text = script("now", { text: "awake" });
  expect(await use(thread, "job_add", { name: "wake", when: "in 2s", text })).toMatch(/^wake: active, next /);
  expect(await use(thread, "job_add", { name: "wake", when: "in 2s", text })).toMatch(/^wake: /);
  expect(await list()).toMatchObject([
    { name: "wake", createdBy: "thread:early", limits: { spendUsdPerDay: 5 } },
  ]);
  const events = await untilValue(
    "its words",
    () => transcriptOf(sidecar, thread),
    (all) => all.some((event) => event.type === "user_message" && event.source === "job:wake"),
  );
  expect(events.filter((event) => event.type === "user_message")).toHaveLength(2);
  expect(JSON.stringify(events)).toContain("⏰ Made the job wake: ");
  expect(await use(thread, "job_list", {})).toMatch(/^wake: over/);
  // A job that is over stands in the way of no other one of its name.
  expect(await use(thread, "job_add", { name: "wake", when: "in 5h", text })).toMatch(/^wake: active, next /);
  expect(await use(thread, "job_add", { name: "wake", when: "in 6h", text })).toMatch(/its time stays/);
  expect(await use(thread, "job_remove", { name: "wake" })).toBe("Removed wake.");
  expect(await use(thread, "job_list", {})).toBe("You have made no job.");
});

test("what is out of its bounds is refused in words: others' threads and jobs, too often, too many", async () => {
  const [thread, other] = [await open("bound"), await open("other")];
  const add = (input: object) => use(thread, "job_add", { name: "x", when: "in 5h", text: "hi", ...input });
  expect(await add({ threadId: other })).toMatch(/You have no child "?other/);
  expect(await add({ when: "every 10m" })).toMatch(/every 15 minutes at most/);
  expect(await add({ when: "*/5 9 * * *" })).toMatch(/every 15 minutes at most/);
  expect(await add({ when: "yesterday" })).toMatch(/when/);
  expect(await add({ name: "No" })).toMatch(/must begin with a letter/);
  expect(await add({ check: "rm -rf /" })).toMatch(/check/);
  await new VmJobs(sidecar.client).create({
    name: "hers",
    when: { type: "every", seconds: 3_600 },
    what: { type: "command", dir: "shop", command: "true" },
  });
  expect(await use(thread, "job_remove", { name: "hers" })).toMatch(/You have made no job "hers"/);
  expect(await add({ name: "hers" })).toMatch(/there is a job hers/);
  for (let at = 0; at < 20; at++) expect(await add({ name: `j${at}` })).toMatch(/^j\d+: active/);
  expect(await add({ name: "more" })).toMatch(/You have 20 jobs/);
});

test("a run makes no jobs, and neither does a thread that has read text from outside", async () => {
  const thread = await open("runner");
  const gate = join(sidecar.reposDir, "never");
  const jobs = new VmJobs(sidecar.client);
  const what = {
    type: "input" as const,
    threadId: thread,
    text: script("work", { text: "x", waitFor: gate }),
  };
  await jobs.create({ name: "work", when: { type: "every", seconds: 3_600 }, what, check: "echo hi" });
  await jobs.run("work");
  await untilStatus(sidecar, thread, "running");
  const add = () => use(thread, "job_add", { name: "again", when: "in 5h", text: "hi" });
  expect(await add()).toMatch(/a run makes no jobs/);
  const spawn = { prompt: script("help", { text: "done" }), mode: "async", title: "a part" };
  const [, child = ""] = /Started (child-\w+)/.exec(await use(thread, "spawn_thread", spawn, "s")) ?? [];
  await untilStatus(sidecar, child, "idle");
  expect(await use(child, "job_add", { name: "round", when: "in 5h", text: "hi" })).toMatch(
    /a run makes no jobs/,
  );
  await sidecar.client.controlAgent(thread, { control: "interrupt" });
  await untilValue(
    "its end",
    () => jobs.listRuns("work", 1),
    ([run]) => run !== undefined && run.endedAt !== null,
  );
  expect(await add()).toMatch(/have read text from outside \(the check of the job work\)/);
});

test("its input into a child that may do more waits until a person lets it in", async () => {
  const thread = await open("narrow");
  const spawn = { prompt: script("help", { text: "done" }), mode: "async", title: "a part" };
  const [, child = ""] = /Started (child-\w+)/.exec(await use(thread, "spawn_thread", spawn, "s")) ?? [];
  await untilStatus(sidecar, child, "idle");
  await sidecar.client.controlAgent(child, { control: "mode", modeId: "acceptEdits" });
  await untilValue(
    "its wider mode",
    () => transcriptOf(sidecar, child),
    (events) => events.some((event) => event.type === "control" && event.op === "mode"),
  );
  const input = { name: "nudge", when: "in 1s", text: script("go on", { text: "yes" }), threadId: child };
  expect(await use(thread, "job_add", input)).toMatch(/^nudge: active/);
  const events = await untilValue(
    "the question",
    () => transcriptOf(sidecar, child),
    (all) => all.some((event) => event.type === "permission_request"),
  );
  const asked = events.find((event) => event.type === "permission_request");
  expect(asked).toMatchObject({ title: "Read a message of job:nudge", heldMessageId: expect.any(String) });
  const wasRead = events.some(
    (event) => event.type === "delivery" && JSON.stringify(event).includes("nudge"),
  );
  expect(wasRead).toBe(false);
});
