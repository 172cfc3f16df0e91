/** How a channel's agent is, over HTTP and at the command line: what it hears, does, costs and has not answered. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Vm } from "../../relay/sidecar/vm.ts";
import { STAND_IN_CONFIG, script, transcriptOf } from "../support/agents.ts";
import { callAs } from "../support/call-as.ts";
import { buildCli, type Cli } from "../support/cli.ts";
import { aDiscordId } from "../support/ids.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { refusal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

const id = (n: number) => aDiscordId(String(300_000_000_000_000_000n + BigInt(n)));
const [OPS, DEV, QUIET, ALICE, BOB] = [id(1), id(2), id(3), id(11), id(12)];
const LOOK = { name: "mcp__threadmux__job_list", input: {} };
const spawning = (prompt: string) => ({
  tools: [{ name: "mcp__threadmux__spawn_thread", input: { prompt, mode: "async" } }],
});
/** All that a thread's turns have cost. */
const costOf = async (threadId: string) =>
  (await transcriptOf(sidecar, threadId)).reduce(
    (sum, event) => sum + (event.type === "turn_end" ? (event.cost?.amount ?? 0) : 0),
    0,
  );
const DONE = { name: "mcp__threadmux__done", input: {} };

let sidecar: TestSidecar;
let cli: Cli;
let inputs = 100;
const voice = () => new Vm(sidecar.client).voice;
const write = async (channelId: string, text: string) => {
  const { threadId } = await new Vm(sidecar.as(ALICE)).voice.findMain(channelId);
  await sidecar.as(ALICE).sendInput(threadId, { text, channelId, inputId: id(++inputs) });
};
const untilStatus = (wanted: string) =>
  until(`the status ${wanted}`, async () => (await voice().getMain(OPS)).status === wanted);

beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  cli = await buildCli(sidecar);
  await sidecar.client.putPeople([{ id: ALICE, role: "maker", handle: "Alice" }]);
  await sidecar.client.putFixedChannels([
    { id: OPS, dir: ".", mode: "main" },
    { id: DEV, dir: ".", mode: "main" },
    { id: QUIET, dir: ".", mode: "off" },
  ]);
  const named = [
    [OPS, "ops"],
    [DEV, "dev"],
  ] as const;
  for (const [channel, name] of named)
    await new Vm(sidecar.client).channels.putPlace(channel, { name, problem: null });
  // Bob may look at one of the two channels.
  await new Vm(sidecar.client).people.setRole({ kind: "user", id: BOB, channelId: OPS, role: "viewer" });
});
afterAll(() => sidecar?.close());

const CHANNELS = [
  { id: OPS, name: "ops" },
  { id: DEV, name: "dev" },
];

test("before anybody has written it is not made, and asking makes nothing", async () => {
  const nobody = { threadId: null, number: null, status: null, doing: null, problem: null };
  expect(await voice().getMain(DEV)).toEqual({
    ...{ name: "main", channels: CHANNELS, dir: ".", ...nobody },
    ...{ openAsks: 0, costTodayUsd: 0, childrenTodayUsd: 0, waiting: 0, unansweredCount: 0, unanswered: [] },
  });
  expect(await sidecar.client.listThreads({})).toEqual([]);
  expect(await refusal(voice().getMain(QUIET))).toMatchObject({
    code: "unsupported",
    message: "mode: this channel is in mode off, so no agent hears it.",
  });
  expect(await refusal(voice().getMain(id(9)))).toMatchObject({ code: "not_found" });
  expect(await cli.ok("main", "status")).toMatch(/^thread +none yet/m);
  expect(await cli.call(["main", "pause"])).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("yet"),
  });
});

