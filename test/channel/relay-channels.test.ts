/** Several channels with one bot: each has its own directory, threads, messages and answers, and nothing of another. */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { channels } from "../../shared/protocol/channels.ts";
import type { SentBody } from "../../shared/protocol/route.ts";
import { STAND_IN_CONFIG, script } from "../support/agents.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until, untilValue } from "../support/wait.ts";

let all: Everything;
/** The one that the relay's settings name, and two that people set. */
let first: string;
let shop: string;
let infra: string;

const set = async (channelId: string, body: SentBody<typeof channels.set>) =>
  (await all.sidecar.client.call(channels.set, { channelId }, { body })).channel;
const rowOf = async (channelId: string) =>
  (await all.sidecar.client.call(channels.list, {})).channels.find(({ id }) => id === channelId);

beforeAll(async () => {
  all = await startEverything({ vm: STAND_IN_CONFIG, isQuick: true });
  for (const dir of ["shop/till", "infra"]) mkdirSync(join(all.sidecar.reposDir, dir), { recursive: true });
  first = all.discord.channelId;
  const { driver } = all.discord;
  [shop, infra] = [driver.createChannel("shop").id, driver.createChannel("infra").id];
  await set(shop, { dir: "shop", mode: "threads", limits: { turns: 9 } });
  await set(infra, { dir: "infra" });
  for (const id of [shop, infra])
    await untilValue(
      "its name",
      () => rowOf(id),
      (row) => row?.name === (id === shop ? "shop" : "infra"),
    );
});
afterAll(() => all?.close());

const says = (text: string): Round => ({ text });
const parentOf = (threadId: string) => all.discord.driver.findThread(threadId)?.parentId;
const threadIn = (content: string) => /<#(\d+)>/.exec(content)?.[1] ?? content;
const use = async (channelId: string, name: string, options: Record<string, string | boolean> = {}) =>
  (await all.discord.driver.command(all.you, channelId, name, options).reply()).content;
/** What the bot says in a channel, but for what stands in its threads. */
const said = (channelId: string) => all.discord.driver.text(channelId);

test("a command's thread begins in its channel, in the channel's directory, with the channel's settings", async () => {
  const terminal = threadIn(await use(shop, "terminal", { command: "pwd" }));
  expect(parentOf(terminal)).toBe(shop);
  await all.untilShown(terminal, "/shop");
  const agent = threadIn(await use(shop, "agent", { prompt: script("Hi", says("Hello.")) }));
  expect(parentOf(agent)).toBe(shop);
  const made = await all.sidecar.client.getThread(agent);
  expect(made).toMatchObject({ dir: "shop", home: { channelId: agent, parentId: shop } });
  const config = readFileSync(threadPath(join(all.sidecar.stateDir, "threads", agent), "config"), "utf8");
  expect(JSON.parse(config)).toMatchObject({ agent: { limits: { turns: 9 } } });
  // A directory that is named goes before the channel's; the thread is where it was asked for all the same.
  const named = threadIn(await use(infra, "terminal", { dir: "shop/till", command: "pwd" }));
  expect(parentOf(named)).toBe(infra);
  await all.untilShown(named, "/shop/till");
  // In a thread it is the channel of that thread.
  const inside = threadIn(await use(terminal, "terminal", { command: "pwd" }));
  expect(parentOf(inside)).toBe(shop);
  // In a channel that nobody serves there is no directory.
  const other = all.discord.driver.createChannel("chat").id;
  expect(await use(other, "terminal", { command: "pwd" })).toContain("dir: is needed here");
  expect(parentOf(threadIn(await use(other, "terminal", { dir: "shop/till", command: "true" })))).toBe(shop);
  for (const id of [terminal, named, inside]) await use(id, "done");
});

test("a channel that is turned into one of announcements goes on, also with new threads", async () => {
  const { driver } = all.discord;
  driver.setAnnouncement(infra);
  const terminal = threadIn(await use(infra, "terminal", { command: "cat" }));
  expect(parentOf(terminal)).toBe(infra);
  driver.post(all.you, terminal, "some news");
  await all.untilShown(terminal, "some news");
  driver.setAnnouncement(infra, false);
  const other = threadIn(await use(infra, "terminal", { command: "cat" }));
  expect(parentOf(other)).toBe(infra);
  for (const id of [terminal, other]) await use(id, "done");
});

