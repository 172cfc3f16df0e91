/**
 * A job's spending limit for a day: an agent that spends without an end exceeds it by one call of its model at most.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { VmJobs } from "../../relay/sidecar/jobs.ts";
import { BYPASS_CONFIG, script } from "../support/agents.ts";
import { inFull } from "../support/faults.ts";
import { MINUTE, makeClock } from "../support/jobs.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { untilValue } from "../support/wait.ts";

const clock = makeClock();
let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(BYPASS_CONFIG, { now: clock.now });
  mkdirSync(join(sidecar.reposDir, "shop"));
});
afterAll(() => sidecar.close());

const CALL = { tools: [{ name: "Bash", input: { command: "true" } }] };

function agent(calls: number) {
  const rounds = Array<typeof CALL>(calls).fill(CALL);
  const prompt = script("burn", ...rounds, { text: "done" });
  return {
    type: "agent" as const,
    dir: "shop",
    prompt,
    agent: { permissionMode: "bypassPermissions" },
  };
}

async function runOnce(name: string): Promise<number> {
  const jobs = new VmJobs(sidecar.client);
  const run = await jobs.run(name);
  const runs = await untilValue(
    `the end of ${run}`,
    () => jobs.listRuns(name, 500),
    (all) => all.find((one) => one.run === run)?.endedAt != null,
  );
  return runs.find((one) => one.run === run)?.costUsd ?? 0;
}

test("the cap of a day is passed by one call at most, over however many runs", {
  timeout: 120_000,
}, async () => {
  const jobs = new VmJobs(sidecar.client);
  const when = { type: "every" as const, seconds: 3_600 };
  await jobs.create({ name: "price", when, what: agent(1) });
  await jobs.create({ name: "dearer", when, what: agent(2) });
  // Each call is given more to read: the last one is the dearest.
  const shorterUsd = await runOnce("price");
  const callUsd = (await runOnce("dearer")) - shorterUsd;
  expect(callUsd).toBeGreaterThan(0);
  const capUsd = callUsd * inFull(40, 7);
  const limits = { spendUsd: null, seconds: null, calls: null, spendUsdPerDay: capUsd };
  await jobs.create({ name: "burn", when, what: agent(2), limits });
  let spentUsd = 0;
  for (let runs = 0; runs < 100; runs++) {
    const why = await runOnce("burn").then(
      (usd) => {
        spentUsd += usd;
        return undefined;
      },
      (error: Error) => error.message,
    );
    if (why === undefined) continue;
    expect(why).toMatch(/cap: its runs of today have cost/);
    break;
  }
  expect(spentUsd).toBeGreaterThanOrEqual(capUsd);
  expect(spentUsd).toBeLessThanOrEqual(capUsd + callUsd * 1.01);
  const [job] = (await jobs.list()).filter(({ name }) => name === "burn");
  expect(job?.spentTodayUsd).toBeCloseTo(spentUsd, 6);
});

const CAP_USD = 0.1;
/** The model of these runs calls a tool without an end, at this price for each answer. */
const BURN_TOKENS = inFull(50, 400);
const BURN_USD = BURN_TOKENS * 2e-5;

/** Lets a job come due each minute, as long as it has runs that begin, and some minutes more. */
async function runEachMinute(
  name: string,
  limits: object,
): Promise<{ spentUsd: number; statuses: string[] }> {
  const jobs = new VmJobs(sidecar.client);
  const round = { ...CALL, inputTokens: 0, outputTokens: BURN_TOKENS };
  const calls = Math.ceil((2 * CAP_USD) / BURN_USD);
  const prompt = script("burn", ...Array<typeof round>(calls).fill(round), { text: "done" });
  const what = { ...agent(1), prompt };
  await jobs.create({ name, when: { type: "every", seconds: 60 }, what, limits });
  const minutes = inFull(60, 6);
  for (let minute = 0; minute < minutes; minute++) {
    await clock.pass(sidecar.client, MINUTE);
    await untilValue(
      "its runs to be over",
      () => jobs.listRuns(name, 500),
      (runs) => runs.length > 0 && runs.every(({ endedAt }) => endedAt !== null),
    );
  }
  const runs = (await jobs.listRuns(name, 500)).toReversed();
  const statuses = runs.map(({ status, reason }) => `${status} ${reason?.replace(/ \$.*/, "")}`);
  return { spentUsd: runs.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0), statuses };
}

const toldOf = async (name: string) =>
  (await new VmJobs(sidecar.client).listUntold()).filter(({ job }) => job === name);

test("each minute, under a cap of $0.10: over by one call at most, and told once", {
  timeout: inFull(600_000, 60_000),
}, async () => {
  const none = { spendUsd: null, seconds: null, calls: null };
  const { spentUsd, statuses } = await runEachMinute("furnace", { ...none, spendUsdPerDay: CAP_USD });
  expect(spentUsd).toBeGreaterThanOrEqual(CAP_USD);
  expect(spentUsd).toBeLessThanOrEqual(CAP_USD + BURN_USD * 1.01);
  const [first, ...others] = statuses;
  expect(first).toBe("failed limit: spendUsd");
  expect(new Set(others)).toEqual(new Set(["skipped cap: its runs of today have cost"]));
  expect(await toldOf("furnace")).toMatchObject([{ kind: "cap" }]);
});

test("each minute, with runs that fail of one limit: paused after three, with one message", {
  timeout: inFull(600_000, 60_000),
}, async () => {
  const none = { seconds: null, calls: null };
  const limits = { ...none, spendUsd: CAP_USD / 5, spendUsdPerDay: CAP_USD };
  const { spentUsd, statuses } = await runEachMinute("stove", limits);
  expect(statuses).toEqual(Array(3).fill("failed limit: spendUsd"));
  expect(spentUsd).toBeLessThanOrEqual(3 * (CAP_USD / 5 + BURN_USD * 1.01));
  expect(await toldOf("stove")).toMatchObject([{ kind: "paused", text: expect.stringContaining("3 runs") }]);
  const job = (await new VmJobs(sidecar.client).list()).find(({ name }) => name === "stove");
  expect(job).toMatchObject({ state: "paused", next: [] });
});

test("inputs of two jobs into one thread are charged with their shares, and a waiting one with none of the turn before", async () => {
  const jobs = new VmJobs(sidecar.client);
  const gate = join(sidecar.reposDir, "gate-shares");
  const thread = "shared";
  const dollar = { inputTokens: 0, outputTokens: 50_000 };
  await sidecar.client.createThread({
    ...{ threadId: thread, type: "agent", dir: "shop" },
    command: script("go", { text: "ok", ...dollar, waitFor: gate }),
  });
  const what = (cost: object) => ({
    ...{ type: "input" as const, threadId: thread },
    text: script("look", { text: "seen", ...cost }),
  });
  const when = { type: "every" as const, seconds: 86_400 };
  const limits = { spendUsdPerDay: null };
  await jobs.create({ name: "dear", when, what: what(dollar), limits });
  await jobs.create({ name: "cheap", when, what: what({ inputTokens: 0, outputTokens: 50 }), limits });
  await jobs.run("dear");
  await jobs.run("cheap");
  writeFileSync(gate, "");
  const costs = async () =>
    Promise.all(["dear", "cheap"].map(async (name) => (await jobs.listRuns(name, 1))[0]));
  const runs = await untilValue("both ends", costs, (all) => all.every((run) => run?.endedAt != null));
  const [dear = 0, cheap = 0] = runs.map((run) => run?.costUsd ?? 0);
  expect(dear).toBeCloseTo(1, 2);
  expect(cheap).toBeCloseTo(0.001, 4);
});
