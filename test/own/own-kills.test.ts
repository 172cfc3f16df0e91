/**
 * The engine `own` under kill -9 of runner and engine at random moments, amid messages, asks and stops: each message is
 * in the model's context once, no command runs twice, and each request begins with the one before it, byte for byte.
 */
import { expect, test } from "vitest";
import { statusOf } from "../../shared/agent/fold.ts";
import { seededRandom } from "../../shared/random.ts";
import { findFaults, runChaos } from "../support/agent-chaos.ts";
import { openThreads } from "../support/agent-threads.ts";
import { inFull } from "../support/faults.ts";
import { bash, envOf, modelOfFile, ownOptions, prefixBreaks, WIRES } from "../support/own-agent.ts";
import { until } from "../support/wait.ts";

const openThread = openThreads();
const model = modelOfFile();

const VICTIMS = ["runner", "engine", "both"] as const;

test.each(WIRES.map((wire, at) => [wire, 21 + at] as const))(
  "over the wire format of %s",
  { timeout: 300_000 },
  async (wire, seed) => {
    const thread = openThread(ownOptions(envOf(wire, model.url), { timeouts: { idleSeconds: 1 } }));
    const [random, kills] = [seededRandom(seed), inFull(20, 5)];
    const report = await runChaos({ thread, victims: VICTIMS, kills, random, run: bash, stops: 0.2 });
    // A message whose turn was stopped before the model was called is in the next request.
    const turns = thread.of("turn_end").length;
    thread.write("what was said?");
    const answered = new Set<string>();
    await until("the last turn's end", () => {
      if (!thread.runner) thread.start();
      for (const { requestId } of thread.fold().asks) {
        if (!answered.has(requestId)) thread.answer(requestId, "once");
        answered.add(requestId);
      }
      return thread.of("turn_end").length > turns && statusOf(thread.fold()) === "idle";
    });
    const faults = findFaults(thread, report);
    for (const name of report.messages) {
      const times = model.timesInContext(`please ${name}.`);
      if (times !== 1) faults.push(`the model has ${name} ${times} times`);
    }
    expect(faults).toEqual([]);
    expect(prefixBreaks(model)).toEqual([]);
    expect(model.requests.length).toBeGreaterThan(report.messages.length / 2);
    await thread.ended();
    expect(thread.engineProcesses()).toEqual([]);
  },
);
