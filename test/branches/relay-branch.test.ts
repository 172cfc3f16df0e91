/** Branches in Discord: *Branch from here* in the menu of a message, `/thread branch`, and what ended threads ask. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SeenMessage } from "../../local-discord/seen.ts";
import { agentTalk, bash } from "../support/agent-talk.ts";
import { STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { heardBy } from "../support/heard.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until, untilValue } from "../support/wait.ts";

let all: Everything;
const { open, messages, untilMessage, press } = agentTalk(() => all);
beforeAll(async () => {
  all = await startEverything({ isQuick: true, vm: STAND_IN_CONFIG });
});
afterAll(() => all?.close());

const linkIn = ({ content }: { content: string }) => /<#(\d+)>(?!.*<#)/s.exec(content)?.[1];

async function branchFrom({ channelId, id }: SeenMessage): Promise<string> {
  const asked = all.discord.driver.messageCommand(all.you, channelId, id, "Branch from here");
  const reply = await until("the branch", async () => {
    const found = await asked.reply();
    return linkIn(found) !== undefined || found.content.startsWith("⚠️") ? found : undefined;
  });
  const threadId = linkIn(reply);
  if (threadId === undefined) throw new Error(reply.content);
  return threadId;
}

/** What the model of a branch knows when it hears its first message. */
async function known(threadId: string): Promise<string[]> {
  all.discord.driver.post(all.you, threadId, script("m-99", { text: "t-99" }));
  const heard = await until(`the first message in ${threadId}`, () => {
    const words = heardBy(all.sidecar, threadId);
    return words.includes("m-99") && words;
  });
  return heard.slice(0, heard.indexOf("m-99"));
}

const say = (threadId: string, text: string, ...rounds: Parameters<typeof script>[1][]) =>
  all.discord.driver.post(all.you, threadId, script(text, ...rounds));

