/** Every slash command, and what people read when it can't be done. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Everything, startEverything } from "./support/relay.ts";

const AGENT = fileURLToPath(new URL("./fixtures/fake-agent.mjs", import.meta.url));
let all: Everything;

beforeAll(async () => {
  all = await startEverything({
    vm: { maxThreads: 3, agent: { program: AGENT, args: ["--permission-mode", "acceptEdits"] } },
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
  expect(names.sort()).toEqual(["agent", "done", "key", "kill", "resize", "status", "terminal"]);
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
  expect(none.content).toContain("No session is open");
  const threadId = await all.openTerminal("echo ready; exec sleep 1000", "shop");
  await all.untilShown(threadId, "ready");
  const listed = await run("status");
  expect(listed.isEphemeral).toBe(true);
  expect(listed.content).toContain(`<#${threadId}> terminal · \`shop\` · running · up`);
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
  expect(again.content).toContain("no open session has that thread");
});

test("/done outside of a session says where it belongs", async () => {
  const answer = await run("done");
  expect(answer.content).toContain("/done belongs into a thread with a session");
});

test("one thread too many: Discord shows the sidecar's sentence", async () => {
  const threads = [
    await all.openTerminal("cat"),
    await all.openTerminal("cat"),
    await all.openTerminal("cat"),
  ];
  const refused = await run("terminal", { dir: ".", command: "cat" });
  expect(refused.content).toBe("⚠️ 3 of 3 threads are open; end one before you start another.");
  for (const thread of threads) await run("done", {}, thread);
});

test("/agent: a turn a message, the thread's own conversation, in order", async () => {
  const { driver } = all.discord;
  const prompt = 'fix "it"; $(id) `x`\n-- and more';
  const answer = await run("agent", { dir: "shop", prompt });
  const threadId = /<#(\d+)>/.exec(answer.content)?.[1] ?? "";
  expect(driver.findThread(threadId)?.name).toBe('🤖 shop — fix "it"; $(id) `x` -- and more');
  await all.untilShown(threadId, 'message 1 of my conversation: fix "it"; $(id) `x`');
  await driver.until(() => driver.text(threadId).includes("The agent's turn is over: exit code 0"), {
    what: "its end",
  });
  driver.post(all.you, threadId, "second");
  driver.post(all.you, threadId, "third");
  const text = await all.untilShown(threadId, "message 3 of my conversation: third");
  expect(text).toContain("message 2 of my conversation: second");
  expect((await all.sidecar.client.getThread(threadId)).type).toBe("agent");
  await run("done", {}, threadId);
  await untilArchived(threadId);
});

test("/agent without the program on the VM says so, and no thread is left", async () => {
  const before = all.discord.driver.threads().length;
  await all.sidecar.restart({ agent: { program: "no-such-agent", args: [] } });
  const answer = await run("agent", { dir: ".", prompt: "hello" });
  expect(answer.content).toContain('The agent program "no-such-agent" is not installed on the VM');
  expect(all.discord.driver.threads()).toHaveLength(before);
});

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
