/** What all agents together may spend a day: it holds over threads, restarts and a sidecar that is away. */
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { BYPASS_CONFIG, script, transcriptOf, untilStatus, wordsOf } from "../support/agents.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

const CALL = { inputTokens: 10_000, outputTokens: 500 };
const CALL_USD = 0.05;
const CAP = 0.22;
const THREADS = ["a", "b", "c"];

let sidecar: TestSidecar;
beforeEach(async () => {
  sidecar = await startSidecar({ ...BYPASS_CONFIG, spendLimitUsdPerDay: CAP });
});
afterEach(() => sidecar?.close());

async function open(threadId: string): Promise<void> {
  mkdirSync(join(sidecar.reposDir, threadId));
  // More than the limit for each alone: none can be done before it asks.
  const work = [1, 2, 3, 4, 5].map((i) => ({
    tools: [{ name: "Bash", input: { command: `echo ${i} >> ran` } }],
    ...CALL,
  }));
  await sidecar.client.createThread({
    threadId,
    type: "agent",
    dir: threadId,
    command: script("Work", ...work, { text: `Done ${threadId}.`, ...CALL }),
    agent: { permissionMode: "bypassPermissions" },
  });
}

const askOf = (threadId: string) =>
  until(`${threadId} to ask`, async () => (await sidecar.client.listAsks(threadId))[0]);
const callsOf = async (threadId: string) =>
  (await transcriptOf(sidecar, threadId)).filter(({ type }) => type === "step_end").length;

/** As the runners have written it down. */
function spentToday(): number {
  const root = join(sidecar.stateDir, "spend");
  const folder = join(root, readdirSync(root).sort().at(-1) ?? "");
  const files = readdirSync(folder).filter((name) => name.startsWith("thread-") && name.endsWith(".json"));
  return files.reduce((sum, name) => sum + JSON.parse(readFileSync(join(folder, name), "utf8")).spentUsd, 0);
}

test("all threads stop at the day's limit, a new one begins nothing, and one answer lets all go on", async () => {
  await Promise.all(THREADS.map(open));
  const asks = await Promise.all(THREADS.map(askOf));
  expect(asks[0]?.title).toBe(
    "All agents together have reached today's limit of $0.22. Continue with as much again, for all?",
  );
  const made = await Promise.all(THREADS.map(callsOf));
  const spent = CALL_USD * made.reduce((sum, count) => sum + count, 0);
  // Until its price is told a call is taken for a dear one, so they may stop a call early.
  expect(spent).toBeGreaterThan(CAP - CALL_USD);
  // However many threads there are: one call may cost more than what was left, and then no other runs.
  expect(spent).toBeLessThan(CAP + CALL_USD);

  expect(spentToday()).toBeCloseTo(spent, 9);

  await open("late");
  await askOf("late");
  expect(await callsOf("late")).toBe(0);
  await sidecar.client.answerAsk("late", (await askOf("late")).requestId, { optionId: "stop" });
  // Its message waits for the next one.
  await until("late to rest", async () => (await sidecar.client.getThread("late")).status === "idle");
  expect(await sidecar.client.listAsks()).toHaveLength(THREADS.length);

  const goOn = async () => {
    const [first] = await sidecar.client.listAsks();
    if (first) await sidecar.client.answerAsk(first.threadId, first.requestId, { optionId: "more" });
    const words = await Promise.all(THREADS.map((threadId) => wordsOf(sidecar, threadId)));
    return words.flat().length === THREADS.length;
  };
  const before = await sidecar.client.listAsks();
  await sidecar.client.answerAsk("a", asks[0]?.requestId ?? "", { optionId: "more" });
  await until("the same asks to be answered everywhere", async () => {
    const now = await sidecar.client.listAsks();
    return before.every(({ requestId }) => now.every((ask) => ask.requestId !== requestId));
  });
  await until("all to be done", goOn);
  await Promise.all(THREADS.map((threadId) => untilStatus(sidecar, threadId, "idle"))); // the last calls' ends, too
  const all = await Promise.all(THREADS.map(callsOf));
  expect(all).toEqual([6, 6, 6]);
});
