/** Roles and members: what a bot reads of them, what they let people do, and Discord's refusals. */
import { Client, GatewayIntentBits } from "discord.js";
import { expect, it } from "vitest";
import type { Interaction } from "./interaction-store.ts";
import { restTest } from "./testing.ts";

const rest = restTest();
const { api } = rest;
const robin = () => rest.discord.users[1]?.id ?? "";
const register = (...commands: object[]) => {
  const { applicationId, guildId } = rest.discord;
  return api("PUT", `/applications/${applicationId}/guilds/${guildId}/commands`, commands);
};

it("a role is listed, given and taken away, and a member says which they have", async () => {
  const { driver, guildId } = rest.discord;
  const role = driver.roles.create("on call");
  const listed = await api("GET", `/guilds/${guildId}/roles`);
  expect(listed.body.map((one) => Reflect.get(Object(one), "name"))).toEqual([
    "@everyone",
    "threadmux",
    "on call",
  ]);
  expect(listed.body.map((one) => Reflect.get(Object(one), "managed"))).toEqual([false, true, false]);
  const rolesOf = async (id: string) => (await api("GET", `/guilds/${guildId}/members/${id}`)).body["roles"];
  expect(await rolesOf(robin())).toEqual([]);
  driver.roles.give(robin(), role.id);
  expect(await rolesOf(robin())).toEqual([role.id]);
  driver.roles.delete(role.id);
  expect(await rolesOf(robin())).toEqual([]);
  expect(() => driver.roles.give(robin(), role.id)).toThrow("Unknown Role");
});

it("a member's roles come with what they write, use, press and name", async () => {
  const { driver, channelId } = rest.discord;
  const role = driver.roles.create("on call");
  driver.roles.give(robin(), role.id);
  const used: Interaction[] = [];
  driver.onEvent((event) => {
    if (event.type === "interaction-create") used.push(event.interaction);
  });
  const option = (type: number, name: string) => ({ type, name, description: "d" });
  await register({
    name: "people",
    description: "d",
    options: [option(8, "role"), option(9, "who"), option(6, "user")],
  });
  const seen = await asBot(async (events) => {
    driver.post(robin(), channelId, "hi");
    const values = { role: role.id, who: role.id, user: robin() };
    driver.command(robin(), channelId, "people", values);
    return events(2);
  });
  const rolesIn = (data: object) => Reflect.get(Object(Reflect.get(data, "member")), "roles");
  expect(seen.map(({ name, data }) => [name, rolesIn(data)])).toEqual([
    ["MESSAGE_CREATE", [role.id]],
    ["INTERACTION_CREATE", [role.id]],
  ]);
  const resolved = Object(used[0]?.data["resolved"]);
  expect(Object.keys(Object(resolved.roles))).toEqual([role.id]);
  expect(Reflect.get(Object(resolved.members), robin())).toMatchObject({ roles: [role.id] });
  expect(() => driver.command(robin(), channelId, "people", { role: robin() })).toThrow("names no role here");
});

it("a channel is closed to a role, and open to those who have it not", () => {
  const { driver } = rest.discord;
  const shop = driver.createChannel("shop").id;
  const role = driver.roles.create("on call");
  driver.roles.deny(role.id, ["sendMessages"], shop);
  expect(driver.post(robin(), shop, "hi").content).toBe("hi");
  driver.roles.give(robin(), role.id);
  expect(() => driver.post(robin(), shop, "hi")).toThrow("Missing Permissions");
  driver.roles.deny(role.id, [], shop);
  expect(driver.post(robin(), shop, "again").content).toBe("again");
  expect(() => driver.roles.deny("1", ["sendMessages"], shop)).toThrow("Unknown permission overwrite");
});

it("who has left is no member, may do nothing, and comes back without roles", async () => {
  const { driver, channelId, guildId } = rest.discord;
  driver.roles.give(robin(), driver.roles.create("on call").id);
  const member = () => api("GET", `/guilds/${guildId}/members/${robin()}`);
  driver.roles.leave(robin());
  expect((await member()).body["code"]).toBe(10007);
  expect((await api("GET", `/guilds/${guildId}/members/123456789012345678`)).body["code"]).toBe(10013);
  expect(() => driver.post(robin(), channelId, "hi")).toThrow("Missing Access");
  expect(() => driver.roles.leave(robin())).toThrow("Unknown Member");
  driver.roles.join(robin());
  expect((await member()).body["roles"]).toEqual([]);
});

it("a server has 250 roles, and keeps its own and the bot's", () => {
  const { driver, guildId } = rest.discord;
  for (let i = 2; i < 250; i++) driver.roles.create(`r${i}`);
  expect(() => driver.roles.create("one more")).toThrow("Maximum number of guild roles reached (250)");
  expect(() => driver.roles.delete(guildId)).toThrow("Invalid Role");
});

it("a bot hears of roles, of nobody's but its own, and of nobody who comes or goes", async () => {
  const { driver, applicationId } = rest.discord;
  const seen = await asBot(async (events) => {
    const role = driver.roles.create("on call");
    driver.roles.allow(role.id, ["manageMessages"]);
    driver.roles.give(robin(), role.id);
    driver.roles.leave(robin());
    driver.roles.join(robin());
    driver.roles.give(applicationId, role.id);
    driver.roles.delete(role.id);
    return events(4);
  });
  const names = seen.map(({ name }) => name);
  expect(names).toEqual([
    "GUILD_ROLE_CREATE",
    "GUILD_ROLE_UPDATE",
    "GUILD_MEMBER_UPDATE",
    "GUILD_ROLE_DELETE",
  ]);
});

type Packet = { name: string; data: object };

/** A bot of real discord.js with the relay's intents; `events(n)` resolves with the first n events after its start. */
async function asBot(
  act: (events: (count: number) => Promise<Packet[]>) => Promise<Packet[]>,
): Promise<Packet[]> {
  const { Guilds, GuildMessages, MessageContent } = GatewayIntentBits;
  const client = new Client({
    intents: [Guilds, GuildMessages, MessageContent],
    rest: { api: rest.discord.apiUrl },
  });
  try {
    const ready = new Promise((resolve) => client.once("clientReady", resolve));
    await client.login(rest.discord.botToken);
    await ready;
    const seen: Packet[] = [];
    client.on("raw", (packet: { t: string | null; d: object }) => {
      if (packet.t !== null) seen.push({ name: packet.t, data: packet.d });
    });
    return await act((count) =>
      rest.discord.driver.until(() => seen.length >= count && seen, { what: "events" }),
    );
  } finally {
    await client.destroy();
  }
}
