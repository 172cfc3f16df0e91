/** The gateway: sessions, resume, intents, close codes. Where it can be, with real discord.js. */
import { Client, Events } from "discord.js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { Releasers } from "../shared/lifecycle.ts";
import { type LocalDiscord, type LocalDiscordOptions, runLocalDiscord } from "./run.ts";
import { botApi } from "./testing.ts";

const GUILDS = 1;
const MESSAGES = 512;
const CONTENT = 32768;

let releasers: Releasers;
beforeEach(() => {
  releasers = new Releasers();
});
afterEach(() => releasers.close());

async function start(options: LocalDiscordOptions = {}): Promise<LocalDiscord> {
  const discord = await runLocalDiscord({ limits: { identify: { windowMs: 0, total: 1000 } }, ...options });
  releasers.add("local Discord", () => discord.close());
  return discord;
}

type Login = { client: Client<true>; heard: string[]; resumes: number[] };

async function login(discord: LocalDiscord, intents = GUILDS | MESSAGES | CONTENT): Promise<Login> {
  const client = new Client({ intents, rest: { api: discord.apiUrl } });
  releasers.add("client", () => client.destroy());
  const heard: string[] = [];
  const resumes: number[] = [];
  client.on(Events.MessageCreate, (message) => heard.push(message.content));
  client.on(Events.ShardResume, (_, replayed) => resumes.push(replayed));
  client.on(Events.ShardError, () => undefined);
  const ready = new Promise<Client<true>>((resolve) => client.once(Events.ClientReady, resolve));
  await client.login(discord.botToken);
  return { client: await ready, heard, resumes };
}

type Frame = { op: number; t: string | null; s: number | null; d: unknown };

/** A bare connection that records what it gets. */
function connect(discord: LocalDiscord, query = "?v=10&encoding=json") {
  const socket = new WebSocket(`${discord.origin.replace("http", "ws")}/gateway${query}`);
  releasers.add("socket", () => socket.terminate());
  const frames: Frame[] = [];
  socket.on("message", (data) => frames.push(JSON.parse(String(data)) as Frame));
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  socket.on("error", () => undefined);
  const until = (op: number) =>
    discord.driver.until(() => frames.find((frame) => frame.op === op), { what: `op ${op}` });
  return {
    frames,
    closed,
    until,
    socket,
    send: async (frame: unknown) => {
      await until(10);
      socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
    },
  };
}

const identify = (discord: LocalDiscord, more: object = {}) => ({
  op: 2,
  d: { token: discord.botToken, intents: GUILDS | MESSAGES, properties: {}, ...more },
});