test("it tells what it hears, does, costs, and which messages have no answer; each reader of their channels", async () => {
  const [go, end] = [join(sidecar.reposDir, "go"), join(sidecar.reposDir, "end")];
  const rounds = [{ tools: [LOOK], waitFor: go }, { tools: [DONE], waitFor: end }, { text: "ok" }];
  await write(DEV, script("first", ...rounds));
  await untilStatus("running");
  await write(OPS, "second");
  const wanted = [
    { handle: "discord:#dev/alice", channelId: DEV, isRead: false },
    { handle: "discord:#ops/alice", channelId: OPS, isRead: false },
  ];
  await until("both messages", async () => (await voice().getMain(OPS)).unanswered.length === 2);
  const now = await voice().getMain(OPS);
  expect(now).toMatchObject({
    channels: CHANNELS,
    status: "running",
    unansweredCount: 2,
    unanswered: wanted,
  });
  expect(await voice().getMain(DEV)).toMatchObject({ threadId: now.threadId, name: "main" });
  // Who may read one of its channels is told no message of the other.
  const { status, text } = await callAs(sidecar, BOB, "GET", `/channel/${OPS}/main`);
  expect([status, JSON.parse(text)]).toMatchObject([200, { unansweredCount: 2, unanswered: [wanted[1]] }]);
  expect((await callAs(sidecar, BOB, "GET", `/channel/${DEV}/main`)).status).toBe(403);
  const shown = await cli.ok("main", "status", "--of", "#dev");
  expect(shown).toMatch(/^hears +#ops, #dev$/m);
  expect(shown).toMatch(/^ +discord:#ops\/alice \d\d:\d\d, not read yet$/m);
  writeFileSync(go, "");
  await until("both to be read", async () => {
    const { unanswered } = await voice().getMain(OPS);
    return unanswered.length === 2 && unanswered.every(({ isRead }) => isRead);
  });
  writeFileSync(end, "");
  await untilStatus("idle");
  const rest = await voice().getMain(OPS);
  expect(rest).toMatchObject({ unansweredCount: 0, unanswered: [], waiting: 0 });
  expect(rest.costTodayUsd).toBeGreaterThan(0);
});

test("what its children cost today is told beside what it costs itself", async () => {
  const child = script("Work", { text: "Done." });
  const grandchild = script("Split", spawning(child), { text: "ok" });
  await write(OPS, script("begin it", spawning(grandchild), { tools: [DONE] }, { text: "ok" }));
  const inside = await until("both to have cost something", async () => {
    const all = (await sidecar.client.listThreads({})).filter(({ threadId }) =>
      threadId.startsWith("child-"),
    );
    const costs = await Promise.all(all.map(({ threadId }) => costOf(threadId)));
    return all.length === 2 && costs.every((usd) => usd > 0) && costs.reduce((sum, usd) => sum + usd, 0);
  });
  await untilStatus("idle");
  const main = await until("its sum", async () => {
    const found = await voice().getMain(OPS);
    return Math.abs(found.childrenTodayUsd - inside) < 1e-9 && found;
  });
  const { threadId } = main;
  expect(main.costTodayUsd).toBeCloseTo(await costOf(threadId ?? ""));
  expect(await cli.ok("main", "status")).toMatch(/^children +\$\d+\.\d\d today$/m);
});

test("at the command line it is told something, held and let go on; an open ask is counted", async () => {
  const touch = { name: "Bash", input: { command: "touch made", description: "d" } };
  await cli.ok("main", "prompt", script("make it", { tools: [touch] }, { tools: [DONE] }, { text: "ok" }));
  await untilStatus("waiting");
  expect(await voice().getMain(OPS)).toMatchObject({ openAsks: 1 });
  expect(await cli.ok("main", "status")).toMatch(/^status +waiting$/m);
  await cli.ok("main", "pause", "--of", "main");
  await untilStatus("paused");
  expect(await cli.call(["main", "prompt", "hello"])).toMatchObject({
    code: 4,
    stderr: expect.stringContaining("paused"),
  });
  await cli.ok("main", "resume");
  await until("its going on", async () => (await voice().getMain(OPS)).status !== "paused");
  expect(await cli.call(["main", "status", "--of", "none"])).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('there is "main"'),
  });
});

test("a job reaches the agent by its name: made if it is not there, and whichever thread it has", async () => {
  const { jobs } = new Vm(sidecar.client);
  await sidecar.client.putFixedChannels([
    ...[OPS, DEV].map((channel) => ({ id: channel, dir: ".", mode: "main" as const })),
    { id: QUIET, dir: ".", mode: "main", agent: "night" },
  ]);
  const when = { type: "words" as const, words: "in 5h" };
  const into = (main: string, by = sidecar.client) =>
    new Vm(by).jobs.create({
      name: `to-${main}`,
      when,
      what: { type: "input", main, text: script("look", { tools: [DONE] }, { text: "ok" }) },
    });
  expect(await refusal(into("none"))).toMatchObject({
    code: "not_found",
    message: "what.main: no channel is heard by an agent none.",
  });
  const both = { type: "input" as const, main: "night", threadId: "x", text: "x" };
  expect(await refusal(jobs.create({ name: "both", when, what: both }))).toMatchObject({
    code: "invalid_request",
    message: expect.stringContaining("threadId or main"),
  });
  expect(await refusal(into("night", sidecar.as(BOB)))).toMatchObject({ code: "forbidden" });
  const added = ["--in", "5h", "--input", "look", "--main", "Not this"];
  expect(await cli.call(["job", "add", "bad", ...added])).toMatchObject({
    stderr: expect.stringContaining("--main: must be 1 to 32"),
  });

  await into("night");
  const run = async () => {
    await jobs.run("to-night");
    const newest = async () => (await jobs.listRuns("to-night", 1))[0];
    return until("the run's end", async () => {
      const found = await newest();
      return found && found.endedAt !== null ? found : undefined;
    });
  };
  const first = await run();
  expect(first).toMatchObject({ status: "done" });
  const { threadId } = await voice().getMain(QUIET);
  expect(first.threadId).toBe(threadId);
  const [input] = (await transcriptOf(sidecar, threadId ?? "")).filter(({ type }) => type === "user_message");
  expect(input).toMatchObject({ source: "job:to-night", handle: "job:to-night" });
  await sidecar.client.killThread(threadId ?? "");
  expect(await run()).toMatchObject({ status: "failed", reason: expect.stringContaining("thread_ended") });
});
