/** A thread's limits as people meet them: in Discord, from a shell, over HTTP; with the real relay, sidecar and runner. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agentTalk, bash } from "../support/agent-talk.ts";
import { BYPASS_CONFIG, script, transcriptOf, untilStatus, wordsOf } from "../support/agents.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { refusal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let all: Everything;
const { open, messages, untilMessage, press, now } = agentTalk(() => all);
beforeAll(async () => {
  all = await startEverything({ isQuick: true, vm: BYPASS_CONFIG });
});
afterAll(() => all?.close());

const use = async (name: string, options: Record<string, string | number>, channel: string) =>
  (await all.discord.driver.command(all.you, channel, name, options).reply()).content;
const labels = (message: Parameters<typeof now>[0]) => now(message).buttons.map(({ label }) => label);

test("a thread that has reached its limit asks its starter, and a button lets it go on", async () => {
  const threadId = await open("Hello", { text: "Hi." });
  await untilMessage(threadId, "Hi.");
  await untilStatus(all.sidecar, threadId, "idle");
  expect(await use("thread limit", { turns: 1 }, threadId)).toContain("may use up, in all: 1 turn.");
  all.discord.driver.post(all.you, threadId, script("More", { text: "Much more." }));
  const asked = await untilMessage(threadId, "⏳ **The thread has reached its limit of 1 turn");
  expect(asked.content).toContain(`<@${all.you}>`);
  expect(asked.content).toContain("-# Used so far: 1 turn.");
  expect(asked.content).not.toContain("```");
  expect(labels(asked)).toEqual(["Continue with 1 turn more", "Stop here"]);
  const items = await all.sidecar.client.listInbox();
  expect(items).toMatchObject([
    { kind: "permission", threadId, text: expect.stringContaining("limit of 1") },
  ]);
  expect(messages(threadId).some(({ content }) => content.includes("Much more."))).toBe(false);
  press(asked, "Continue with 1 turn more");
  await untilMessage(threadId, "Much more.");
  await untilMessage(threadId, `-# ✓ Continue with 1 turn more by <@${all.you}>`);
  await untilStatus(all.sidecar, threadId, "idle");

  expect(await use("thread limit", { turns: 0, usd: 2.5 }, threadId)).toContain(
    "may use up, in all: no limit of turns, $2.50.",
  );
  all.discord.driver.post(all.you, threadId, script("Again", { text: "Once again." }));
  await untilMessage(threadId, "Once again.");
  expect(await use("thread limit", {}, threadId)).toContain(
    "choose at least one of turns, calls, tokens, usd, seconds",
  );
});

test("limits of a new thread hold from its first turn; stopped at one, it rests", async () => {
  const { client, reposDir } = all.sidecar;
  mkdirSync(join(reposDir, "new"));
  const call = { inputTokens: 10_000, outputTokens: 500 };
  const prompt = script(
    "Work",
    { ...bash("true"), ...call },
    { ...bash("true"), ...call },
    { text: "Done.", ...call },
  );
  const agent = { limits: { spendUsd: 0.06 }, permissionMode: "bypassPermissions" };
  const made = {
    threadId: "new",
    type: "agent",
    dir: "new",
    command: prompt,
    agent,
  } as const;
  await client.createThread(made);
  const ask = await until("an ask", async () => (await client.listAsks("new"))[0]);
  expect(ask).toMatchObject({ request: { limit: { name: "spendUsd", allowed: 0.06, used: 0.1 } } });
  await client.answerAsk("new", ask.requestId, { optionId: "stop" });
  await untilStatus(all.sidecar, "new", "idle");
  expect(await wordsOf(all.sidecar, "new")).toEqual([]);
  const calls = (await transcriptOf(all.sidecar, "new")).filter(({ type }) => type === "step_end");
  expect(calls).toHaveLength(2);
});

test("/agent takes limits, and none that is no limit", async () => {
  const options = { dir: "new", prompt: script("Work", { ...bash("true") }, { text: "Too far." }) };
  const { channelId } = all.discord;
  expect(await use("agent", { ...options, turns: 0 }, channelId)).toContain(
    "agent.limits.turns: must be more than 0",
  );
  const reply = await use("agent", { ...options, turns: 2, usd: 0.5 }, channelId);
  const threadId = /<#(\d+)>/.exec(reply)?.[1] ?? "";
  const start = await until("its start", async () => (await transcriptOf(all.sidecar, threadId))[0]);
  expect(start).toMatchObject({ type: "thread_start", config: { limits: { turns: 2, spendUsd: 0.5 } } });
});

test("at the provider's limit a button lets the turn go on when it resets", async () => {
  const limit = { resetsInSeconds: 4 };
  const threadId = await open("Work", { error: { status: 429, limit } }, { text: "After it." });
  const asked = await untilMessage(threadId, "⏳ **You've hit your 5-hour limit**");
  expect(asked.content).toMatch(/-# It resets <t:\d+:R>\./);
  expect(labels(asked)).toEqual([expect.stringMatching(/^Go on at \d\d:\d\d$/), "Go on now", "Stop here"]);
  press(asked, labels(asked)[0] ?? "");
  await untilMessage(threadId, "-# ✓ Go on at");
  await untilMessage(threadId, "After it.");
});

test("limits that are none are refused by name", async () => {
  const { client } = all.sidecar;
  const create = (limits: object) =>
    refusal(
      client.createThread({
        threadId: "bad",
        type: "agent",
        dir: ".",
        command: "x",
        agent: { limits },
      }),
    );
  for (const [limits, field] of [
    [{ turns: 0 }, "agent.limits.turns"],
    [{ tokens: 1.5 }, "agent.limits.tokens"],
    [{ spendUsd: -1 }, "agent.limits.spendUsd"],
    [{ seconds: "long" }, "agent.limits.seconds"],
  ] as const) {
    const error = await create(limits);
    expect(error).toMatchObject({ code: "invalid_request" });
    expect(error.message).toContain(field);
  }
  const limit = (limits: object) => refusal(client.controlAgent("new", { control: "limit", limits }));
  expect((await limit({})).message).toContain(
    "limits: name at least one of turns, calls, tokens, spendUsd, seconds.",
  );
  expect((await limit({ turns: -1 })).message).toContain("limits.turns: ");
  expect((await limit({ dollars: 3 })).message).toContain("dollars");
});