describe("with discord.js", () => {
  it.each([
    ["a dropped connection", (d: LocalDiscord) => d.driver.gateway.dropAll()],
    ["opcode 7", (d: LocalDiscord) => d.driver.gateway.requestReconnect()],
    ["close code 4000", (d: LocalDiscord) => d.driver.gateway.closeAll(4000)],
  ])("resumes after %s and replays what was missed", async (_, disturb) => {
    const discord = await start();
    const { driver, you, channelId } = discord;
    const { heard, resumes } = await login(discord);
    driver.post(you.id, channelId, "one");
    await driver.until(() => heard.length === 1, { what: "the first message" });
    disturb(discord);
    await driver.until(() => !driver.isBotOnline, { what: "the end of the connection" });
    driver.post(you.id, channelId, "two");
    driver.post(you.id, channelId, "three");
    await driver.until(() => resumes.length === 1, { what: "the resume" });
    expect(heard).toEqual(["one", "two", "three"]);
    expect(driver.stats).toMatchObject({ identifies: 1, resumes: 1 });
  });

  it("identifies anew when the session is gone; what was missed stays missed", async () => {
    const discord = await start();
    const { driver, you, channelId } = discord;
    const { heard, client } = await login(discord);
    driver.gateway.forgetSessions();
    driver.gateway.dropAll();
    await driver.until(() => !driver.isBotOnline, { what: "the end of the connection" });
    driver.post(you.id, channelId, "missed");
    await driver.until(() => driver.stats.identifies === 2, {
      what: "the second identify",
      timeoutMs: 15_000,
    });
    await driver.until(() => driver.isBotOnline, { what: "the new session" });
    driver.post(you.id, channelId, "heard");
    await driver.until(() => heard.length > 0, { what: "a message" });
    expect(heard).toEqual(["heard"]);
    expect(client.isReady()).toBe(true);
  });

  it("sends op 6 again on the same connection after op 9 true", async () => {
    const discord = await start();
    const { driver } = discord;
    const { resumes } = await login(discord);
    driver.gateway.invalidateSessions(true);
    await driver.until(() => resumes.length === 1, { what: "the resume" });
    expect(driver.stats).toMatchObject({ identifies: 1, resumes: 1 });
  });

  it("closes 4014 when the message content intent is not granted, 4004 on a wrong token", async () => {
    const discord = await start();
    discord.driver.setMessageContentGranted(false);
    await expect(login(discord)).rejects.toThrow("Used disallowed intents");
    discord.driver.setMessageContentGranted(true);
    discord.driver.stats.reset();
    const connection = connect(discord);
    await connection.send(identify(discord, { token: "nonsense" }));
    expect(await connection.closed).toBe(4004);
  });

  it("leaves contents empty without the intent, not absent", async () => {
    const discord = await start();
    const { driver, you, channelId } = discord;
    const { heard } = await login(discord, GUILDS | MESSAGES);
    driver.post(you.id, channelId, "secret");
    driver.post(you.id, channelId, `<@${discord.applicationId}> hi`);
    await driver.until(() => heard.length === 2, { what: "both messages" });
    expect(heard).toEqual(["", `<@${discord.applicationId}> hi`]);
  });

  it("stops for good when the token is revoked", async () => {
    const discord = await start();
    const { client } = await login(discord);
    const gone = new Promise<number>((resolve) =>
      client.on(Events.ShardDisconnect, (event) => resolve(event.code)),
    );
    discord.driver.revokeToken();
    expect(await gone).toBe(4004);
    await discord.driver.until(() => !discord.driver.isBotOnline, { what: "the end of the session" });
  });

  it("comes back when connections are taken again", async () => {
    const discord = await start();
    const { driver } = discord;
    await login(discord);
    driver.gateway.isRefusing = true;
    driver.gateway.dropAll();
    await driver.until(() => !driver.isBotOnline, { what: "the end of the connection" });
    driver.gateway.isRefusing = false;
    await driver.until(() => driver.isBotOnline, { what: "the bot", timeoutMs: 15_000 });
  });

  it("takes a connection without acknowledgements for dead and resumes", async () => {
    const discord = await start({ heartbeatIntervalMs: 200 });
    const { driver } = discord;
    const { resumes } = await login(discord);
    await driver.until(() => driver.stats.heartbeats > 0, { what: "a heartbeat" });
    driver.gateway.doesAcknowledge = false;
    await driver.until(() => !driver.isBotOnline, { what: "the zombie to be closed" });
    driver.gateway.doesAcknowledge = true;
    // On a busy machine more acknowledgements may come too late, at so short an interval.
    await driver.until(() => resumes.length > 0, { what: "the resume" });
  });
});

