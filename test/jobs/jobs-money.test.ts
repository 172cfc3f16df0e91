/**
 * A job's spending limit for a day: an agent that spends without an end exceeds it by one call of its model at most.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { VmJobs } from "../../relay/sidecar/jobs.ts";
import { BYPASS_CONFIG, script } from "../support/agents.ts";
import { inFull } from "../support/faults.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { untilValue } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(BYPASS_CONFIG);
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
  const callUsd = (await runOnce("price")) / 2; // the call of the tool, and the words after it
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
