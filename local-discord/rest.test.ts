/** Discord's refusals, one by one: status, code and the field that is named. */
import { describe, expect, it } from "vitest";
import { restTest } from "./testing.ts";

const HOUR_MS = 3_600_000;
const rest = restTest();
const { api, send } = rest;
const messages = () => `/channels/${rest.discord.channelId}/messages`;

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
    ["a blank label", { content: "x", components: [row(["a"], " ")] }, 400, 50035, "components"],
    [
      "an option without a label",
      { content: "x", components: [list([["", "1"]])] },
      400,
      50035,
      "components",
    ],
    [
      "an option's label of 101",
      { content: "x", components: [list([["x".repeat(101), "1"]])] },
      400,
      50035,
      "components",
    ],
    [
      "the same value twice",
      {
        content: "x",
        components: [
          list([
            ["a", "1"],
            ["b", "1"],
          ]),
        ],
      },
      400,
      50035,
      "components",
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
    expect(rest.discord.driver.messages(rest.discord.channelId)).toEqual([]);
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
    const { you, driver, channelId } = rest.discord;
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
    expect(rest.discord.driver.messages(rest.discord.channelId)).toHaveLength(1);
    await api("DELETE", `${messages()}/${first.body["id"]}`);
    const third = await send(body);
    expect([third.status, third.body["code"]]).toEqual([404, 10008]);
    rest.clock.advance(299_000);
    expect((await send(body)).status).toBe(404);
    rest.clock.advance(2_000); // five minutes after the first
    expect((await send(body)).status).toBe(200);
    // Without enforce_nonce a nonce is only echoed.
    await send({ content: "a", nonce: "n2" });
    await send({ content: "b", nonce: "n2" });
    expect(rest.discord.driver.messages(rest.discord.channelId)).toHaveLength(3);
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
    const robin = rest.discord.users[1]?.id ?? "";
    const content = `<@${rest.discord.you.id}>`;
    const plain = await send({ content: "x" });
    await api("PATCH", `${messages()}/${plain.body["id"]}`, { content });
    await send({ content, flags: 4096 });
    await send({ content });
    rest.discord.driver.post(
      rest.discord.you.id,
      rest.discord.channelId,
      `<@${rest.discord.you.id}> <@${robin}>`,
    );
    const seen = rest.discord.driver.messages(rest.discord.channelId);
    expect(seen.map((message) => message.notified)).toEqual([[], [], [rest.discord.you.id], [robin]]);
    expect(seen.map((message) => message.isSilent)).toEqual([false, true, false, false]);
  });

  it("pings only whom allowed_mentions allows", async () => {
    const robin = rest.discord.users[1]?.id ?? "";
    const content = `<@${rest.discord.you.id}> <@${robin}> @everyone`;
    await send({ content });
    await send({ content, allowed_mentions: { parse: [] } });
    await send({ content, allowed_mentions: { parse: [], users: [robin] } });
    const seen = rest.discord.driver.messages(rest.discord.channelId);
    expect(seen.map((m) => m.mentions)).toEqual([[rest.discord.you.id, robin], [], [robin]]);
    expect(seen.some((m) => m.isEveryonePinged)).toBe(false); // the bot may not
  });

  it("limits edits of messages older than an hour behind healthy headers", async () => {
    const { body } = await send({ content: "old" });
    rest.clock.advance(HOUR_MS + 1000);
    const edit = (n: number) => api("PATCH", `${messages()}/${body["id"]}`, { content: `v${n}` });
    for (const n of [1, 2, 3]) expect((await edit(n)).status).toBe(200);
    const fourth = await edit(4);
    expect([fourth.status, fourth.body["code"]]).toEqual([429, 30046]);
    expect(Number(fourth.headers.get("x-ratelimit-remaining"))).toBeGreaterThan(0);
    expect(Number(fourth.headers.get("retry-after"))).toBe(6);
    rest.clock.advance(6000);
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
    const answer = await fetch(`${rest.discord.apiUrl}/v8/gateway`, {
      headers: { authorization: `Bot ${rest.discord.botToken}` },
    });
    expect(await answer.json()).toMatchObject({ code: 50041 });
  });

  it("stops taking a token that was revoked", async () => {
    const old = `Bot ${rest.discord.botToken}`;
    rest.discord.driver.revokeToken();
    expect((await api("GET", "/users/@me", undefined, { token: old })).status).toBe(401);
    expect((await api("GET", "/users/@me")).status).toBe(200);
  });
});

function row(customIds: string[], label = "b"): object {
  return {
    type: 1,
    components: customIds.map((custom_id) => ({ type: 2, style: 1, label, custom_id })),
  };
}

/** A list to choose from, by the labels and values of its options. */
function list(options: [string, string][]): object {
  const select = { type: 3, custom_id: "l", options: options.map(([label, value]) => ({ label, value })) };
  return { type: 1, components: [select] };
}
