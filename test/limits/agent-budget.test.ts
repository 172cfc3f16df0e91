/** Children of a thread that has limits: what they use counts for it, and all together stay within it. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import { foldEvents } from "../../shared/agent/fold.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { usedOf } from "../../shared/agent/limits.ts";
import { STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { callTool } from "../support/mcp.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
});
afterAll(() => sidecar?.close());

/** Costs 5 cents, a call of the model. */
const CALL = { inputTokens: 10_000, outputTokens: 500 };
const says = (...rounds: Round[]) => script("Work", ...rounds.map((round) => ({ ...round, ...CALL })));

async function open(threadId: string, limits: object, prompt: string): Promise<void> {
  mkdirSync(join(sidecar.reposDir, threadId), { recursive: true });
  await sidecar.client.createThread({
    ...{ threadId, type: "agent", dir: threadId, command: prompt },
    agent: { limits },
  });
}

const foldOf = async (threadId: string): Promise<ThreadFold> =>
  foldEvents(await transcriptOf(sidecar, threadId));
const used = async (threadId: string) => usedOf(await foldOf(threadId), Date.now());
const spawn = (threadId: string, callId: string, more: object = {}) =>
  callTool(sidecar, {
    threadId,
    name: "spawn_thread",
    input: { prompt: says({ text: "Done." }), mode: "async", ...more },
    callId,
  });
const childrenOf = async (parentId: string) =>
  (await sidecar.client.listThreads({})).filter((thread) => thread.parentId === parentId);

test("what an awaited child uses counts for its parent, which asks at its limit; the rest is given back", async () => {
  const part = { name: "mcp__threadmux__spawn_thread", input: { prompt: says({ text: "Part." }) } };
  const prompt = says({ tools: [part] }, { tools: [part] }, { text: "Whole." });
  await open("parent", { spendUsd: 0.19, turns: 20 }, prompt);
  await untilStatus(sidecar, "parent", "waiting");
  // Two calls of its own, and one of each child; the next one of its own would be beyond the limit.
  const [ask] = await sidecar.client.listAsks("parent");
  expect(ask?.request).toMatchObject({ limit: { name: "spendUsd", allowed: 0.19 } });
  expect(await used("parent")).toMatchObject({ turns: 3 });
  expect((await used("parent")).spendUsd).toBeCloseTo(0.2, 6);
  await sidecar.client.answerAsk("parent", ask?.requestId ?? "", { optionId: "more" });
  await untilStatus(sidecar, "parent", "idle");
  expect((await used("parent")).spendUsd).toBeCloseTo(0.25, 6);
  // What is its parent's again it may not use as well.
  const [child] = await childrenOf("parent");
  const childId = child?.threadId ?? "";
  await sidecar.client.sendInput(childId, { text: says({ text: "More." }) });
  const limitAsk = await until("its ask", async () => (await sidecar.client.listAsks(childId))[0]);
  expect(limitAsk.request).toMatchObject({ toolName: "Limit" });
});

test("seconds of parent and children add up, once over a restart; what a child has left is its parent's again", async () => {
  await open("slow", { seconds: 1_000 }, says({ text: "Hello." }));
  await untilStatus(sidecar, "slow", "idle");
  const prompt = says(
    { tools: [{ name: "Bash", input: { command: "ls" } }] },
    { text: "Done.", delayMs: 300 },
  );
  expect(await spawn("slow", "1", { prompt })).toContain("Started");
  expect(await spawn("slow", "2", { limits: { seconds: 999 } })).toContain("limits.seconds: this thread has");
  const [child] = await childrenOf("slow");
  const childId = child?.threadId ?? "";
  const given = await until("its limits", async () => (await foldOf(childId)).limits.seconds?.allowed);
  expect(given).toBeGreaterThan(400);
  expect(given).toBeLessThanOrEqual(500);
  const own = async () => (await foldOf("slow")).clock.ms / 1_000;
  await until("its part to be set aside", async () => (await used("slow")).seconds >= given);
  await untilStatus(sidecar, childId, "idle");
  for (const restart of [false, true, false]) {
    if (restart) await sidecar.restart();
    await callTool(sidecar, { threadId: "slow", name: "wait_thread", input: { threadId: childId } });
  }
  const ofChild = (await used(childId)).seconds;
  expect(ofChild).toBeGreaterThan(0.3);
  await until("its end to be told", async () => (await foldOf("slow")).children.length === 0);
  expect((await used("slow")).seconds).toBeCloseTo((await own()) + ofChild, 6);
  await until(
    "its limit",
    async () => (await foldOf(childId)).limits.seconds?.allowed === Math.ceil(ofChild),
  );
  expect(await spawn("slow", "3", { limits: { seconds: 900 } })).toContain("Started");
});

// Promise: S29
test("children that begin at once share what is left, also over a restart; more than that is refused", async () => {
  await open("many", { tokens: 100_000, turns: 5 }, says({ text: "Hello." }));
  await untilStatus(sidecar, "many", "idle");
  const said = await Promise.all(["1", "2", "1", "3"].map((callId) => spawn("many", callId)));
  expect(said.filter((text) => text.startsWith("Started"))).toHaveLength(4);
  await sidecar.restart();
  expect(await spawn("many", "4")).toContain("limits.turns: this thread has 0 turns left that no child has");
  const children = await childrenOf("many");
  expect(children).toHaveLength(3);
  expect((await used("many")).tokens).toBeLessThanOrEqual(100_000);
  for (const { threadId } of children) await untilStatus(sidecar, threadId, "idle");
  const limits = await Promise.all(
    children.map(async ({ threadId }) => (await foldOf(threadId)).limits.turns?.allowed ?? 0),
  );
  expect(limits.sort()).toEqual([1, 1, 2]);
  const told = await Promise.all(
    children.map(({ threadId }) =>
      callTool(sidecar, { threadId: "many", name: "wait_thread", input: { threadId } }),
    ),
  );
  expect(told.every((text) => text.includes("Done."))).toBe(true);
  expect(await spawn("many", "5", { limits: { tokens: 90_000 } })).toContain(
    "limits.tokens: this thread has",
  );
  expect(await spawn("many", "6", { limits: { tokens: 20_000, turns: 1 } })).toContain("Started");
  // Its own one, one of each of the three that have ended, and the one that was given away.
  await until("all of its turns to be counted", async () => (await used("many")).turns === 5);
  expect(await spawn("many", "7")).toContain("limits.turns");
});

test("a child that a person ends gives back what it has not used", async () => {
  await open("ended", { turns: 5 }, says({ text: "Hello." }));
  await untilStatus(sidecar, "ended", "idle");
  expect(await spawn("ended", "first", { limits: { turns: 4 } })).toContain("Started");
  const [child] = await childrenOf("ended");
  await untilStatus(sidecar, child?.threadId ?? "", "idle");
  await sidecar.client.killThread(child?.threadId ?? "");
  await until("its parent to be told", async () => (await used("ended")).turns === 2);
  expect(await spawn("ended", "second", { limits: { turns: 3 } })).toContain("Started");
});
