/** /thread and its sub-commands: histories, pause and resume, ends; with unknown, ended and wrong threads. */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import { STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

let all: Everything;
beforeAll(async () => {
  all = await startEverything({ isQuick: true, vm: STAND_IN_CONFIG });
  mkdirSync(join(all.sidecar.reposDir, "shop"));
});
afterAll(() => all?.close());

const bash = (command: string): Round => ({ tools: [{ name: "Bash", input: { command } }] });
const use = (name: string, options = {}, channel = all.discord.channelId) =>
  all.discord.driver.command(all.you, channel, name, options);
const say = async (name: string, options = {}, channel = all.discord.channelId) =>
  (await use(name, options, channel).reply()).content;
const choices = (name: string, typed: string) =>
  all.discord.driver.autocomplete(all.you, all.discord.channelId, name, { thread: typed }, "thread");

async function openAgent(text: string, ...rounds: Round[]): Promise<{ threadId: string; number: number }> {
  const asked = use("agent", { dir: "shop", prompt: script(text, ...rounds) });
  const threadId = await all.discord.driver.until(() => /<#(\d+)>/.exec(asked.find()?.content ?? "")?.[1], {
    what: "the thread",
    timeoutMs: 60_000,
  });
  const { number } = await all.sidecar.client.getThread(threadId);
  return { threadId, number: number ?? 0 };
}

const allow = async (threadId: string) => {
  const ask = await until("an ask", async () => (await all.sidecar.client.listAsks(threadId))[0]);
  await all.sidecar.as(all.you).answerAsk(threadId, ask.requestId, { optionId: "once" });
};

test("a thread is chosen by number or title; what is unknown, ambiguous or no agent is refused in words", async () => {
  const first = await openAgent("Paint the shed", { text: "Done." });
  const second = await openAgent("Paint the fence", { text: "Done." });
  const terminal = await all.openTerminal("exec sleep 1000", "shop");
  await untilStatus(all.sidecar, first.threadId, "idle");
  await untilStatus(all.sidecar, second.threadId, "idle");
  const [byNumber] = await choices("thread pause", `#${first.number}`);
  expect(byNumber).toEqual({
    name: expect.stringMatching(new RegExp(`^#${first.number} · .*Paint the shed.* · idle$`)),
    value: first.threadId,
  });
  expect((await choices("thread pause", "FENCE")).map(({ value }) => value)).toEqual([second.threadId]);
  expect((await choices("thread pause", "")).map(({ value }) => value)).not.toContain(terminal);
  expect((await choices("thread kill", "")).map(({ value }) => value)).toContain(terminal);
  expect(await choices("thread resume", "")).toEqual([]);
  expect(await say("thread pause", { thread: "#999" })).toBe(
    "⚠️ thread: there is no thread #999; /thread list shows them.",
  );
  expect(await say("thread pause", { thread: "paint" })).toBe(
    "⚠️ thread: 2 threads are called so; take a number or a name.",
  );
  expect(await say("thread pause", { thread: terminal })).toContain("only agents can be paused");
  expect(await say("thread history", { thread: terminal })).toContain("is a terminal: it has no steps");
  expect(await say("thread pause")).toContain("thread: is needed here");
  const stranger = all.discord.driver.command(all.stranger, all.discord.channelId, "thread list");
  expect((await stranger.reply()).content).toContain("ALLOWED_USER_IDS");
  await say("thread kill", { thread: first.threadId });
  expect(await say("thread pause", { thread: String(first.number) })).toMatch(/^⚠️ .*(killed|over|ended)/);
  expect(await say("kill", { thread: "the fence" })).toMatch(/^⏹ Ended .*>\.$/);
  expect((await all.sidecar.client.getThread(second.threadId)).status).toBe("killed");
  await say("thread kill", { thread: terminal });
});

test("pause holds an agent, a message there is refused with a button, and Resume and send lets both go", async () => {
  const { threadId } = await openAgent("Do it", bash("touch held"), { text: "Done." });
  await untilStatus(all.sidecar, threadId, "waiting");
  expect(await say("thread pause", {}, threadId)).toContain("⏸ Paused");
  await untilStatus(all.sidecar, threadId, "paused");
  const word = all.discord.driver.post(all.you, threadId, "and tell me why");
  const refused = await until("a refusal", () =>
    all.discord.driver.messages(threadId).find(({ content }) => content.includes("is paused")),
  );
  await allow(threadId);
  expect(existsSync(join(all.sidecar.reposDir, "shop", "held"))).toBe(false);
  expect(refused.buttons.map(({ label }) => label)).toEqual(["Resume and send"]);
  // Two who press at once: it goes in once.
  const press = () => all.discord.driver.press(all.you, refused.id, `resume-send:${word.id}`);
  const presses = [press(), press()];
  await until("the button's answer", () =>
    all.discord.driver
      .messages(threadId)
      .some(({ content }) => content === "✅ It goes on, with your message."),
  );
  expect(presses.flatMap((pressed) => pressed.followUps())).toEqual([]);
  await untilStatus(all.sidecar, threadId, "idle");
  expect(existsSync(join(all.sidecar.reposDir, "shop", "held"))).toBe(true);
  const inbox = await transcriptOf(all.sidecar, threadId);
  expect(inbox.filter((event) => event.type === "user_message" && event.messageId === word.id)).toHaveLength(
    1,
  );

  await say("thread pause", { thread: threadId });
  await untilStatus(all.sidecar, threadId, "paused");
  expect((await choices("thread resume", "")).map(({ value }) => value)).toEqual([threadId]);
  const told = await say("thread resume", {
    thread: threadId,
    message: script("More", { text: "More done." }),
  });
  expect(told).toContain("goes on. It was told:\n```");
  await until("its words", () => all.discord.driver.text(threadId).includes("More done."));
  expect(await say("thread mode", { mode: "plan" }, threadId)).toContain("`plan`");
  expect(await say("thread mode", { mode: "bypassPermissions" }, threadId)).toContain("⚠️ modeId: bypass");
  expect(await say("thread model", { model: "other" }, threadId)).toContain("the model other");
  await untilStatus(all.sidecar, threadId, "idle");
  expect(await say("thread compact", { keep: "names" }, threadId)).toContain("sums up");
  await say("done", {}, threadId);
});

