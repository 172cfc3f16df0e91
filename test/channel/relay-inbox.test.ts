/** What needs people: /inbox and the one message a person in the channel, also while the relay is killed. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import { STAND_IN, STAND_IN_CONFIG, script, standIn, untilStatus } from "../support/agents.ts";
import { makeFolder } from "../support/folders.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { bundleRelay, makeRelayProcess } from "../support/relay-process.ts";
import { until } from "../support/wait.ts";

let all: Everything;
const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(options: Parameters<typeof startEverything>[0] = {}): Promise<void> {
  all = await startEverything({ vm: STAND_IN_CONFIG, isQuick: true, ...options });
  closers.push(() => all.close());
}

const bash = (command: string): Round => ({ tools: [{ name: "Bash", input: { command } }] });

async function openAgent(userId: string, text: string, ...rounds: Round[]): Promise<string> {
  const { driver, channelId } = all.discord;
  const asked = driver.command(userId, channelId, "agent", { dir: ".", prompt: script(text, ...rounds) });
  return driver.until(() => /<#(\d+)>/.exec(asked.find()?.content ?? "")?.[1], {
    what: "the thread",
    timeoutMs: 60_000,
  });
}

/** The messages in the channel that say what this person is needed for. */
const needs = (userId: string) =>
  all.discord.driver
    .messages(all.discord.channelId)
    .filter(
      ({ content }) =>
        /^(📥 \*\*Needs|📭 Nothing needs) you/.test(content) && content.includes(`<@${userId}>`),
    );

const untilNeeds = (userId: string, expected: string | RegExp) =>
  until(
    `the message to say ${expected}`,
    () => {
      const [message, ...others] = needs(userId);
      expect(others).toEqual([]);
      const text = message?.content ?? "";
      return (typeof expected === "string" ? text.includes(expected) : expected.test(text)) && message;
    },
    { timeoutMs: 30_000 },
  );

async function answer(threadId: string): Promise<void> {
  const ask = await until("an ask", async () => (await all.sidecar.client.listAsks(threadId))[0]);
  await all.sidecar.as(all.you).answerAsk(threadId, ask.requestId, { optionId: "once" });
}

const inboxOf = async (userId: string) =>
  (await all.discord.driver.command(userId, all.discord.channelId, "inbox").reply()).content;

test("an ask stands in the person's message until it is answered, then the end, until the thread is over", async () => {
  await start();
  expect(await inboxOf(all.you)).toBe("📭 Nothing needs you.");
  const threadId = await openAgent(all.you, "Do it", bash("touch x"), { text: "Done." });
  const { number } = await all.sidecar.client.getThread(threadId);
  const message = await untilNeeds(all.you, `❓ **#${number}** <#${threadId}> asks: Bash touch x · <t:`);
  expect(message).toMatchObject({ isSilent: true, notified: [] });
  expect(await inboxOf(all.you)).toContain(`❓ **#${number}** <#${threadId}> asks: Bash touch x`);
  await answer(threadId);
  const later = await untilNeeds(all.you, `✅ **#${number}** <#${threadId}> has finished`);
  expect(later.id).toBe(message.id);
  expect(later.content).not.toContain("asks");
  await all.discord.driver.command(all.you, threadId, "done").reply();
  await until("the message to go", () => needs(all.you).length === 0, { timeoutMs: 60_000 });
  expect(await inboxOf(all.you)).toBe("📭 Nothing needs you.");
}, 120_000);

test("an agent that can't go on stands in the person's message and in /inbox until it goes on", async () => {
  const box = makeFolder();
  closers.push(() => box.remove());
  const program = join(box.path, "agent");
  const install = () => writeFileSync(program, `#!/bin/sh\nexec ${STAND_IN} "$@"\n`, { mode: 0o755 });
  install();
  await start({ vm: { ...STAND_IN_CONFIG, agent: { ...standIn({ idleSeconds: 1 }), program } } });
  const threadId = await openAgent(all.you, "Hi", { text: "Hello." });
  const isAtRest = async () => !(await all.sidecar.client.getThread(threadId)).processRunning;
  await until("the runner to be gone", isAtRest, { timeoutMs: 30_000 });
  rmSync(program);
  all.discord.driver.post(all.you, threadId, script("More", { text: "More done." }));
  const { number } = await all.sidecar.client.getThread(threadId);
  const line = `⚠️ **#${number}** <#${threadId}> can't go on: `;
  const message = await untilNeeds(all.you, line);
  expect(message).toMatchObject({ isSilent: true, notified: [] });
  expect(await inboxOf(all.you)).toContain(line);
  const failure = await until("the failure", () =>
    all.discord.driver.messages(threadId).find(({ content }) => content.includes("The agent can't go on.")),
  );
  expect(failure.buttons.map(({ label }) => label)).toEqual(["Go on", "Steps", "Done"]);
  install();
  all.discord.driver.press(all.you, failure.id, "go-on");
  const later = await untilNeeds(all.you, `✅ **#${number}** <#${threadId}> has finished`);
  expect(later.id).toBe(message.id);
  expect(later.content).not.toContain("can't go on");
  expect(await inboxOf(all.you)).not.toContain("can't go on");
}, 120_000);

