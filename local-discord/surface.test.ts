/** What agents' threads use of Discord beside plain messages: message commands, lists, forms, sub-commands. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Interaction } from "./interaction-store.ts";
import { WIDE_LIMITS } from "./rate-limits.ts";
import { type LocalDiscord, runLocalDiscord } from "./run.ts";
import { type Api, botApi } from "./testing.ts";

let discord: LocalDiscord;
let api: Api;
let last: Interaction;

beforeEach(async () => {
  discord = await runLocalDiscord({ limits: WIDE_LIMITS });
  api = botApi(discord);
  discord.driver.onEvent((event) => {
    if (event.type === "interaction-create") last = event.interaction;
  });
});
afterEach(() => discord.close());

const register = (...commands: object[]) =>
  api("PUT", `/applications/${discord.applicationId}/guilds/${discord.guildId}/commands`, commands);
const answer = async (body: object) => {
  const callback = `/interactions/${last.id}/${last.token}/callback?with_response=true`;
  const { status, body: answered } = await api("POST", callback, body, { token: null });
  expect(status).toBe(200);
  return answered;
};
const metadata = async (messageId: string) => {
  const { body } = await api("GET", `/channels/${discord.channelId}/messages/${messageId}`);
  return body["interaction_metadata"];
};
const sendComponents = async (...components: object[]) => {
  const body = { content: "c", components: components.map((inner) => ({ type: 1, components: [inner] })) };
  return String((await api("POST", `/channels/${discord.channelId}/messages`, body)).body["id"]);
};

describe("a message command", () => {
  it("gives the bot the whole message, and its answer says what it was used on", async () => {
    await register({ type: 3, name: "Fork from here" }, { name: "run", description: "d" });
    const { driver, you, channelId } = discord;
    const target = driver.post(you.id, channelId, "the message");
    const use = driver.messageCommand(you.id, channelId, target.id, "Fork from here");
    expect(last.data).toMatchObject({
      type: 3,
      name: "Fork from here",
      target_id: target.id,
      resolved: { messages: { [target.id]: { content: "the message" } } },
    });
    await answer({ type: 4, data: { content: "forked" } });
    const reply = await use.reply();
    expect(reply).toMatchObject({
      type: 23,
      interaction: { kind: "message command", name: "Fork from here", user: "You" },
    });
    expect(await metadata(reply.id)).toMatchObject({ type: 2, target_message_id: target.id });
    // It is no slash command, and a slash command is none of a message.
    expect(() => driver.command(you.id, channelId, "Fork from here")).toThrow("no command");
    expect(() => driver.messageCommand(you.id, channelId, target.id, "run")).toThrow("no message command");
    expect(() => driver.messageCommand(you.id, channelId, "1", "Fork from here")).toThrow("no such message");
  });
});

describe("a list to choose from", () => {
  const options = ["a", "b", "c"].map((value) => ({ label: value.toUpperCase(), value }));

  it("takes what it offers, as many as it says, each once", async () => {
    const list = { type: 3, custom_id: "l", options, min_values: 1, max_values: 2 };
    const id = await sendComponents(list);
    const { driver, you } = discord;
    for (const values of [[], ["a", "b", "c"], ["a", "a"], ["d"]]) {
      expect(() => driver.select(you.id, id, "l", values)).toThrow(/Choose 1 to 2|once|not among/);
    }
    const use = driver.select(you.id, id, "l", ["a", "c"]);
    expect(last.data).toEqual({ custom_id: "l", component_type: 3, values: ["a", "c"] });
    await answer({ type: 4, data: { content: "chosen" } });
    const reply = await use.reply();
    expect(await metadata(reply.id)).toMatchObject({ type: 3, interacted_message_id: id });
  });
});

describe("a form", () => {
  const input = { type: 4, custom_id: "why", label: "Why", style: 1, min_length: 3, max_length: 5 };
  const rows = [
    { type: 1, components: [input] },
    { type: 18, label: "More", component: { type: 4, custom_id: "more", style: 2, required: false } },
  ];

  it("is checked as the client checks it, and knows what opened it", async () => {
    const id = await sendComponents({ type: 2, style: 1, label: "Ask", custom_id: "ask" });
    const { driver, you } = discord;
    const press = driver.press(you.id, id, "ask");
    await answer({ type: 9, data: { custom_id: "form", title: "Why?", components: rows } });
    expect(press.form()?.inputs).toMatchObject([
      { customId: "why", isLong: false, isRequired: true, minLength: 3, maxLength: 5 },
      { customId: "more", label: "More", isLong: true, isRequired: false },
    ]);
    for (const why of ["", "ab", "abcdef"]) {
      expect(() => press.submit({ why })).toThrow(/"Why" (is needed|must be 3 to 5)/);
    }
    const opener = last.id;
    const sent = press.submit({ why: "abcd" });
    expect(last.data).toMatchObject({
      custom_id: "form",
      components: [{ components: [{ custom_id: "why", value: "abcd" }] }, { components: [{ value: "" }] }],
    });
    await answer({ type: 4, data: { content: "thanks" } });
    const reply = await sent.reply();
    expect(reply.interaction).toMatchObject({ kind: "form" });
    expect(await metadata(reply.id)).toMatchObject({
      type: 5,
      triggering_interaction_metadata: { id: opener, type: 3, interacted_message_id: id },
    });
  });
});

describe("a sub-command", () => {
  it("is named whole where it was used; a further answer names the first", async () => {
    const leaf = { type: 1, name: "list", description: "d", options: [] };
    await register({ name: "agent", description: "d", options: [leaf] });
    const use = discord.driver.command(discord.you.id, discord.channelId, "agent list");
    await answer({ type: 4, data: { content: "first" } });
    const first = await use.reply();
    expect(first.interaction).toEqual({ user: "You", name: "agent list", kind: "slash command" });
    const further = await api(
      "POST",
      `/webhooks/${discord.applicationId}/${last.token}`,
      { content: "second" },
      { token: null },
    );
    expect(await metadata(String(further.body["id"]))).toMatchObject({
      name: "agent list",
      original_response_message_id: first.id,
    });
  });
});
