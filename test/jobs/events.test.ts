/** Jobs that events start, from outside: events of one thread are told to another, and no chain goes on for ever. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { VmJobs } from "../../relay/sidecar/jobs.ts";
import type { CreateRequest } from "../../shared/api.ts";
import { jobs } from "../../shared/protocol/jobs.ts";
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

async function open(threadId: string, agent?: CreateRequest["agent"]): Promise<string> {
  const command = script("go", { text: "ok" });
  await sidecar.client.createThread({ threadId, type: "agent", dir: "shop", command, agent });
  await untilStatus(sidecar, threadId, "idle");
  return threadId;
}

/** Writes into one thread when the turn of another one ends. */
const onEndOf = (name: string, of: string, to: string) =>
  new VmJobs(sidecar.client).create({
    name,
    when: { type: "event", events: ["turn_end"], threadId: of, everySeconds: 1 },
    what: { type: "input", threadId: to, text: script(`${of} has ended a turn`, { text: "seen" }) },
  });

const sourcesIn = async (threadId: string) =>
  (await transcriptOf(sidecar, threadId)).flatMap((event) =>
    event.type === "user_message" ? [event.source] : [],
  );

async function untilNews(job: string) {
  const { news } = await untilValue(
    `news of ${job}`,
    () => sidecar.client.call(jobs.listNews, {}),
    (reply) => reply.news.some((one) => one.job === job),
  );
  return news.filter((one) => one.job === job);
}

test("a job that writes to the thread whose end starts it runs once for each message of a person's", async () => {
  const thread = await open("own");
  await onEndOf("echo", thread, thread);
  await sidecar.client.sendInput(thread, { text: script("hello", { text: "ok" }) });
  expect(await untilNews("echo")).toMatchObject([
    { kind: "chain", text: "jobs have led to it (echo), so it is not started again" },
  ]);
  await untilStatus(sidecar, thread, "idle");
  expect(await sourcesIn(thread)).toEqual(["owner", "owner", "job:echo"]);
  const events = await transcriptOf(sidecar, thread);
  const told = JSON.stringify(events.filter((event) => event.type === "user_message").at(-1));
  expect(told).toContain("An event began this:");
  expect(told).toContain("stopReason=end_turn");
  expect(told).toContain('"causes":["echo"]');
  // A person's next message begins a new chain, and what is known already is not said again.
  await sidecar.client.sendInput(thread, { text: script("again", { text: "ok" }) });
  await untilValue(
    "its second run",
    () => sourcesIn(thread),
    (sources) => sources.length === 5,
  );
  await untilStatus(sidecar, thread, "idle");
  expect(await untilNews("echo")).toHaveLength(1);
});

test("a job that writes to an agent with a voice whose end starts it has three runs at most, also into a turn that goes on", async () => {
  const main = await open("main", { voice: "message" });
  await onEndOf("nudge", main, main);
  const gate = join(sidecar.reposDir, "gate");
  await sidecar.client.sendInput(main, { text: script("hello", { text: "ok" }) });
  // The job's input comes while a person's next turn runs, and is heard within it.
  await sidecar.client.sendInput(main, {
    text: script(
      "and",
      { tools: [{ name: "Read", input: { file_path: "x" } }], waitFor: gate },
      { text: "ok" },
    ),
  });
  await untilValue(
    "the job's input",
    () => sourcesIn(main),
    (sources) => sources.includes("job:nudge"),
  );
  writeFileSync(gate, "");
  expect(await untilNews("nudge")).toMatchObject([
    { kind: "chain", text: "jobs have led to it (nudge), so it is not started again" },
  ]);
  await untilStatus(sidecar, main, "idle");
  const runs = await untilValue(
    "its runs to be over",
    () => new VmJobs(sidecar.client).listRuns("nudge", 50),
    (all) => all.every(({ endedAt }) => endedAt !== null),
  );
  expect(runs.filter(({ status }) => status !== "skipped").length).toBeLessThanOrEqual(3);
  expect(runs.filter(({ status }) => status === "skipped")).toHaveLength(1);
  expect((await sourcesIn(main)).filter((source) => source.startsWith("job:")).length).toBe(
    runs.filter(({ status }) => status === "done").length,
  );
});

test("jobs in a ring: at most three runs, said once", async () => {
  const ring = await Promise.all(["one", "two", "three", "four"].map((thread) => open(thread)));
  for (const [at, thread] of ring.entries())
    await onEndOf(`to-${ring[(at + 1) % 4]}`, thread, ring[(at + 1) % 4] ?? "");
  await sidecar.client.sendInput("one", { text: script("hello", { text: "ok" }) });
  expect(await untilNews("to-one")).toMatchObject([
    { kind: "chain", text: "jobs have led to it (to-two → to-three → to-four), so it is not started again" },
  ]);
  const sources = await Promise.all(ring.map(sourcesIn));
  expect(sources.flat().filter((source) => source.startsWith("job:"))).toEqual([
    "job:to-two",
    "job:to-three",
    "job:to-four",
  ]);
});

test("an agent hears of its family alone", async () => {
  const thread = await open("parent");
  const other = await open("stranger");
  const use = (input: object) =>
    callTool(sidecar, {
      threadId: thread,
      name: "job_add",
      input: { name: "hear", text: script("look", { text: "seen" }), ...input },
      callId: "c",
    });
  expect(await use({ on: { events: ["turn_end"], threadId: other } })).toMatch(/no thread "?stranger/);
  expect(await use({ on: { events: ["turn_end"], threadId: thread } })).toMatch(/no thread "?parent/);
  expect(await use({})).toMatch(/^when, on: give one of them/);
  expect(await use({ when: "on turn_end" })).toMatch(/^when: is a time/);
  const spawn = { prompt: script("help", { text: "done" }), mode: "async", title: "a part" };
  const started = await callTool(sidecar, {
    threadId: thread,
    name: "spawn_thread",
    input: spawn,
    callId: "s",
  });
  const [, child = ""] = /Started (child-\w+)/.exec(started) ?? [];
  expect(await use({ on: { events: ["turn_end"], threadId: child, everySeconds: 10 } })).toMatch(
    /must be at least 60\s+→ at on\.everySeconds/,
  );
  expect(await use({ on: { events: ["nothing"], threadId: child } })).toMatch(/^on: must be the type/);
  expect(await use({ on: { events: ["turn_end"], threadId: child } })).toMatch(/^hear: active/);
});
