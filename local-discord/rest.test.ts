/** Discord's refusals, one by one: status, code and the field that is named. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WIDE_LIMITS } from "./rate-limits.ts";
import { type LocalDiscord, runLocalDiscord } from "./run.ts";
import { type Api, botApi, type TestClock, testClock } from "./testing.ts";

const HOUR_MS = 3_600_000;

let discord: LocalDiscord;
let api: Api;
let clock: TestClock;

beforeEach(async () => {
  clock = testClock();
  discord = await runLocalDiscord({
    now: clock.now,
    limits: { ...WIDE_LIMITS, activeThreads: 3 },
    users: [{ name: "Robin" }],
  });
  api = botApi(discord);
});
afterEach(() => discord.close());

const messages = () => `/channels/${discord.channelId}/messages`;
const send = async (body: object, channel = discord.channelId) =>
  api("POST", `/channels/${channel}/messages`, body);
const makeThread = async (body: object = { name: "t", type: 11 }) => {
  const made = await api("POST", `/channels/${discord.channelId}/threads`, body);
  expect(made.status).toBe(201);
  return String(made.body["id"]);
};

describe("messages", () => {
  it.each([
    ["nothing at all", {}, 400, 50006, undefined],
    ["white space only", { content: " \n\t " }, 400, 50006, undefined],
    ["2001 code points", { content: "x".repeat(2001) }, 400, 50035, "content"],
    ["a number as content", { content: 5 }, 400, 50035, "content"],
    ["11 embeds", { embeds: Array(11).fill({ title: "t" }) }, 400, 50035, "embeds"],
    ["an embed title of 257", { embeds: [{ title: "x".repeat(257) }] }, 400, 50035, "embeds"],
    [
      "embeds of 6001 in all",
      { embeds: [1, 2].map(() => ({ description: "x".repeat(3001) })) },
      400,
      50035,
      "embeds",
    ],
    ["a field without a value", { embeds: [{ fields: [{ name: "n" }] }] }, 400, 50035, "embeds"],
    [
      "6 rows",
      { content: "x", components: Array.from({ length: 6 }, (_, n) => row([`b${n}`])) },
      400,
      50035,
      "components",
    ],
    [
      "6 buttons in a row",
      { content: "x", components: [row(["1", "2", "3", "4", "5", "6"])] },
      400,
      50035,
      "components",
    ],
    ["the same custom_id twice", { content: "x", components: [row(["a", "a"])] }, 400, 50035, "components"],
    ["a custom_id of 101", { content: "x", components: [row(["x".repeat(101)])] }, 400, 50035, "components"],
    [
      "layout components without their flag",
      { components: [{ type: 10, content: "x" }] },
      400,
      50035,
      "components",
    ],
    [
      "content beside layout components",
      { content: "x", flags: 1 << 15, components: [{ type: 10, content: "x" }] },
      400,
      50035,
      "content",
    ],
    ["a nonce of 26", { content: "x", nonce: "n".repeat(26) }, 400, 50035, "nonce"],
    [
      "parse and users together",
      { content: "x", allowed_mentions: { parse: ["users"], users: ["1"] } },
      400,
      50035,
      "allowed_mentions",
    ],
    [
      "a reply to nothing",
      { content: "x", message_reference: { message_id: "1" } },
      400,
      50035,
      "message_reference",
    ],
  ])("refuses %s", async (_, body, status, code, field) => {
    const answer = await send(body);
    expect([answer.status, answer.body["code"]]).toEqual([status, code]);
    if (field !== undefined) expect(Object.keys(answer.body["errors"] as object)).toEqual([field]);
    expect(discord.driver.messages(discord.channelId)).toEqual([]);
  });

  it("names the field as Discord does", async () => {
    expect((await send({ content: "x".repeat(2001) })).body).toEqual({
      message: "Invalid Form Body",
      code: 50035,
      errors: {
        content: {
          _errors: [{ code: "BASE_TYPE_MAX_LENGTH", message: "Must be 2000 or fewer in length." }],
        },
      },
    });
    const embed = await send({ embeds: [{ title: "t" }, { title: "x".repeat(257) }] });
    expect(embed.body["errors"]).toHaveProperty("embeds.1.title._errors");
  });

  it("takes 2000 code points, trims, ignores unknown fields", async () => {
    const emoji = "😀".repeat(2000);
    expect((await send({ content: emoji })).body["content"]).toBe(emoji);
    const answer = await send({ content: "  two\nlines \n", what: { is: "this" } });
    expect(answer.body["content"]).toBe("two\nlines");
  });

  it("edits and deletes only what is its own", async () => {
    const { you, driver, channelId } = discord;
    const theirs = driver.post(you.id, channelId, "mine");
    const edit = await api("PATCH", `${messages()}/${theirs.id}`, { content: "stolen" });
    expect([edit.status, edit.body["code"]]).toEqual([403, 50005]);
    const removal = await api("DELETE", `${messages()}/${theirs.id}`);
    expect([removal.status, removal.body["code"]]).toEqual([403, 50013]);
    expect((await api("PATCH", `${messages()}/99`, { content: "x" })).body["code"]).toBe(10008);

    const own = await send({ content: "one" });
    const edited = await api("PATCH", `${messages()}/${own.body["id"]}`, { content: "two" });
    expect(edited.body["edited_timestamp"]).not.toBeNull();
    expect((await api("PATCH", `${messages()}/${own.body["id"]}`, { content: "" })).body["code"]).toBe(50006);
    expect((await api("DELETE", `${messages()}/${own.body["id"]}`)).status).toBe(204);
  });

  it("lists newest first; after= gives the closest ones", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push(String((await send({ content: `m${n}` })).body["id"]));
    const contents = async (query: string) =>
      ((await api("GET", `${messages()}${query}`)).body as { content: string }[]).map((m) => m.content);
    expect(await contents("")).toEqual(["m4", "m3", "m2", "m1", "m0"]);
    expect(await contents(`?after=${ids[0]}&limit=2`)).toEqual(["m2", "m1"]);
    expect(await contents(`?before=${ids[3]}&limit=2`)).toEqual(["m2", "m1"]);
    expect(await contents(`?around=${ids[2]}&limit=3`)).toEqual(["m3", "m2", "m1"]);
    expect((await api("GET", `${messages()}?limit=101`)).body["code"]).toBe(50035);
  });

  it("makes one message of an enforced nonce, and 404 of a deleted one", async () => {
    const body = { content: "once", nonce: "n1", enforce_nonce: true };
    const first = await send(body);
    expect((await send(body)).body["id"]).toBe(first.body["id"]);
    expect(discord.driver.messages(discord.channelId)).toHaveLength(1);
    await api("DELETE", `${messages()}/${first.body["id"]}`);
    const third = await send(body);
    expect([third.status, third.body["code"]]).toEqual([404, 10008]);
    clock.advance(299_000);
    expect((await send(body)).status).toBe(404);
    clock.advance(2_000); // five minutes after the first
    expect((await send(body)).status).toBe(200);
    // Without enforce_nonce a nonce is only echoed.
    await send({ content: "a", nonce: "n2" });
    await send({ content: "b", nonce: "n2" });
    expect(discord.driver.messages(discord.channelId)).toHaveLength(3);
  });

  it("tells the nonce to who sent it, and to nobody who reads", async () => {
    const sent = await send({ content: "a", nonce: "n3" });
    expect(sent.body["nonce"]).toBe("n3");
    const path = `${messages()}/${sent.body["id"]}`;
    expect((await api("GET", path)).body).not.toHaveProperty("nonce");
    expect((await api("PATCH", path, { content: "b" })).body).not.toHaveProperty("nonce");
    const [listed] = (await api("GET", messages())).body as unknown as object[];
    expect(listed).toMatchObject({ content: "b" });
    expect(listed).not.toHaveProperty("nonce");
  });

  it("remembers whom a message notified: not who wrote it, nobody by an edit or a silent one", async () => {
    const robin = discord.users[1]?.id ?? "";
    const content = `<@${discord.you.id}>`;
    const plain = await send({ content: "x" });
    await api("PATCH", `${messages()}/${plain.body["id"]}`, { content });
    await send({ content, flags: 4096 });
    await send({ content });
    discord.driver.post(discord.you.id, discord.channelId, `<@${discord.you.id}> <@${robin}>`);
    const seen = discord.driver.messages(discord.channelId);
    expect(seen.map((message) => message.notified)).toEqual([[], [], [discord.you.id], [robin]]);
    expect(seen.map((message) => message.isSilent)).toEqual([false, true, false, false]);
  });

  it("pings only whom allowed_mentions allows", async () => {
    const robin = discord.users[1]?.id ?? "";
    const content = `<@${discord.you.id}> <@${robin}> @everyone`;
    await send({ content });
    await send({ content, allowed_mentions: { parse: [] } });
    await send({ content, allowed_mentions: { parse: [], users: [robin] } });
    const seen = discord.driver.messages(discord.channelId);
    expect(seen.map((m) => m.mentions)).toEqual([[discord.you.id, robin], [], [robin]]);
    expect(seen.some((m) => m.isEveryonePinged)).toBe(false); // the bot may not
  });

  it("limits edits of messages older than an hour behind healthy headers", async () => {
    const { body } = await send({ content: "old" });
    clock.advance(HOUR_MS + 1000);
    const edit = (n: number) => api("PATCH", `${messages()}/${body["id"]}`, { content: `v${n}` });
    for (const n of [1, 2, 3]) expect((await edit(n)).status).toBe(200);
    const fourth = await edit(4);
    expect([fourth.status, fourth.body["code"]]).toEqual([429, 30046]);
    expect(Number(fourth.headers.get("x-ratelimit-remaining"))).toBeGreaterThan(0);
    expect(Number(fourth.headers.get("retry-after"))).toBe(6);
    clock.advance(6000);
    expect((await edit(5)).status).toBe(200);
  });

  it("keeps, adds and drops files of an edit", async () => {
    const form = (payload: object, ...files: string[]) => {
      const data = new FormData();
      data.set("payload_json", JSON.stringify(payload));
      files.forEach((text, n) => {
        data.append(`files[${n}]`, new Blob([text]), `${text}.txt`);
      });
      return data;
    };
    const sent = await api("POST", messages(), form({ content: "f" }, "a", "b"));
    const [first] = sent.body["attachments"] as { id: string; filename: string }[];
    const path = `${messages()}/${sent.body["id"]}`;
    const names = (answer: { body: Record<string, unknown> }) =>
      (answer.body["attachments"] as { filename: string }[]).map((file) => file.filename);
    expect(names(await api("PATCH", path, { content: "g" }))).toEqual(["a.txt", "b.txt"]);
    const changed = form({ attachments: [{ id: first?.id }, { id: "0" }] }, "c");
    expect(names(await api("PATCH", path, changed))).toEqual(["a.txt", "c.txt"]);
  });
});

describe("threads", () => {
  it("are public ones, said so, with a checked name and duration", async () => {
    expect((await api("GET", `/channels/${await makeThread()}`)).body["type"]).toBe(11);
    for (const body of [
      { name: "x" }, // a private one at Discord
      { name: "x", type: 12 },
      { name: "", type: 11 },
      { name: "x".repeat(101), type: 11 },
      { name: "x", type: 11, auto_archive_duration: 61 },
      { type: 11 },
    ]) {
      expect((await api("POST", `/channels/${discord.channelId}/threads`, body)).body["code"]).toBe(50035);
    }
  });

  it("one to a message, with the message's id", async () => {
    const message = await send({ content: "m" });
    const path = `${messages()}/${message.body["id"]}/threads`;
    expect((await api("POST", path, { name: "t" })).body["id"]).toBe(message.body["id"]);
    expect((await api("POST", path, { name: "t" })).body["code"]).toBe(160004);
  });

  it("take no edits, reactions or changes while archived", async () => {
    const id = await makeThread();
    const message = await send({ content: "m" }, id);
    const path = `/channels/${id}/messages/${message.body["id"]}`;
    await api("PATCH", `/channels/${id}`, { archived: true });
    const codes = [
      await api("PATCH", path, { content: "x" }),
      await api("PUT", `${path}/reactions/%E2%9C%85/@me`),
      await api("PATCH", `/channels/${id}`, { locked: true }),
      await api("PUT", `/channels/${id}/thread-members/@me`),
    ].map((answer) => [answer.status, answer.body["code"]]);
    expect(codes).toEqual(Array(4).fill([400, 50083]));
    expect((await api("PATCH", `/channels/${id}`, { archived: false, locked: true })).status).toBe(200);
  });

  it("come back by a message unless locked", async () => {
    const id = await makeThread();
    await api("PATCH", `/channels/${id}`, { archived: true });
    expect((await send({ content: "back" }, id)).status).toBe(200);
    expect(discord.driver.findThread(id)?.isArchived).toBe(false);
    await api("PATCH", `/channels/${id}`, { archived: true, locked: true });
    expect((await send({ content: "no" }, id)).body["code"]).toBe(50083);
    discord.driver.denyBot(["manageThreads"]);
    expect((await send({ content: "no" }, id)).body["code"]).toBe(160005);
    expect(() => discord.driver.post(discord.users[1]?.id ?? "", id, "no")).toThrow("Thread is locked");
  });

  it("are capped while active", async () => {
    const ids = [await makeThread(), await makeThread(), await makeThread()];
    const path = `/channels/${discord.channelId}/threads`;
    expect((await api("POST", path, { name: "t", type: 11 })).body["code"]).toBe(160006);
    await api("PATCH", `/channels/${ids[0]}`, { archived: true });
    await makeThread();
    expect((await send({ content: "x" }, ids[0])).body["code"]).toBe(160006);
  });

  it("archive themselves when quiet; an edit is no activity", async () => {
    const id = await makeThread({ name: "t", type: 11, auto_archive_duration: 60 });
    const message = await send({ content: "m" }, id);
    clock.advance(HOUR_MS - 1000);
    await api("PATCH", `/channels/${id}/messages/${message.body["id"]}`, { content: "still here" });
    expect(discord.driver.findThread(id)?.isArchived).toBe(false);
    clock.advance(1000);
    discord.driver.tick();
    expect(discord.driver.findThread(id)?.isArchived).toBe(true);
  });

  it("are listed: active by id, archived by time of archiving", async () => {
    const ids = [await makeThread(), await makeThread(), await makeThread()];
    const listed = async (path: string) =>
      ((await api("GET", path)).body["threads"] as { id: string }[]).map((thread) => thread.id);
    expect(await listed(`/guilds/${discord.guildId}/threads/active`)).toEqual([...ids].reverse());
    for (const id of [ids[1], ids[2], ids[0]]) {
      clock.advance(1000);
      await api("PATCH", `/channels/${id}`, { archived: true });
    }
    const archived = `/channels/${discord.channelId}/threads/archived/public`;
    expect(await listed(archived)).toEqual([ids[0], ids[2], ids[1]]);
    const page = await api("GET", `${archived}?limit=2`);
    expect(page.body["has_more"]).toBe(true);
    const last = (page.body["threads"] as { thread_metadata: { archive_timestamp: string } }[])[1];
    const before = encodeURIComponent(last?.thread_metadata.archive_timestamp ?? "");
    expect(await listed(`${archived}?before=${before}`)).toEqual([ids[1]]);
    expect((await api("GET", `${archived}?before=yesterday`)).body["code"]).toBe(50035);
  });

  it("say so when renamed, twice in ten minutes and no more", async () => {
    const id = await makeThread();
    const rename = (name: string) => api("PATCH", `/channels/${id}`, { name });
    expect((await rename("a")).status).toBe(200);
    expect((await rename("b")).status).toBe(200);
    const third = await rename("c");
    expect(third.status).toBe(429);
    expect(Number(third.headers.get("x-ratelimit-remaining"))).toBeGreaterThan(0);
    expect(Number(third.headers.get("retry-after"))).toBe(600);
    expect(discord.driver.messages(id).map((m) => [m.type, m.content])).toEqual([
      [4, "a"],
      [4, "b"],
    ]);
    expect((await api("PATCH", `/channels/${id}`, { archived: true })).status).toBe(200);
  });

  it("vanish when deleted", async () => {
    const id = await makeThread();
    discord.driver.deleteThread(discord.you.id, id);
    expect((await api("GET", `/channels/${id}`)).body["code"]).toBe(10003);
    expect((await send({ content: "x" }, id)).body["code"]).toBe(10003);
  });
});

describe("permissions", () => {
  it("50001 without a view, 50013 without the right", async () => {
    const id = await makeThread();
    const { driver } = discord;
    driver.denyBot(["sendMessages"]);
    expect((await send({ content: "x" })).body["code"]).toBe(50013);
    expect((await send({ content: "x" }, id)).status).toBe(200); // threads have a right of their own
    driver.denyBot(["sendMessagesInThreads"]);
    expect((await send({ content: "x" }, id)).body["code"]).toBe(50013);
    driver.denyBot(["embedLinks"]);
    expect((await send({ embeds: [{ title: "x" }] })).body["code"]).toBe(50013);
    driver.denyBot(["createPublicThreads"]);
    const path = `/channels/${discord.channelId}/threads`;
    expect((await api("POST", path, { name: "x", type: 11 })).body["code"]).toBe(50013);
    driver.denyBot(["readMessageHistory"]);
    expect((await api("GET", messages())).body).toEqual([]);
    driver.denyBot(["viewChannel"]);
    expect([(await send({ content: "x" })).status, (await send({ content: "x" })).body["code"]]).toEqual([
      403, 50001,
    ]);
    expect((await api("GET", `/channels/${id}`)).body["code"]).toBe(50001);
    driver.denyBot([]);
    expect((await send({ content: "x" })).status).toBe(200);
    expect(driver.stats.invalid).toBe(7);
  });

  it("hides what people write without the message content intent", async () => {
    const { driver, you, channelId } = discord;
    driver.setMessageContentGranted(false);
    driver.post(you.id, channelId, "secret");
    driver.post(you.id, channelId, `<@${discord.applicationId}> open`);
    await send({ content: "own" });
    const seen = (await api("GET", messages())).body as { content: string }[];
    expect(seen.map((m) => m.content)).toEqual(["own", `<@${discord.applicationId}> open`, ""]);
  });
});

describe("requests", () => {
  it.each([
    ["no token", "GET", "/users/@me", null, 401, 0],
    ["a wrong token", "GET", "/users/@me", "Bot nonsense", 401, 0],
    ["a person's kind of token", "GET", "/users/@me", "Bearer nonsense", 401, 0],
    ["an unknown route", "GET", "/nowhere", undefined, 404, 0],
    ["a wrong method", "DELETE", "/gateway/bot", undefined, 405, 0],
    ["a channel that is no id", "GET", "/channels/abc", undefined, 400, 50035],
    ["an unknown channel", "GET", "/channels/12345678901234567", undefined, 404, 10003],
  ] as const)("refuses %s", async (_, method, path, token, status, code) => {
    const answer = await api(method, path, undefined, token === undefined ? {} : { token });
    expect([answer.status, answer.body["code"]]).toEqual([status, code]);
  });

  it("refuses broken JSON, other content types and too much", async () => {
    const json = { headers: { "content-type": "application/json" } };
    expect((await api("POST", messages(), "{", json)).body["code"]).toBe(50109);
    const plain = { headers: { "content-type": "text/plain" } };
    expect((await api("POST", messages(), "hi", plain)).body["code"]).toBe(50035);
    const large = await api("POST", messages(), "x".repeat(26 * 1024 * 1024), json);
    expect([large.status, large.body["code"]]).toEqual([413, 40005]);
  });

  it("knows versions 9 and 10 only", async () => {
    const answer = await fetch(`${discord.apiUrl}/v8/gateway`, {
      headers: { authorization: `Bot ${discord.botToken}` },
    });
    expect(await answer.json()).toMatchObject({ code: 50041 });
  });

  it("stops taking a token that was revoked", async () => {
    const old = `Bot ${discord.botToken}`;
    discord.driver.revokeToken();
    expect((await api("GET", "/users/@me", undefined, { token: old })).status).toBe(401);
    expect((await api("GET", "/users/@me")).status).toBe(200);
  });
});

function row(customIds: string[]): object {
  return {
    type: 1,
    components: customIds.map((custom_id) => ({ type: 2, style: 1, label: "b", custom_id })),
  };
}
