/** Every slash command, and what people read when it can't be done. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CommandType } from "../../local-discord/types.ts";
import { script, standIn } from "../support/agents.ts";
import { type Everything, startEverything } from "../support/relay.ts";

let all: Everything;

beforeAll(async () => {
  all = await startEverything({
    isQuick: true,
    vm: { maxThreads: 3, agent: standIn() },
  });
  mkdirSync(join(all.sidecar.reposDir, "shop", "api"), { recursive: true });
  mkdirSync(join(all.sidecar.reposDir, "blog"));
});
afterAll(() => all?.close());

const run = (name: string, options = {}, channel = all.discord.channelId) =>
  all.discord.driver.command(all.you, channel, name, options).reply();
const untilArchived = (threadId: string) =>
  all.discord.driver.until(() => all.discord.driver.findThread(threadId)?.isArchived, { what: "archiving" });
const choices = async (command: string, option: string, typed: string) =>
  all.discord.driver.autocomplete(all.you, all.discord.channelId, command, { [option]: typed }, option);

test("the commands are registered", () => {
  const names = all.discord.driver.commands(all.you).map((command) => command.name);
  expect(names.sort()).toEqual([
    "agent",
    "browser",
    "done",
    "export",
    "here",
    "inbox",
    "job",
    "key",
    "kill",
    "logs",
    "main",
    "memory",
    "queue",
    "resize",
    "room",
    "screenshot",
    "status",
    "terminal",
    "thoughts",
    "thread",
  ]);
  const offered = all.discord.driver.commands(all.you, CommandType.message).map(({ name }) => name);
  expect(offered.sort()).toEqual(["Branch from here", "Details"]);
});

test("dir is completed from the repositories' folder, sub-directories too", async () => {
  expect((await choices("terminal", "dir", "sh")).map(({ value }) => value)).toEqual(["shop", "shop/api"]);
  expect((await choices("terminal", "dir", "shop/")).map(({ value }) => value)).toEqual(["shop/api"]);
  expect((await choices("agent", "dir", "")).map(({ value }) => value)).toEqual([
    ".",
    "blog",
    "shop",
    "shop/api",
  ]);
  expect(await choices("terminal", "dir", "../")).toEqual([]);
});

test("/terminal where the sidecar refuses: the reason is read, and no thread is left", async () => {
  const before = all.discord.driver.threads().length;
  const outside = await run("terminal", { dir: "../../etc", command: "ls" });
  expect(outside.content).toContain("is outside of the repositories' folder");
  const missing = await run("terminal", { dir: "nowhere", command: "ls" });
  expect(missing.content).toContain('"nowhere" does not exist');
  expect(all.discord.driver.threads()).toHaveLength(before);
});

test("/status lists what is open, /kill ends it from the channel", async () => {
  const none = await run("status");
  expect(none.content).toContain("No thread is open");
  const threadId = await all.openTerminal("echo ready; exec sleep 1000", "shop");
  await all.untilShown(threadId, "ready");
  const listed = await run("status");
  expect(listed.isEphemeral).toBe(true);
  expect(listed.content).toContain(
    `**🖥 shop — echo ready; exec sleep 1000** <#${threadId}>\n🖥 terminal · \`shop\` · running · up`,
  );
  expect(listed.content).toContain("echo ready; exec sleep 1000");
  const [choice] = await choices("kill", "thread", "ready");
  expect(choice).toEqual({ name: "🖥 shop — echo ready; exec sleep 1000", value: threadId });

  const killed = await run("kill", { thread: threadId });
  expect(killed.content).toBe(`⏹ Ended <#${threadId}>. Exit code 143.`);
  await untilArchived(threadId);
  expect(all.discord.driver.text(threadId)).toMatch(
    /⏹ Ended with exit code 143\.\nLast lines:\n```\nready\n```/,
  );
  const again = await run("kill", { thread: threadId });
  expect(again.content).toContain("thread: that one is over already.");
});

test("/done outside of our threads says where it belongs", async () => {
  const answer = await run("done");
  expect(answer.content).toContain("/done works only in a terminal's or an agent's thread");
});

test("one thread too many: Discord shows the sidecar's sentence", async () => {
  const threads = [
    await all.openTerminal("cat"),
    await all.openTerminal("cat"),
    await all.openTerminal("cat"),
  ];
  const refused = await run("terminal", { dir: ".", command: "cat" });
  expect(refused.content).toBe("⚠️ 3 of 3 terminals are open; end one before you start another.");
  for (const thread of threads) await run("done", {}, thread);
});

test("/agent: a conversation in a thread of its own", async () => {
  const { driver } = all.discord;
  const prompt = script('fix "it"; $(id) `x`', { text: "It is fixed." });
  const answer = await run("agent", { dir: "shop", prompt });
  const threadId = /<#(\d+)>/.exec(answer.content)?.[1] ?? "";
  expect(driver.findThread(threadId)?.name).toMatch(/^🤖 shop — fix "it"; \$\(id\) `x` @@/);
  const says = (text: string) => driver.until(() => driver.text(threadId).includes(text), { what: text });
  await says("It is fixed.\n-# ");
  driver.post(all.you, threadId, script("second", { text: "And this too." }));
  await says("And this too.\n-# ");
  expect((await all.sidecar.client.getThread(threadId)).type).toBe("agent");
  await run("done", {}, threadId);
  await untilArchived(threadId);
});

test("/agent's engine and model: completed by what is there, refused by name, and what it can't show is said once", async () => {
  const engines = async (typed: string) =>
    (await choices("agent", "engine", typed)).map(({ value }) => value);
  expect(await engines("")).toEqual(["demo"]); // the stand-in for claude says that nobody is signed in
  expect(await engines("nothing")).toEqual([]);
  const models = (options: Record<string, string>) =>
    all.discord.driver.autocomplete(all.you, all.discord.channelId, "agent", options, "model");
  const [model] = await models({ engine: "demo", model: "son" });
  expect(model).toEqual({ name: "sonnet", value: "sonnet" });
  expect(await models({ engine: "command:cat", model: "" })).toEqual([]);

  const refused = async (options: Record<string, string>) =>
    (await run("agent", { dir: "shop", prompt: "hello", ...options })).content;
  expect(await refused({ engine: "nobody" })).toContain("agent.engine");
  expect(await refused({ engine: "command" })).toContain("agent.program");
  expect(await refused({ engine: "command:cat", model: "opus" })).toContain(
    "agent.model: the engine command",
  );

  const answer = await run("agent", { dir: "shop", prompt: "hello", engine: "command:cat" });
  const threadId = /<#(\d+)>/.exec(answer.content)?.[1] ?? "";
  expect((await all.sidecar.client.getThread(threadId)).engine).toBe("command");
  const [opening] = all.discord.driver.messages(threadId);
  expect(opening?.content).toMatch(
    /hello\n```\n-# Engine command: It shows no steps, asks, questions and cost; it hears each message alone/,
  );
  await run("kill", { thread: threadId });
  await untilArchived(threadId);
});

test("/agent as: the directive is completed, and its inputs are typed on one line", async () => {
  const folder = join(all.sidecar.stateDir, "directives");
  mkdirSync(folder, { recursive: true });
  const inputs = "threadmux: { inputs: { depth: { type: number }, why: { type: text } } }";
  writeFileSync(
    join(folder, "a.md"),
    `---\nname: reviewer\ndescription: Reviews\n${inputs}\n---\nLook {{depth}} deep.`,
  );
  expect(await choices("agent", "as", "rev")).toEqual([{ name: "reviewer: Reviews", value: "reviewer" }]);
  expect(await choices("agent", "as", "x")).toEqual([]);
  const prompt = script("look", { text: "Looked." });
  const wrong = await run("agent", { dir: "shop", prompt, as: "reviewer", inputs: "depth=three" });
  expect(wrong.content).toMatch(/inputs\.depth: must be a number; inputs\.why: is missing/);
  const answer = await run("agent", {
    dir: "shop",
    prompt,
    as: "reviewer",
    inputs: 'depth=3 why="some words"',
  });
  const threadId = /<#(\d+)>/.exec(answer.content)?.[1] ?? "";
  expect(await all.sidecar.client.getThread(threadId)).toMatchObject({ directive: "reviewer" });
  await run("done", {}, threadId);
  await untilArchived(threadId);
});

test("/agent without the program on the VM says so, and no thread is left", async () => {
  const before = all.discord.driver.threads().length;
  await all.sidecar.restart({ agent: { ...standIn(), program: "no-such-agent" } });
  const answer = await run("agent", { dir: ".", prompt: "hello" });
  expect(answer.content).toContain('The agent program "no-such-agent" is not installed on the VM');
  expect(all.discord.driver.threads()).toHaveLength(before);
});

test("/key, /resize, the buttons: they act on this thread's terminal", async () => {
  const { driver } = all.discord;
  const threadId = await all.openTerminal(
    "trap 'echo interrupted' INT; stty size; cat -v; stty size; cat -v",
  );
  await all.untilShown(threadId, "24 80");
  expect((await choices("key", "name", "ctrl-c")).map(({ value }) => value)).toEqual(["ctrl-c"]);
  expect((await run("resize", { cols: 100, rows: 30 }, threadId)).content).toBe(
    "The terminal has 100 columns and 30 rows now.",
  );
  expect((await run("key", { name: "Ctrl+D" }, threadId)).content).toBe("Pressed Ctrl+D.");
  await all.untilShown(threadId, "30 100");
  const page = await driver.until(
    () =>
      driver.messages(threadId).findLast(({ buttons }) => buttons.some(({ label }) => label === "Ctrl-C")),
    { what: "a page with buttons" },
  );
  expect(page.buttons.map(({ label }) => label)).toEqual(["Ctrl-C", "↑⏎", "Done"]);
  driver.press(all.you, page.id, "key:C-c");
  await all.untilShown(threadId, "interrupted");
  expect((await run("key", { name: "no such key" }, threadId)).content).toContain(
    'A terminal has no key called "no such key"',
  );
  const end = await driver.until(
    () => driver.messages(threadId).findLast(({ content }) => content.startsWith("⏹ The process ended")),
    { what: "the end, with a button of its own" },
  );
  const done = driver.press(all.you, end.id, "done");
  expect((await done.reply()).content).toContain("⏹ Ended");
  await untilArchived(threadId);
});

test("/screenshot shows a picture, /export the whole output as a file", async () => {
  const threadId = await all.openTerminal(
    "printf '\\033[32mgreen\\033[0m\\n'; seq 1 99; printf '\\033]8;;https://a.example/`````\\007100\\033]8;;\\007\\n'; cat",
  );
  await all.untilShown(threadId, "100");
  const screenshot = await run("screenshot", {}, threadId);
  expect(screenshot.content.replaceAll("\u200b", "")).toBe("```\n100 (https://a.example/`````)\n```");
  const picture = screenshot.attachments[0];
  expect(picture).toMatchObject({ name: "screen.png", contentType: "image/png" });
  expect(
    all.discord.driver
      .attachment(picture?.id ?? "")
      .subarray(1, 4)
      .toString(),
  ).toBe("PNG");
  const file = (await run("export", {}, threadId)).attachments[0];
  const lines = ["green", ...Array.from({ length: 99 }, (_, i) => i + 1), "100 (https://a.example/`````)"];
  expect(all.discord.driver.attachment(file?.id ?? "").toString()).toBe(`${lines.join("\n")}\n`);
  await run("done", {}, threadId);
});

// Promise: S1
test("nobody else is served", async () => {
  const { driver } = all.discord;
  const refused = await driver.command(all.stranger, all.discord.channelId, "status").reply();
  expect(refused.content).toContain("You are not on the list");
  expect(refused.isEphemeral).toBe(true);
  const completed = await driver.autocomplete(
    all.stranger,
    all.discord.channelId,
    "terminal",
    { dir: "" },
    "dir",
  );
  expect(completed).toEqual([]);
});
