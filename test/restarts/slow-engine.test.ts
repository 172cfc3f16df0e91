/**
 * Engines that take seconds to come back after a kill: as long as the program sleeps. No time that the runner waits may
 * stand for "it has nothing left to do". The cases run side by side, since they mostly wait.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { statusOf } from "../../shared/agent/fold.ts";
import { type AgentThread, bash, openThreads, says } from "../support/agent-threads.ts";
import { inFull } from "../support/faults.ts";
import { signal } from "../support/processes.ts";
import { until } from "../support/wait.ts";

const open = openThreads();

/** The stand-in opens so many seconds late whenever it resumes a conversation. */
const late = (seconds: number) => ({ THREADMUX_DEMO_OPEN_MS: String(seconds * 1_000) });

function killEngine(thread: AgentThread): void {
  signal(thread.enginePid(), "SIGKILL");
}

const cases = [
  ...[0, 3, 8].map((openSeconds) => ({ openSeconds, takeUpMs: 0 })),
  { openSeconds: 0, takeUpMs: 7_000 },
  ...inFull([{ openSeconds: 30, takeUpMs: 0 }], []),
];

test("what a person decided while the engine was away reaches the call that asked, however slow it is", async () => {
  await Promise.all(
    cases.map(async ({ openSeconds, takeUpMs }) => {
      const thread = open({ env: { ...late(openSeconds), THREADMUX_DEMO_TAKE_UP_MS: String(takeUpMs) } });
      thread.write(says("make", { text: "Making.", tools: [bash("mkdir made")] }, { text: "made it" }));
      thread.start();
      const { requestId } = await thread.event("permission_request");
      killEngine(thread);
      await thread.ended();
      thread.answer(requestId, "once");
      thread.start();
      const what = `opens after ${openSeconds} s, takes up after ${takeUpMs} ms`;
      await until(`idle: ${what}`, () => statusOf(thread.fold()) === "idle", { timeoutMs: 60_000 });
      expect(existsSync(join(thread.dir, "made")), what).toBe(true);
      expect(thread.of("agent_message").at(-1)?.text, what).toBe("made it");
      // The turn that was cut off, and the one that took it up: no end in between that nobody came to.
      expect(
        thread.of("turn_start").map(({ cause }) => cause),
        what,
      ).toEqual(["message", "resume"]);
      expect(
        thread.of("turn_end").filter(({ stopReason }) => stopReason === "end_turn"),
        what,
      ).toHaveLength(1);
      // The model calls again after a kill: that ask takes the decision that stands, and nobody is asked twice.
      const decided = thread.of("permission_response").map((one) => [one.optionId, one.outcome]);
      expect(new Set(decided.map(String)), what).toEqual(new Set(["once,selected"]));
    }),
  );
});

test("a turn that had ended, but whose end was cut off, is over once the slow engine says so", async () => {
  const thread = open({ env: late(3) });
  thread.write(says("hi", { text: "Hello." }));
  thread.start();
  // The model's words are saved; the runner dies with the engine before it has read that the turn is over.
  await until("the words to be saved", () => thread.saved().includes('"text":"Hello."'));
  thread.killRunner();
  killEngine(thread);
  await thread.runnerDied();
  thread.start();
  await until("idle", () => statusOf(thread.fold()) === "idle", { timeoutMs: 60_000 });
  expect(thread.saved().split('"text":"Hello."')).toHaveLength(2);
  expect(thread.fold().deliveries).toEqual([]);
});