describe("Branch from here", () => {
  test("on words, a step's message, a person's message: what stood there is known, what stands below is not", async () => {
    const threadId = await open("m-1", { text: "t-1" });
    const words = await untilMessage(threadId, "t-1");
    const mine = say(threadId, "m-2", { text: "t-2", ...bash("touch here") }, { text: "t-3" });
    const ask = await untilMessage(threadId, /May the agent do this/);
    const activity = await untilMessage(threadId, "t-2");
    say(threadId, "m-3");
    press(ask, "Allow once");
    await untilMessage(threadId, "t-3");
    const atWords = await branchFrom(words);
    const [opening] = all.discord.driver.messages(atWords);
    expect(opening?.content).toMatch(/↳ \*\*Branch of #\d+\*\*, from https:\/\/\S+, started by <@\d+>/);
    expect(await known(atWords)).toEqual(["m-1", "t-1"]);
    expect(await known(await branchFrom(mine))).toEqual(["m-1", "t-1", "m-2"]);
    expect(await known(await branchFrom(activity))).toEqual(["m-1", "t-1", "m-2", "t-2"]);
    expect(await all.sidecar.client.getThread(atWords)).toMatchObject({
      title: expect.stringMatching(/^↳ .*m-1/),
      createdBy: `discord:${all.you}`,
      origin: { threadId },
    });
    expect(await all.sidecar.client.getThread(threadId)).toMatchObject({ status: "idle" });
  });

  test("on what is no part of a conversation is refused, and makes no thread", async () => {
    const threadId = await open("m-1", { text: "t-1" });
    await untilMessage(threadId, "t-1");
    const before = all.discord.driver.threads().length;
    const opening = all.discord.driver.messages(threadId).find(({ author }) => author.isBot);
    const stray = all.discord.driver.post(all.you, all.discord.channelId, "hello");
    for (const message of [opening, stray]) {
      if (!message) throw new Error("no message");
      const { channelId, id } = message;
      const { content } = await all.discord.driver
        .messageCommand(all.you, channelId, id, "Branch from here")
        .reply();
      expect(content).toMatch(/^⚠️ (Nothing of the conversation|Branch from here works on)/);
    }
    expect(all.discord.driver.threads()).toHaveLength(before);
  });
});

test("/thread branch goes on from the newest words, with a message if one is given", async () => {
  const threadId = await open("m-1", { text: "t-1" });
  await untilMessage(threadId, "t-1");
  const number = (await untilStatus(all.sidecar, threadId, "idle")).number;
  const message = script("m-2", { text: "t-2" });
  const asked = all.discord.driver.command(all.you, all.discord.channelId, "thread branch", {
    thread: `#${number}`,
    message,
  });
  const child = await until("the branch", async () => {
    const { content } = await asked.reply();
    return content.includes("is branched") ? linkIn({ content }) : undefined;
  });
  await untilMessage(child, "t-2");
  expect(heardBy(all.sidecar, child)).toEqual(["m-1", "t-1", "m-2", "t-2"]);
  expect(messages(threadId).filter(({ content }) => content.includes("t-2"))).toEqual([]);
});

describe("a message to an agent that was ended asks what is to become of it", () => {
  async function ended(): Promise<string> {
    const threadId = await open("m-1", { text: "t-1" });
    await untilMessage(threadId, "t-1");
    await all.discord.driver.command(all.you, threadId, "done").reply();
    await until("its end", () =>
      all.discord.driver.threads({ archived: true }).some(({ id }) => id === threadId),
    );
    return threadId;
  }

  async function writtenTo(text: string): Promise<string> {
    const threadId = await ended();
    say(threadId, text, { text: "t-2" });
    return threadId;
  }

  const untilHeard = (threadId: string, words: string[]) =>
    untilValue(
      `${words} in ${threadId}`,
      () => heardBy(all.sidecar, threadId),
      (heard) => `${heard}` === `${words}`,
    );

  test("Go on here: the same Discord thread, with what was said, also over a restart of the relay", async () => {
    const threadId = await writtenTo("m-2");
    const question = await untilMessage(threadId, "This agent was ended");
    press(question, "Go on here");
    await untilMessage(threadId, "It goes on here");
    await untilHeard(threadId, ["m-1", "t-1", "m-2", "t-2"]);
    expect((await untilStatus(all.sidecar, threadId, "idle")).origin).toMatchObject({ threadId });
    await all.stopRelay();
    await all.startRelay();
    say(threadId, "m-3", { text: "t-3" });
    await untilHeard(threadId, ["m-1", "t-1", "m-2", "t-2", "m-3", "t-3"]);
    expect(messages(threadId).filter(({ content }) => content.includes("It goes on here"))).toHaveLength(1);
  });

  test("Start a new one that knows this: another Discord thread, and this one stays over", async () => {
    const threadId = await writtenTo("m-2");
    const question = await untilMessage(threadId, "This agent was ended");
    // Discord gives the button free again before the thread is there.
    for (let presses = 0; presses < 2; presses++) press(question, "Start a new one that knows this");
    const { content } = await untilMessage(threadId, "It goes on in <#");
    const heir = linkIn({ content }) ?? "";
    await untilMessage(heir, "t-2");
    await untilHeard(heir, ["m-1", "t-1", "m-2", "t-2"]);
    expect(await all.sidecar.client.getThread(threadId)).toMatchObject({ status: "killed" });
    const threads = await all.sidecar.client.listThreads({ status: "all" });
    expect(threads.filter(({ origin }) => origin?.threadId === threadId)).toHaveLength(1);
  });

  test("Go on here: files come along, and what only Discord can show is named", async () => {
    const threadId = await ended();
    const extras = { sticker_items: [{ id: "1", name: "Wave", format_type: 1 }] };
    const files = [{ name: "plan.bin", data: new Uint8Array([0, 255, 1]) }];
    const words = script("m-2", { text: "t-2" });
    const { id } = all.discord.driver.post(all.you, threadId, words, { files, extras });
    press(await untilMessage(threadId, "This agent was ended"), "Go on here");
    const told = await untilMessage(threadId, "Not all of this went in.");
    expect(told).toMatchObject({ replyTo: { id }, content: expect.stringContaining("the sticker “Wave”") });
    const names = await untilValue(
      "the file in the transcript",
      async () =>
        (await transcriptOf(all.sidecar, threadId)).flatMap((event) =>
          event.type === "user_message" ? event.content.map((block) => JSON.stringify(block)) : [],
        ),
      (blocks) => blocks.some((block) => block.includes("plan.bin")),
    );
    expect(names.join()).toContain("m-2");
  });

  test("Go on here: one that Discord did not begin keeps its own id", async () => {
    const { client } = all.sidecar;
    const made = { type: "agent" as const, dir: ".", command: script("m-1", { text: "t-1" }) };
    await all.sidecar.as(all.you).createThread({ ...made, threadId: "from-shell", home: "discord" });
    const home = await until("its home", async () => {
      return (await client.getThread("from-shell")).home?.channelId ?? undefined;
    });
    await untilMessage(home, "t-1");
    await all.discord.driver.command(all.you, home, "done").reply();
    await until("its end", () =>
      all.discord.driver.threads({ archived: true }).some(({ id }) => id === home),
    );
    say(home, "m-2", { text: "t-2" });
    press(await untilMessage(home, "This agent was ended"), "Go on here");
    await untilValue(
      "what was said",
      () => heardBy(all.sidecar, "from-shell"),
      (heard) => `${heard}` === "m-1,t-1,m-2,t-2",
    );
    expect(await client.getThread(home)).toMatchObject({
      threadId: "from-shell",
      home: { channelId: home },
      origin: { threadId: "from-shell" },
    });
  });

  test("written while the relay was away, and asked about once: it can be answered after any restart", async () => {
    const threadId = await ended();
    await all.stopRelay();
    say(threadId, "m-2", { text: "t-2" });
    for (let starts = 0; starts < 2; starts++) {
      await all.startRelay();
      await untilMessage(threadId, "This agent was ended");
      await all.stopRelay();
    }
    await all.startRelay();
    const asked = messages(threadId).filter(({ content }) => content.includes("This agent was ended"));
    expect(asked).toHaveLength(1);
    const [question] = asked;
    if (question) press(question, "Go on here");
    await untilHeard(threadId, ["m-1", "t-1", "m-2", "t-2"]);
  });

  test("one that is locked: Go on here unlocks it", async () => {
    const threadId = await open("m-1", { text: "t-1" });
    await untilMessage(threadId, "t-1");
    await untilStatus(all.sidecar, threadId, "idle");
    await all.sidecar.client.branchThread(threadId, { threadId: "twig" });
    say(threadId, "m-2", { text: "t-2" });
    press(await untilMessage(threadId, "was branched and is locked"), "Go on here");
    await untilMessage(threadId, "t-2");
    expect(heardBy(all.sidecar, threadId)).toEqual(["m-1", "t-1", "m-2", "t-2"]);
  });
});
