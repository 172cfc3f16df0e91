/** Several channels: each with Discord's refusals of its own. */
import { expect, it } from "vitest";
import { WIDE_LIMITS } from "./rate-limits.ts";
import { runLocalDiscord } from "./run.ts";
import { botApi, restTest } from "./testing.ts";

const rest = restTest();
const { api, makeThread, send } = rest;
const code = async (method: string, path: string, body?: unknown) =>
  (await api(method, path, body)).body["code"];
const THREAD = { name: "t", type: 11 };

it("each takes messages and threads of its own, and nothing of another", async () => {
  const { driver, channelId, guildId } = rest.discord;
  const other = driver.createChannel("Shop front").id;
  expect(driver.channels().map(({ name }) => name)).toEqual(["terminals", "shop-front"]);
  const made = await api("POST", `/channels/${other}/threads`, THREAD);
  expect(made.body["parent_id"]).toBe(other);
  const message = await send({ content: "hi" }, other);
  expect(driver.text(channelId)).toBe("");
  // An id of one channel used in another.
  for (const wrong of [
    await code("GET", `/channels/${channelId}/messages/${message.body["id"]}`),
    await code("POST", `/channels/${channelId}/messages/${message.body["id"]}/threads`, THREAD),
  ])
    expect(wrong).toBe(10008);
  const listed = await api("GET", `/guilds/${guildId}/channels`);
  expect(listed.body.map((channel) => Reflect.get(Object(channel), "id"))).toEqual([channelId, other]);
});

it("what the bot may not do in one it may do in the other", async () => {
  const { driver, channelId, guildId } = rest.discord;
  const other = driver.createChannel("shop").id;
  const thread = String((await api("POST", `/channels/${other}/threads`, THREAD)).body["id"]);
  const post = (id: string) => code("POST", `/channels/${id}/messages`, { content: "x" });
  const begin = (id: string) => code("POST", `/channels/${id}/threads`, THREAD);
  driver.denyBot(["createPublicThreads"], other);
  expect([await begin(other), await post(other)]).toEqual([50013, undefined]);
  driver.denyBot(["sendMessages"], other);
  expect(await post(other)).toBe(50013);
  driver.denyBot(["sendMessagesInThreads"], other);
  expect([await post(thread), await post(other)]).toEqual([50013, undefined]);
  driver.denyBot(["viewChannel"], other);
  expect([
    await code("GET", `/channels/${other}`),
    await code("GET", `/channels/${thread}`),
    await post(thread),
  ]).toEqual([50001, 50001, 50001]);
  const active = await api("GET", `/guilds/${guildId}/threads/active`);
  expect(active.body["threads"]).toEqual([]);
  expect([await post(channelId), await begin(channelId)]).toEqual([undefined, undefined]);
  driver.denyBot([], other);
  expect(await post(thread)).toBeUndefined();
});

it("a deleted one takes its threads along; the bot deletes none", async () => {
  const { driver } = rest.discord;
  const other = driver.createChannel("shop").id;
  const thread = String((await api("POST", `/channels/${other}/threads`, THREAD)).body["id"]);
  const kept = await makeThread();
  expect(await code("DELETE", `/channels/${other}`)).toBe(50013);
  driver.deleteChannel(other);
  for (const id of [other, thread]) expect(await code("GET", `/channels/${id}`)).toBe(10003);
  expect(driver.threads().map(({ id }) => id)).toEqual([kept]);
});

it("a person without the right to view one neither reads, writes nor uses a command there", async () => {
  const { driver, guildId, applicationId, users } = rest.discord;
  const other = driver.createChannel("shop").id;
  const robin = users[1]?.id ?? "";
  const commands = `/applications/${applicationId}/guilds/${guildId}/commands`;
  await api("PUT", commands, [{ name: "status", description: "How it stands" }]);
  expect(driver.command(robin, other, "status").state).toBe("waiting");
  driver.denyPerson(robin, ["viewChannel"], other);
  expect(() => driver.command(robin, other, "status")).toThrow();
  expect(() => driver.post(robin, other, "hi")).toThrow("Missing Access");
});

it("a channel of announcements takes threads of a type of its own", async () => {
  const { driver } = rest.discord;
  const news = driver.createChannel("news").id;
  driver.setAnnouncement(news);
  expect((await api("GET", `/channels/${news}`)).body["type"]).toBe(5);
  const begin = (type: number) => api("POST", `/channels/${news}/threads`, { ...THREAD, type });
  expect((await begin(11)).body["code"]).toBe(50035);
  expect((await begin(10)).body["type"]).toBe(10);
  driver.setAnnouncement(news, false);
  expect((await begin(10)).body["code"]).toBe(50035);
  driver.deleteChannel(news);
});

it("a server has as many as it is said to have", async () => {
  const { driver } = rest.discord;
  for (let i = 1; i < 50; i++) driver.createChannel(`c${i}`);
  expect(driver.channels().at(-1)?.name).toBe("c49");
  for (let i = 50; i < 500; i++) driver.createChannel(`c${i}`);
  expect(() => driver.createChannel("one more")).toThrow("Maximum number of server channels reached");
});

it("a server's channels share its 1,000 active threads", async () => {
  const discord = await runLocalDiscord({ limits: WIDE_LIMITS });
  try {
    const { driver, channelId, you } = discord;
    const places = [channelId, ...["a", "b", "c"].map((name) => driver.createChannel(name).id)];
    const threads = Array.from({ length: 1000 }, (_, i) =>
      driver.createThread(you.id, `t${i}`, places[i % places.length]),
    );
    const bot = botApi(discord);
    const begin = async (place: string) =>
      (await bot("POST", `/channels/${place}/threads`, THREAD)).body["code"];
    for (const place of places) expect(await begin(place)).toBe(160006);
    // An archived thread that comes back, by hand or by a message, counts like a new one.
    const [first, second] = threads.map(({ id }) => id);
    if (first === undefined || second === undefined) throw new Error("no threads");
    driver.archiveThread(you.id, first);
    expect(await begin(channelId)).toBeUndefined();
    const back = await bot("PATCH", `/channels/${first}`, { archived: false });
    const post = await bot("POST", `/channels/${first}/messages`, { content: "x" });
    expect([back.body["code"], post.body["code"]]).toEqual([160006, 160006]);
    driver.archiveThread(you.id, second);
    expect((await bot("POST", `/channels/${first}/messages`, { content: "x" })).status).toBe(200);
  } finally {
    await discord.close();
  }
});
