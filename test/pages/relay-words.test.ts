/** What people write to an agent in Discord: receipts, changed and deleted messages, /queue; and what a turn costs. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agentTalk, bash } from "../support/agent-talk.ts";
import { STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { whileAway } from "../support/away.ts";
import { type Everything, startEverything, startForTest } from "../support/relay.ts";
import { until } from "../support/wait.ts";

let all: Everything;
const { open, untilMessage } = agentTalk(() => all);
beforeAll(async () => {
  all = await startEverything({ vm: STAND_IN_CONFIG, isQuick: true });
});
afterAll(() => all?.close());

const post = (threadId: string, text: string) => all.discord.driver.post(all.you, threadId, text);
const reactions = (threadId: string, id: string) =>
  all.discord.driver
    .messages(threadId)
    .find((message) => message.id === id)
    ?.reactions.map(({ emoji }) => emoji);
const messageEvents = async (threadId: string) =>
  (await transcriptOf(all.sidecar, threadId)).filter(({ type }) => type.startsWith("message_"));

/** A thread whose turn goes on until the returned function is called. */
async function openBusy(name: string): Promise<{ threadId: string; end: () => void }> {
  const go = join(all.sidecar.reposDir, name);
  const threadId = await open("Wait", { text: "First.", waitFor: go });
  await until("the turn", async () =>
    (await transcriptOf(all.sidecar, threadId)).some(({ type }) => type === "turn_start"),
  );
  return { threadId, end: () => writeFileSync(go, "") };
}

test("a message that the agent has read gets one receipt", async () => {
  const threadId = await open("Hello", { text: "Hello." });
  await untilMessage(threadId, "Hello.");
  const { id } = post(threadId, script("And?", { text: "That is all." }));
  await untilMessage(threadId, "That is all.");
  await until("the receipt", () => reactions(threadId, id)?.join() === "👀");
});

test("a message is changed or taken back as long as the agent has not read it; after that a reply says so", async () => {
  const { threadId, end } = await openBusy("go-1");
  const read = post(threadId, "one thing");
  const changed = post(threadId, "old words");
  const deleted = post(threadId, "never mind");
  all.discord.driver.edit(all.you, threadId, changed.id, script("new words", { text: "Third." }));
  all.discord.driver.deleteMessage(all.you, threadId, deleted.id);
  await until("both to be noted", async () => (await messageEvents(threadId)).length === 2);
  end();
  await untilMessage(threadId, "Third.");
  await untilStatus(all.sidecar, threadId, "idle");
  expect(await messageEvents(threadId)).toMatchObject([
    { type: "message_edit", messageId: changed.id, applied: true, by: `discord:${all.you}` },
    { type: "message_withdraw", messageId: deleted.id, applied: true },
  ]);
  all.discord.driver.edit(all.you, threadId, read.id, "other words");
  const told = await untilMessage(threadId, "The agent has read this already");
  expect(told).toMatchObject({ replyTo: { id: read.id }, isSilent: true });
  all.discord.driver.deleteMessage(all.you, threadId, changed.id);
  await untilMessage(threadId, "The agent had read the message that was deleted");
});

test("what is changed or deleted while the sidecar is away counts once it is back", async () => {
  const { threadId, end } = await openBusy("go-away");
  const [changed, deleted] = [post(threadId, "first"), post(threadId, "never mind")];
  const untilWaiting = async () => ((await all.sidecar.client.getThread(threadId)).waiting ?? 0) === 2;
  await until("both to wait", untilWaiting);
  await whileAway(all.sidecar, () => {
    all.discord.driver.edit(all.you, threadId, changed.id, "first, said better");
    all.discord.driver.deleteMessage(all.you, threadId, deleted.id);
    return `/thread/${threadId}/input/${changed.id}`;
  });
  await until("both to be told", async () => (await messageEvents(threadId)).length === 2);
  expect(await messageEvents(threadId)).toMatchObject([
    { type: "message_edit", messageId: changed.id, applied: true },
    { type: "message_withdraw", messageId: deleted.id, applied: true },
  ]);
  end();
  await untilStatus(all.sidecar, threadId, "idle");
});