describe("frame by frame", () => {
  it("greets, acknowledges, and sends READY, then the guild with its active threads", async () => {
    const discord = await start();
    const { driver, you } = discord;
    const active = driver.createThread(you.id, "active");
    driver.archiveThread(you.id, driver.createThread(you.id, "archived").id);
    const connection = connect(discord);
    expect(await connection.until(10)).toMatchObject({ d: { heartbeat_interval: 41250 } });
    await connection.send({ op: 1, d: null }); // may come before the identify
    await connection.until(11);
    await connection.send(identify(discord));
    await driver.until(() => connection.frames.length >= 4, { what: "the guild" });
    const [ready, guild] = connection.frames.slice(2);
    expect(ready).toMatchObject({
      t: "READY",
      s: 1,
      d: { guilds: [{ id: discord.guildId, unavailable: true }] },
    });
    expect(guild).toMatchObject({ t: "GUILD_CREATE", s: 2, d: { id: discord.guildId, unavailable: false } });
    const { threads, roles } = (guild as Frame).d as { threads: { id: string }[]; roles: { id: string }[] };
    expect(threads.map((thread) => thread.id)).toEqual([active.id]);
    expect(roles.some((role) => role.id === discord.guildId)).toBe(true);
  });

  it("announces an unarchived thread before the message that brought it back", async () => {
    const discord = await start();
    const { driver, you } = discord;
    const api = botApi(discord);
    const made = await api("POST", `/channels/${discord.channelId}/threads`, { name: "t", type: 11 });
    const id = String(made.body["id"]);
    await api("PATCH", `/channels/${id}`, { archived: true });
    const connection = connect(discord);
    await connection.send(identify(discord));
    await driver.until(() => driver.isBotOnline, { what: "the session" });
    driver.post(you.id, id, "back");
    const names = () => connection.frames.map((frame) => frame.t).slice(3);
    await driver.until(() => names().includes("MESSAGE_CREATE"), { what: "the message" });
    expect(names()).toEqual(["THREAD_UPDATE", "THREAD_MEMBER_UPDATE", "MESSAGE_CREATE"]);
  });

  it.each([
    ["no JSON", "nonsense", 4002],
    ["a payload of more than 4096 bytes", JSON.stringify({ op: 1, d: "x".repeat(4096) }), 4002],
    ["an unknown opcode", { op: 99, d: null }, 4001],
    ["a presence before the identify", { op: 3, d: {} }, 4003],
    ["intents that do not exist", { op: 2, d: { intents: 1 << 30 } }, 4013],
    ["intents that are not granted", { op: 2, d: { intents: 2 } }, 4014],
    ["a shard that is none of ours", { op: 2, d: { intents: 1, shard: [1, 2] } }, 4010],
  ])("closes after %s", async (_, frame, code) => {
    const discord = await start();
    const connection = connect(discord);
    const isIdentify = typeof frame === "object" && frame.op === 2;
    await connection.send(isIdentify ? identify(discord, frame.d as object) : frame);
    expect(await connection.closed).toBe(code);
  });

  it("closes 4012 for another version and 4005 for a second identify", async () => {
    const discord = await start();
    expect(await connect(discord, "?v=6").closed).toBe(4012);
    const connection = connect(discord);
    await connection.send(identify(discord));
    await connection.send(identify(discord));
    expect(await connection.closed).toBe(4005);
  });

  it("takes no connection from a web page", async () => {
    const discord = await start();
    const socket = new WebSocket(`${discord.origin.replace("http", "ws")}/gateway?v=10`, {
      origin: "http://evil.example",
    });
    const failure = await new Promise<Error>((resolve) => socket.on("error", resolve));
    expect(failure.message).toContain("socket hang up");
  });

  it("closes 4008 after 120 sends in a minute", async () => {
    const discord = await start();
    const connection = connect(discord);
    for (let n = 0; n < 121; n += 1) await connection.send({ op: 1, d: null });
    expect(await connection.closed).toBe(4008);
    expect(connection.frames.filter((frame) => frame.op === 11)).toHaveLength(120);
  });

  it("takes one identify in five seconds and counts them down", async () => {
    const discord = await start({ limits: {} });
    const first = connect(discord);
    await first.send(identify(discord));
    await first.until(0);
    const second = connect(discord);
    await second.send(identify(discord));
    expect((await second.until(9)).d).toBe(false);
    const { body } = await botApi(discord)("GET", "/gateway/bot");
    expect(body["session_start_limit"]).toMatchObject({ total: 1000, remaining: 999, max_concurrency: 1 });
  });

  it("ends the session of a client that says goodbye", async () => {
    const discord = await start();
    const { driver } = discord;
    const first = connect(discord);
    await first.send(identify(discord));
    const ready = await first.until(0);
    first.socket.close(1000);
    await driver.until(() => !driver.isBotOnline, { what: "the end of the session" });
    const second = connect(discord);
    const { session_id } = ready.d as { session_id: string };
    await second.send({ op: 6, d: { token: discord.botToken, session_id, seq: 1 } });
    expect((await second.until(9)).d).toBe(false);
  });
});
