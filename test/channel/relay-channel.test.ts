/** The channel: a message there begins an agent's thread, an answer finds its thread, and what was said last stands there. */
import { afterEach, expect, test } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import type { FaultRequest } from "../../local-discord/faults.ts";
import { seededRandom } from "../../shared/random.ts";
import { STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { whileAway } from "../support/away.ts";
import { inFull, isFull } from "../support/faults.ts";
import { closeBucket } from "../support/limits.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { relayConfigFor } from "../support/relay-config.ts";
import { bundleRelay, makeRelayProcess } from "../support/relay-process.ts";
import { until } from "../support/wait.ts";

let all: Everything;
const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

type Mode = "off" | "mention" | "threads";

async function start(channelMode: Mode, options: Parameters<typeof startEverything>[0] = {}): Promise<void> {
  all = await startEverything({
    vm: STAND_IN_CONFIG,
    isQuick: true,
    relay: { channelMode, channelDir: "." },
    ...options,
  });
  closers.push(() => all.close());
}

const says = (text: string): Round => ({ text });

const post = (text: string, replyTo?: string) =>
  all.discord.driver.post(all.you, all.discord.channelId, text, replyTo === undefined ? {} : { replyTo });

/** What stands in the channel as an answer to this message, by the bot. */
const answersTo = (messageId: string) =>
  all.discord.driver
    .messages(all.discord.channelId)
    .filter(({ author, replyTo }) => author.isBot && replyTo?.id === messageId);

const untilAnswer = (messageId: string, expected: string | RegExp) =>
  until(
    `an answer to say ${expected}`,
    () =>
      answersTo(messageId).find(({ content }) =>
        typeof expected === "string" ? content.includes(expected) : expected.test(content),
      ),
    // Of many threads: the channel takes five messages in five seconds.
    { timeoutMs: 90_000 },
  );

const heard = async (threadId: string) =>
  (await transcriptOf(all.sidecar, threadId)).flatMap((event) =>
    event.type === "user_message"
      ? event.content.flatMap((block) => (block.type === "text" ? [block.text.split(" @@")[0]] : []))
      : [],
  );

const threadIds = async () =>
  (await all.sidecar.client.listThreads({ status: "all" })).map(({ threadId }) => threadId);

test("a message begins a thread of its own; its status and its last words stand in the channel", async () => {
  await start("threads");
  const message = post(script("Count the files", says("There are **three**.")));
  const words = await untilAnswer(message.id, "There are **three**.");
  const status = await untilAnswer(message.id, /^🤖 \*\*#1\*\* <#\d+> · idle/);
  expect(status.content).toContain(`<#${message.id}>`);
  for (const { isSilent, notified } of [words, status]) {
    expect({ isSilent, notified }).toEqual({ isSilent: true, notified: [] });
  }
  // The thread is made of the message, and holds the conversation as every agent's thread does.
  const thread = all.discord.driver.threads().find(({ id }) => id === message.id);
  expect(thread?.name).toContain("Count the files");
  await until("the words in the thread", () =>
    all.discord.driver.messages(message.id).some(({ content }) => content.includes("There are **three**.")),
  );

  const more = post(script("And the folders?", says("Two.")), words.id);
  await untilAnswer(message.id, "Two.");
  expect(await heard(message.id)).toEqual(["Count the files", "And the folders?"]);
  expect(await threadIds()).toEqual([message.id]);
  await until("the thread to show what was said in the channel", () =>
    all.discord.driver
      .messages(message.id)
      .some(({ content }) => content.includes("in the channel: And the folders?")),
  );
  // An answer to that answer, and one to the status, go there too.
  post(script("Sure?", says("Yes.")), more.id);
  await untilAnswer(message.id, "Yes.");
  post(script("Really?", says("Really.")), status.id);
  await untilAnswer(message.id, "Really.");
  expect(await threadIds()).toEqual([message.id]);
  expect(answersTo(message.id)).toHaveLength(5);

  // Another relay changes nothing that says already what it should.
  const now = () => answersTo(message.id).find(({ id }) => id === status.id);
  await until("its rest", () => now()?.content.includes("· idle"));
  await all.stopRelay();
  const editedAt = now()?.editedAt;
  await all.startRelay();
  const another = post(script("Hello", says("Hello.")));
  await untilAnswer(another.id, "Hello.");
  expect(now()?.editedAt).toBe(editedAt);
}, 120_000);

test("an answer that is changed or deleted is changed or taken back in its thread, also after a restart", async () => {
  await start("threads");
  const { driver, channelId } = all.discord;
  const message = post(script("Hi", says("Hello.")));
  const words = await untilAnswer(message.id, "Hello.");
  const changed = post(`<@${botId()}> ${script("One", says("1."))}`, words.id);
  await untilAnswer(message.id, "1.");
  const deleted = post(script("Two", says("2.")), changed.id);
  await untilAnswer(message.id, "2.");
  await all.stopRelay();
  await all.startRelay();
  driver.edit(all.you, channelId, changed.id, "Other words");
  driver.deleteMessage(all.you, channelId, deleted.id);
  const kinds = await until("both in the thread", async () => {
    const found = (await transcriptOf(all.sidecar, message.id)).flatMap((event) =>
      event.type === "message_edit" || event.type === "message_withdraw"
        ? [`${event.type} ${event.messageId}`]
        : [],
    );
    return found.length === 2 && found;
  });
  expect(kinds).toEqual([`message_edit ${changed.id}`, `message_withdraw ${deleted.id}`]);
  expect(await heard(message.id)).toEqual(["Hi", "One", "Two"]);
}, 120_000);

test("an answer to a thread that is over begins a new one; what can't begin is told, and leaves nothing", async () => {
  await start("threads");
  const message = post(script("Hi", says("Hello.")));
  const words = await untilAnswer(message.id, "Hello.");
  await all.discord.driver.command(all.you, message.id, "done").reply();
  await untilAnswer(message.id, / · killed/);
  const again = post(script("Once more", says("Hello again.")), words.id);
  await untilAnswer(again.id, / · idle/);
  expect(await heard(again.id)).toEqual(["Once more"]);
  expect(await threadIds()).toEqual([message.id, again.id]);
  expect((await all.sidecar.client.getThread(again.id)).origin?.threadId).toBe(message.id);

  const empty = post(`<@${botId()}>`);
  await untilAnswer(empty.id, "Say what the agent is to do.");
  let away = "";
  await whileAway(all.sidecar, () => {
    away = post(`<@${botId()}> `).id;
    return `/thread/${away}`;
  });
  await untilAnswer(away, "Say what the agent is to do.");
  expect(await threadIds()).toHaveLength(2);
}, 120_000);

test("of a message that begins a thread, or answers one, what only Discord can show is named", async () => {
  await start("threads");
  const { driver, channelId } = all.discord;
  const poll = { poll: { question: { text: "Lunch?" }, answers: [] } };
  const sticker = { sticker_items: [{ id: "1", name: "Wave", format_type: 1 }] };
  const begin = script("Begin", says("It began."));
  const message = driver.post(all.you, channelId, begin, { extras: poll });
  await untilAnswer(
    message.id,
    "Not all of this went in. Left out, an agent takes words and files up to 25 MiB: the poll “Lunch?”.",
  );
  const words = await untilAnswer(message.id, "It began.");
  const options = { replyTo: words.id, extras: { ...sticker, shared_contact: { id: "1" } } };
  const answer = driver.post(all.you, channelId, script("Go on", says("On.")), options);
  await untilAnswer(
    answer.id,
    "Not all of this went in. Left out, an agent takes words and files up to 25 MiB: the sticker “Wave”, the shared contact.",
  );
  expect(await heard(message.id)).toEqual(["Begin", "Go on"]);
  // It went in, so its writer may change it.
  driver.edit(all.you, channelId, answer.id, "other words");
  await until("the change", async () =>
    (await transcriptOf(all.sidecar, message.id)).some(({ type }) => type === "message_edit"),
  );
});

test("a limit of new threads: whoever wrote reads how long it takes, then theirs is made", async () => {
  await start("threads");
  const isThreadMade = ({ method, path }: FaultRequest) => method === "POST" && path.endsWith("/threads");
  closeBucket(all.discord.driver, isThreadMade, 7_000, "shared");
  const message = post(script("Hi", says("Hello.")));
  await untilAnswer(
    message.id,
    /^⏳ Discord allows no new thread here for [5-8] s; yours is made then, <t:\d+:R>\.$/,
  );
  expect(await threadIds()).toEqual([]);
  await untilAnswer(message.id, / · idle/);
  expect(answersTo(message.id).filter(({ content }) => content.startsWith("⏳"))).toHaveLength(1);
}, 60_000);

test("in mode mention only who names the bot begins a thread, and thanks cost nothing", async () => {
  await start("mention", { relay: { channelMode: "mention", channelDir: "." } });
  const bot = botId();
  const chat = post("Shall we have lunch?");
  const message = post(`<@${bot}> ${script("count", says("Three."))}`);
  const words = await untilAnswer(message.id, "Three.");
  expect(await heard(message.id)).toEqual(["count"]);
  await all.discord.driver.command(all.you, message.id, "done").reply();
  await untilAnswer(message.id, / · killed/);
  const thanks = post("thanks", words.id);
  await untilAnswer(thanks.id, "That thread is over.");
  post("thanks");
  const last = post(`${script("one more", says("Four."))} <@${bot}>`, words.id);
  await untilAnswer(last.id, / · idle/);
  expect(await heard(last.id)).toEqual(["one more"]);
  expect(await threadIds()).toEqual([message.id, last.id]);
  expect(answersTo(chat.id)).toEqual([]);
}, 120_000);

test("in mode off, and from strangers, the channel is a channel", async () => {
  await start("threads");
  const strange = all.discord.driver.post(all.stranger, all.discord.channelId, "rm -rf /");
  const mine = post(script("Hi", says("Hello.")));
  await untilAnswer(mine.id, "Hello.");
  expect(await threadIds()).toEqual([mine.id]);
  expect(answersTo(strange.id)).toEqual([]);
  await all.stopRelay();
  all.relayConfig.channelMode = "off";
  await all.startRelay();
  post("Hi again");
  const { driver, channelId } = all.discord;
  await driver.command(all.you, channelId, "inbox").reply();
  expect(await threadIds()).toEqual([mine.id]);
}, 120_000);

test("what was written while the relay was away is taken, or asked about if it is old", async () => {
  let ahead = 0;
  await start("threads", {
    now: () => Date.now() + ahead,
    relay: { channelMode: "threads", channelDir: "." },
  });
  await all.stopRelay();
  const old = post(script("Old", says("Late.")));
  ahead = 11 * 60_000;
  const fresh = post(script("New", says("Soon.")));
  await all.startRelay();
  await untilAnswer(fresh.id, "Soon.");
  const question = await untilAnswer(old.id, "Is it still to be done?");
  expect(await threadIds()).toEqual([fresh.id]);
  for (let presses = 0; presses < 2; presses++)
    all.discord.driver.press(all.you, question.id, `send:${old.id}`);
  await untilAnswer(old.id, "Late.");
  expect((await threadIds()).sort()).toEqual([old.id, fresh.id].sort());
  expect(all.discord.driver.ephemerals(all.you)).toEqual([]);
}, 120_000);

/** In its long form the bar's 200 messages. */
const [MESSAGES, KILLS] = inFull([200, 12], [12, 2]);

test(`${MESSAGES} messages and answers, ${KILLS} kills of the relay: each reaches the one thread that it belongs to`, async () => {
  await start("off", { isWithoutRelay: true });
  const program = await bundleRelay({ isQuick: !isFull });
  closers.push(() => program.remove());
  const config = {
    ...relayConfigFor(all.sidecar, all.discord),
    pollIntervalMs: 250,
    channelMode: "threads" as const,
  };
  const relay = makeRelayProcess(program, config, all.sidecar.folders.home);
  closers.push(() => relay.stop());
  const random = seededRandom(20_261_122);
  relay.start();
  await relay.untilReady();
  const { driver, channelId } = all.discord;
  const shown = () =>
    [channelId, ...driver.threads().map(({ id }) => id)].reduce(
      (count, id) => count + driver.messages(id).length,
      0,
    );
  /** By the text of each: the message that began its thread. */
  const roots = new Map<string, string>();
  const rootOf = new Map<string, string>();
  for (let i = 0, kills = 0; i < MESSAGES; i++) {
    const text = `message ${i}`;
    const target = random() < 0.7 ? [...rootOf.keys()][Math.floor(random() * rootOf.size)] : undefined;
    const message = post(script(text, says(`ok ${i}`)), target);
    const root = (target && rootOf.get(target)) ?? message.id;
    rootOf.set(message.id, root);
    roots.set(text, root);
    if (random() < (KILLS - kills) / (MESSAGES - i)) {
      kills += 1;
      // While it starts, or in the midst of its work.
      if (random() < 0.6) {
        await relay.untilReady();
        const more = shown() + (random() < 0.5 ? 1 : 2);
        await until("more to be shown", () => shown() >= more, { timeoutMs: 60_000 });
      }
      await relay.kill9();
      relay.start();
    }
  }
  const wanted = [...new Set(roots.values())].sort();
  await until("all threads", async () => (await threadIds()).length >= wanted.length, { timeoutMs: 240_000 });
  for (const root of wanted) {
    const texts = [...roots].flatMap(([text, of]) => (of === root ? [text] : []));
    await until(`all messages of ${root}`, async () => (await heard(root)).length >= texts.length, {
      timeoutMs: 120_000,
    });
    expect((await heard(root)).sort()).toEqual(texts.sort());
    await untilStatus(all.sidecar, root, "idle");
  }
  expect((await threadIds()).sort()).toEqual(wanted);
  for (const root of wanted) {
    const last = (await transcriptOf(all.sidecar, root)).findLast(({ type }) => type === "agent_message");
    const words = last?.type === "agent_message" ? last.text : "";
    await untilAnswer(root, words);
    const statuses = () => answersTo(root).filter(({ content }) => content.startsWith("🤖"));
    await until(
      "one status message",
      () => statuses().length === 1 && statuses()[0]?.content.includes("idle"),
      {
        timeoutMs: 60_000,
      },
    );
    const said = answersTo(root).filter(({ content }) => content.startsWith("ok "));
    expect(new Set(said.map(({ content }) => content)).size).toBe(said.length);
  }
}, 600_000);

/** A bot's token begins with its id. */
const botId = () => Buffer.from(all.discord.botToken.split(".")[0] ?? "", "base64url").toString();