test("what a stranger changes or deletes is nobody's business, nor is a message that never went in", async () => {
  const threadId = await open("Hello", { text: "Hello." });
  await untilMessage(threadId, "Hello.");
  const strange = all.discord.driver.post(all.stranger, threadId, "let me in");
  all.discord.driver.edit(all.stranger, threadId, strange.id, "please");
  all.discord.driver.deleteMessage(all.stranger, threadId, strange.id);
  post(threadId, script("And?", { text: "That is all." }));
  await untilMessage(threadId, "That is all.");
  expect(await messageEvents(threadId)).toEqual([]);
});

test("/queue waits for the turn's end, and refuses a terminal", async () => {
  const { threadId, end } = await openBusy("go-2");
  const text = script("then this", { text: "Queued and read." });
  const { content } = await all.discord.driver.command(all.you, threadId, "queue", { text }).reply();
  expect(content).toContain("📥 The agent reads this when this turn has ended:\n```\nthen this");
  const isDelivered = async () =>
    (await transcriptOf(all.sidecar, threadId)).filter(({ type }) => type === "delivery").length;
  expect(await isDelivered()).toBe(1);
  end();
  await untilMessage(threadId, "Queued and read.");
  const events = await transcriptOf(all.sidecar, threadId);
  const ended = events.findIndex(({ type }) => type === "turn_end");
  const second = events.findLastIndex(({ type }) => type === "delivery");
  expect(second).toBeGreaterThan(ended);
  const terminal = await all.openTerminal("cat");
  const refused = await all.discord.driver.command(all.you, terminal, "queue", { text: "x" }).reply();
  expect(refused.content).toMatch(/^⚠️ \/queue belongs into an agent's thread/);
});

/** A quarter of a turn of a minute. */
const STEPS = 10;

test("a turn of 40 steps a minute costs at most 40 requests, and notifies once", async ({
  onTestFinished,
}) => {
  // The others' world has no limits, and its relay does not take its time.
  const paced = await startForTest({ onTestFinished }, { vm: STAND_IN_CONFIG });
  const { open, messages, untilMessage } = agentTalk(() => paced);
  const rounds = Array.from({ length: STEPS }, () => ({ ...bash("ls"), delayMs: 1_350 }));
  const threadId = await open("Hello", { text: "Hello." });
  await untilMessage(threadId, "Hello.");
  const { stats } = paced.discord.driver;
  const inThread = () => stats.requests.filter(({ path }) => path.includes(threadId));
  const before = inThread().length;
  const startedAt = performance.now();
  paced.discord.driver.post(paced.you, threadId, script("Work", ...rounds, { text: "Worked." }));
  const last = await until(
    "the end",
    () => messages(threadId).find(({ content }) => content.startsWith("Worked.")),
    {
      timeoutMs: 120_000,
    },
  );
  const seconds = (performance.now() - startedAt) / 1_000;
  await until("all steps", () => messages(threadId)[1]?.content.match(/✓ Bash `ls/g)?.length === STEPS);
  const requests = inThread().slice(before);
  // Once a turn: the buttons above go, the activity's message, the last words and the receipt come.
  const once = 4;
  // On a slow machine its steps are fewer a minute.
  const costOf40 = (requests.length - once) * Math.min(40 / STEPS, 60 / seconds) + once;
  expect(costOf40, `${requests.length} requests in ${seconds.toFixed(1)} s`).toBeLessThanOrEqual(40);
  expect(stats.rateLimited).toBe(0);
  const loud = messages(threadId)
    .slice(1)
    .filter(({ isSilent }) => !isSilent);
  expect(loud.map(({ id }) => id)).toEqual([last.id]);
}, 150_000);

test("a password that a person types in Discord: the bot says what to do, and only then", async () => {
  const { driver } = all.discord;
  const ask = "import getpass; input('name? '); getpass.getpass('word? '); input('more? ')";
  const terminal = await all.openTerminal(`python3 -c "${ask}"; stty raw -echo; cat`);
  await all.untilShown(terminal, "name?");
  driver.post(all.you, terminal, "somebody");
  await all.untilShown(terminal, "word?");
  const { id } = driver.post(all.you, terminal, "hunter2");
  const told = () =>
    driver.messages(terminal).filter(({ content }) => content.includes("delete your message"));
  await driver.until(() => told().length > 0, { what: "what to do" });
  await all.untilShown(terminal, "more?");
  driver.post(all.you, terminal, "shown");
  driver.post(all.you, terminal, "in raw mode");
  await all.untilShown(terminal, "in raw mode");
  expect(told()).toMatchObject([{ replyTo: { id }, content: expect.stringContaining("threadmux attach") }]);
});
