/** The runner with the real program and the loopback model: kill -9 at random moments. */
import { expect, test } from "vitest";
import { seededRandom } from "../../shared/random.ts";
import { findFaults, runChaos } from "../support/agent-chaos.ts";
import { inFull } from "../support/faults.ts";
import { realThreads } from "./real-threads.ts";

const real = realThreads();

test.each([
  ["runner", ["runner"], 11],
  ["engine", ["engine"], 12],
  ["both", ["both"], 13],
  ["any", ["runner", "engine", "both"], 14],
] as const)(
  "kill -9 of %s: each message in the model's context once, no effect twice, nothing left",
  { timeout: 300_000 },
  async (_, victims, seed) => {
    const thread = real.open({ timeouts: { idleSeconds: 2 } });
    const kills = inFull(20, 6);
    // The real program takes an answer of a megabyte for a failed one: no model may answer so much.
    const random = seededRandom(seed);
    const report = await runChaos({ thread, victims, kills, random, fileBytes: 100_000 });
    const faults = findFaults(thread, report);
    for (const name of report.messages) {
      const times = real.model.timesInContext(`please ${name}.`);
      if (times !== 1) faults.push(`the model has ${name} ${times} times`);
    }
    expect(faults).toEqual([]);
    await thread.ended();
    expect(thread.engineProcesses()).toEqual([]);
  },
);