test("two people: each has their own; a stranger has none, and a deleted message comes back with the next change", async () => {
  await start({ discord: { users: [{ name: "Mallory" }, { name: "Grace" }] } });
  const grace = all.discord.users.find(({ name }) => name === "Grace")?.id ?? "";
  await all.stopRelay();
  // As one who was allowed once: what she made is there, and she is nobody here any more.
  await all.sidecar.client.putPeople([{ id: all.stranger, role: "maker" }]);
  await all.sidecar.as(all.stranger).createThread({
    threadId: "1234567890123456789",
    type: "agent",
    dir: ".",
    command: script("Foreign", bash("touch foreign")),
  });
  all.relayConfig.allowedUserIds = new Set([all.you, grace]);
  await all.startRelay();
  const mine = await openAgent(all.you, "Mine", bash("touch mine"), { text: "Done." });
  const hers = await openAgent(grace, "Hers", bash("touch hers"), { text: "Done." });
  const first = await untilNeeds(all.you, `<#${mine}> asks`);
  expect((await untilNeeds(grace, `<#${hers}> asks`)).content).not.toContain(mine);
  expect(first.content).not.toContain(hers);
  expect(await inboxOf(all.stranger)).toContain("ALLOWED_USER_IDS");

  all.discord.driver.deleteMessage(all.you, all.discord.channelId, first.id);
  await answer(mine);
  await untilNeeds(all.you, `<#${mine}> has finished`);
  // She is needed as before: her message is the same, and nobody else's asks stand in it.
  expect(needs(grace)).toHaveLength(1);
  expect(needs(all.stranger)).toEqual([]);
});

test("the longest list fits, and the rest is counted", async () => {
  await start();
  const client = all.sidecar.as(all.you);
  for (let i = 0; i < 14; i++) {
    await client.createThread({
      threadId: `api-${i}`,
      type: "agent",
      dir: ".",
      title: `${"*_[`<@".repeat(20)}`,
      command: script("Do it", { text: "Done." }),
    });
  }
  for (let i = 0; i < 14; i++) await untilStatus(all.sidecar, `api-${i}`, "idle");
  const counted = await untilNeeds(all.you, /… and \d+ more; `\/inbox` shows them$/);
  expect(counted.content.length).toBeLessThanOrEqual(2_000);
  const asked = all.discord.driver.command(all.you, all.discord.channelId, "inbox");
  await asked.reply();
  const shown = await until("all of /inbox", () => {
    const texts = [asked.find(), ...asked.followUps()].map((message) => message?.content ?? "");
    return texts.join("\n").match(/✅/g)?.length === 14 && texts;
  });
  for (const text of shown) expect(text.length).toBeLessThanOrEqual(2_000);
}, 120_000);

test("kill -9 of the relay while asks open and close: one message, and right in the end", async () => {
  const program = await bundleRelay({ isQuick: true });
  closers.push(() => program.remove());
  await start({ isWithoutRelay: true });
  const relay = makeRelayProcess(program, all.relayConfig, all.sidecar.reposDir);
  closers.push(() => relay.stop());
  relay.start();
  await relay.untilReady();
  const seen: number[] = [];
  closers.push(all.discord.driver.onEvent(() => seen.push(needs(all.you).length)));
  const threadId = await openAgent(
    all.you,
    "Do it",
    ...Array.from({ length: 6 }, (_, i) => bash(`touch x${i}`)),
    { text: "Done." },
  );
  for (let i = 0; i < 6; i++) {
    await until(`ask ${i}`, async () => (await all.sidecar.client.listAsks(threadId)).length === 1);
    // Each time at another point: before the message, as it is sent, after it, while it is edited or deleted.
    const before = all.discord.driver.stats.requests.length;
    if (i % 3 !== 0) {
      await until("some request", () => all.discord.driver.stats.requests.length > before + (i % 3), {
        timeoutMs: 30_000,
      });
    }
    await relay.kill9();
    if (i % 2 === 0) await answer(threadId);
    relay.start();
    await relay.untilReady();
    if (i % 2 === 1) await answer(threadId);
  }
  await untilStatus(all.sidecar, threadId, "idle");
  const last = await untilNeeds(all.you, `<#${threadId}> has finished`);
  expect(last.content.split("\n")).toHaveLength(2);
  expect(Math.max(...seen)).toBe(1);
}, 180_000);