test("a message begins a thread in the channel whose mode says so, and is answered there alone", async () => {
  const { driver } = all.discord;
  const before = said(first) + said(infra);
  const message = driver.post(all.you, shop, script("Count", says("There are **three**.")));
  await until("the answer", () => said(shop).includes("There are **three**."));
  expect(parentOf(message.id)).toBe(shop);
  expect(await all.sidecar.client.getThread(message.id)).toMatchObject({ dir: "shop" });
  driver.post(all.you, infra, script("Nothing", says("Nothing.")));
  driver.post(all.you, first, script("Nothing", says("Nothing.")));
  driver.post(all.stranger, shop, script("Strange", says("Strange.")));
  // A message of one channel that is answered in another is none there.
  const second = driver.post(all.you, shop, script("More", says("Four.")));
  await until("the second answer", () => said(shop).includes("Four."));
  expect(parentOf(second.id)).toBe(shop);
  expect(said(first) + said(infra)).toBe(before);
  const threads = await all.sidecar.client.listThreads({ status: "all" });
  expect(threads.filter(({ command }) => /Nothing|Strange/.test(command))).toEqual([]);
});

test("a mode that is switched on begins nothing of what was written before; it counts without a restart", async () => {
  const { driver } = all.discord;
  const old = driver.post(all.you, infra, script("Old", says("Old.")));
  await set(infra, { mode: "threads" });
  // The relay learns of the mode a moment later: a message of that moment begins nothing, so another follows it.
  const written: string[] = [];
  await until(
    "a message to begin a thread",
    () =>
      written.some((id) => driver.findThread(id)) ||
      !written.push(driver.post(all.you, infra, script("New", says("Newest."))).id),
    { intervalMs: 1_000 },
  );
  await until("its answer", () => said(infra).includes("Newest."));
  expect(driver.findThread(old.id)).toBeUndefined();
  await set(infra, { mode: "off" });
});

test("a thread of the API goes to the channel of its directory, a child to its parent's, else the first one", async () => {
  const { client } = all.sidecar;
  const make = async (threadId: string, dir: string) => {
    await client.createThread({ threadId, type: "terminal", dir, command: "cat", home: "discord" });
    const made = await untilValue(
      "its home",
      () => client.getThread(threadId),
      ({ home }) => home?.channelId != null,
    );
    return parentOf(made.home?.channelId ?? "");
  };
  expect(await make("api-shop", "shop/till")).toBe(shop);
  expect(await make("api-infra", "infra")).toBe(infra);
  expect(await make("api-root", ".")).toBe(first);
  for (const id of ["api-shop", "api-infra", "api-root"]) await client.killThread(id);
});

test("asks stand in the channel of their thread alone", async () => {
  const ask = { tools: [{ name: "Bash", input: { command: "rm x" } }] };
  const thread = threadIn(await use(infra, "agent", { prompt: script("Remove", ask, says("Done.")) }));
  await until("the ask in its channel", () => said(infra).includes(thread));
  expect(said(first)).not.toContain(thread);
  expect(said(shop)).not.toContain(thread);
  await use(thread, "done");
});

test("a restart of the relay finds all of them again, each once; ids of one channel mean nothing in another", async () => {
  const { driver } = all.discord;
  const inShop = threadIn(await use(shop, "terminal", { command: "cat" }));
  const inInfra = threadIn(await use(infra, "terminal", { command: "cat" }));
  await all.stopRelay();
  driver.post(all.you, inShop, "for the shop");
  driver.post(all.you, inInfra, "for infra");
  const message = driver.post(all.you, shop, script("Away", says("Back.")));
  // Made by a relay that died before the sidecar knew it: closed, in whichever channel.
  const orphan = driver.createThread(
    Buffer.from(all.discord.botToken.split(".")[0] ?? "", "base64url").toString(),
    "orphan",
    infra,
  );
  const peoples = driver.createThread(all.you, "ours", infra);
  await all.startRelay();
  await all.untilShown(inShop, "for the shop");
  await all.untilShown(inInfra, "for infra");
  await until("the answer", () => said(shop).includes("Back."));
  await until("the orphan to be closed", () => driver.findThread(orphan.id)?.isArchived);
  expect(driver.findThread(peoples.id)?.isArchived).toBe(false);
  expect(all.terminalText(inShop)).not.toContain("infra");
  expect(all.terminalText(inInfra)).not.toContain("shop");
  expect(driver.findThread(message.id)?.parentId).toBe(shop);
  // A message of the shop, asked for from infra.
  for (const [channelId, messageId] of [[infra, message.id]] as const) {
    const posted = driver.messages(channelId).at(-1);
    expect(posted?.id).not.toBe(messageId);
  }
  await use(inShop, "done");
  await use(inInfra, "done");
});