test("rules: what was allowed for the whole thread is listed, suggested and withdrawn", async () => {
  const { client } = all.sidecar;
  const { threadId } = await openAgent("Make", bash("mkdir made"), { text: "Made it." });
  const asked = await until("an ask", async () => (await client.listAsks(threadId))[0]);
  expect(await say("thread rules", {}, threadId)).toContain("Nobody has allowed this agent anything");
  expect(await say("thread rules", { withdraw: "all" }, threadId)).toContain("⚠️ withdraw: no rule");
  await all.sidecar.as(all.you).answerAsk(threadId, asked.requestId, { optionId: "thread" });
  await untilStatus(all.sidecar, threadId, "idle");
  const rule = "Bash(mkdir made *)";
  expect(await say("thread rules", {}, threadId)).toContain(`- \`${rule}\``);
  const driver = all.discord.driver;
  const options = { withdraw: "mk" };
  const suggested = await driver.autocomplete(all.you, threadId, "thread rules", options, "withdraw");
  expect(suggested).toEqual([{ name: rule, value: rule }]);
  expect(await say("thread rules", { withdraw: rule }, threadId)).toMatch(/asks again about:\n.*mkdir/);
  await until("no rule", async () => (await client.listRules(threadId)).length === 0);
  await say("done", {}, threadId);
});

test("history: pages forth and back, all steps once, and a file", async () => {
  const rounds = Array.from(
    { length: 12 },
    (_, i): Round => ({
      tools: [{ name: "Read", input: { file_path: join(all.sidecar.reposDir, "shop", `none-${i}`) } }],
    }),
  );
  const { threadId, number } = await openAgent("Read", ...rounds, { text: "Read." });
  await untilStatus(all.sidecar, threadId, "idle");
  const asked = use("thread history", { thread: `${number}` });
  const first = await asked.reply();
  expect(first.isEphemeral).toBe(true);
  expect(first.content).toContain(`Steps of **#${number}**`);
  const press = async (label: string) => {
    const before = asked.find();
    const id = before?.buttons.find((button) => button.label === label)?.customId;
    if (id === undefined) throw new Error(`no button ${label} below ${JSON.stringify(before)}`);
    all.discord.driver.press(all.you, first.id, id);
    return until("another page", () => {
      const now = asked.find();
      return now && JSON.stringify(now) !== JSON.stringify(before) ? now : undefined;
    });
  };
  const linesOf = ({ content }: { content: string }) => content.split("\n").slice(1);
  const seen = linesOf(first);
  const pages = [first.content];
  for (let page = first; JSON.stringify(page.components).includes("Older"); ) {
    page = await press("◀ Older");
    seen.unshift(...linesOf(page));
    pages.unshift(page.content);
  }
  expect(pages.length).toBeGreaterThan(1);
  const steps = await all.sidecar.client.listSteps(threadId, { limit: 1_000 });
  expect(seen).toHaveLength(steps.length);
  expect(seen[0]).toMatch(/^✓ \*\*Turn\*\* · <t:\d+:f> · \d/);
  expect((await press("Newer ▶")).content).toBe(pages[1]);
  const withFile = await press("As a file");
  const [file] = withFile.attachments;
  expect(file?.name).toBe(`steps-${number}.tsv`);
  const lines = all.discord.driver
    .attachment(file?.id ?? "")
    .toString()
    .trim()
    .split("\n");
  expect(lines).toHaveLength(steps.length + 1);
  await say("thread kill", { thread: `${number}` });
});

test("kill-all asks first, and leaves alone what began after it asked", async () => {
  const { threadId } = await openAgent("Wait", { text: "Hm." });
  const terminal = await all.openTerminal("exec sleep 1000", "shop");
  const asked = use("thread kill-all", { which: "all" });
  const question = await asked.reply();
  expect(question.content).toMatch(/^⚠️ End these 2 threads, and everything that runs in them\?\n/);
  const id = question.buttons.find(({ label }) => label === "End all 2")?.customId ?? "";
  const later = await all.openTerminal("exec sleep 1000", "shop");
  all.discord.driver.press(all.you, question.id, id);
  await until("the end", () => asked.find()?.content === "⏹ Ended 2 threads.");
  for (const one of [threadId, terminal]) {
    expect((await all.sidecar.client.getThread(one)).status).toBe("killed");
  }
  expect((await all.sidecar.client.getThread(later)).status).toBe("running");
  const again = use("thread kill-all", { which: "terminal" });
  all.discord.driver.press(all.you, (await again.reply()).id, "keep-all");
  await until("the answer", () => again.find()?.content === "Nothing was ended.");
  expect((await all.sidecar.client.getThread(later)).status).toBe("running");
  await say("kill", { thread: later });
  expect(await say("thread kill-all", { which: "agent" })).toBe("No such thread is open.");
});