test("a channel that is lost stays as a row and is said once; its threads and the other channels go on", async () => {
  const { driver } = all.discord;
  const toys = driver.createChannel("toys").id;
  await set(toys, { dir: "infra", mode: "threads" });
  await untilValue(
    "its name",
    () => rowOf(toys),
    (row) => row?.name === "toys",
  );
  const lost = threadIn(await use(toys, "terminal", { command: "cat" }));
  const kept = threadIn(await use(shop, "terminal", { command: "cat" }));
  driver.deleteChannel(toys);
  await untilValue(
    "its problem",
    () => rowOf(toys),
    (row) => row?.problem !== null,
  );
  expect(await rowOf(toys)).toMatchObject({
    name: "toys",
    dir: "infra",
    problem: expect.stringContaining("no such channel"),
  });
  const tellings = () =>
    driver.messages(first).filter(({ content }) => content.includes("I can't serve #toys"));
  await until("that it is said", () => tellings().length === 1);
  driver.post(all.you, kept, "still here");
  await all.untilShown(kept, "still here");
  await all.stopRelay();
  await all.startRelay();
  driver.post(all.you, kept, "after the restart");
  await all.untilShown(kept, "after the restart");
  expect(await all.sidecar.client.getThread(lost)).toMatchObject({ status: "running" });
  expect(tellings()).toHaveLength(1);
  // What is made for it now goes where it can be shown.
  await all.sidecar.client.createThread({
    threadId: "late",
    type: "terminal",
    dir: "infra",
    command: "cat",
    home: "discord",
  });
  const late = await untilValue(
    "its home",
    () => all.sidecar.client.getThread("late"),
    ({ home }) => home?.channelId != null,
  );
  expect(parentOf(late.home?.channelId ?? "")).toBe(infra);
  for (const id of [lost, "late"]) await all.sidecar.client.killThread(id);
  await use(kept, "done");
});

test("a channel in which the bot may not write says which permission it lacks; the others go on", async () => {
  const { driver } = all.discord;
  driver.denyBot(["sendMessages", "createPublicThreads"], infra);
  await untilValue(
    "its problem",
    () => rowOf(infra),
    (row) => row?.problem !== null,
  );
  expect((await rowOf(infra))?.problem).toBe("I lack Send Messages, Create Public Threads there.");
  expect(await use(infra, "terminal", { command: "true" })).toContain("I may not create threads here");
  expect(parentOf(threadIn(await use(shop, "terminal", { command: "true" })))).toBe(shop);
  driver.denyBot([], infra);
  await untilValue(
    "no problem",
    () => rowOf(infra),
    (row) => row?.problem === null,
  );
  expect(parentOf(threadIn(await use(infra, "terminal", { command: "true" })))).toBe(infra);
});

test("a role of the bot's that gives it back what it lacked, and one that no longer does, count at once", async () => {
  const { driver, applicationId } = all.discord;
  const problem = (isThere: boolean) =>
    untilValue(
      isThere ? "its problem" : "no problem",
      () => rowOf(infra),
      (row) => (row?.problem !== null) === isThere,
    );
  driver.denyBot(["sendMessages"], infra);
  await problem(true);
  const helper = driver.roles.create("helper", ["administrator"]);
  driver.roles.give(applicationId, helper.id);
  await problem(false);
  driver.roles.allow(helper.id, []);
  await problem(true);
  driver.denyBot([], infra);
  await problem(false);
});

test("a stranger gets nothing in any channel", async () => {
  const { driver } = all.discord;
  const count = (await all.sidecar.client.listThreads({ status: "all" })).length;
  for (const channelId of [first, shop, infra]) {
    const reply = await driver.command(all.stranger, channelId, "terminal", { command: "id" }).reply();
    expect(reply).toMatchObject({ content: expect.stringContaining("not on the list"), isEphemeral: true });
    expect(await driver.autocomplete(all.stranger, channelId, "terminal", { command: "id" }, "dir")).toEqual(
      [],
    );
  }
  expect(await all.sidecar.client.listThreads({ status: "all" })).toHaveLength(count);
});
