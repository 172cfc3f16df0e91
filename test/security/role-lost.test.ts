/** Roles change while things are open: what was offered, begun or shown before does not outlive the role. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { STAND_IN_CONFIG } from "../support/agents.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

const REFUSAL = /may not|not on the list/;

let all: Everything;
let channelId: string;
let mia: string;
let gus: string;

const give = async (grant: object) => {
  const { url, token } = all.sidecar;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const reply = await fetch(`${url}/people/role`, { method: "PUT", headers, body: JSON.stringify(grant) });
  expect(reply.status).toBe(200);
};
const roles = async () => {
  const { url, token } = all.sidecar;
  return (await fetch(`${url}/people`, { headers: { authorization: `Bearer ${token}` } })).text();
};
/** Waits until the relay knows the newest roles: a command of this person is let, or is refused. */
const untilKnown = (person: string, isLet: boolean) =>
  until(
    "the roles to count",
    async () => {
      const used = all.discord.driver.command(person, channelId, "status");
      return REFUSAL.test((await used.reply()).content) !== isLet;
    },
    { intervalMs: 300 },
  );

beforeAll(async () => {
  const users = [{ name: "Mia" }, { name: "Gus" }];
  all = await startEverything({ vm: STAND_IN_CONFIG, isQuick: true, discord: { users } });
  ({ channelId } = all.discord);
  [mia = "", gus = ""] = ["Mia", "Gus"].map(
    (name) => all.discord.users.find((user) => user.name === name)?.id,
  );
});
afterAll(() => all?.close());

// Promise: S1
test("a guest who changes a message after it was offered has it offered anew; it goes in as it was read", async () => {
  const { driver } = all.discord;
  await give({ id: gus, role: "guest" });
  await give({ id: mia, role: "member" });
  const thread = await all.openTerminal("cat");
  await untilKnown(mia, true);
  const { id } = driver.post(gus, thread, "harmless words");
  const offer = () => driver.messages(thread).find(({ replyTo }) => replyTo?.id === id);
  const offered = await driver.until(offer, { what: "the offer", timeoutMs: 25_000 });
  driver.edit(gus, thread, id, "other words");
  driver.press(mia, offered.id, offered.buttons[0]?.customId ?? "");
  await driver.until(() => offer()?.content.includes("changed this message"), {
    what: "a new offer",
    timeoutMs: 25_000,
  });
  expect(all.terminalText(thread)).not.toContain("words");
  driver.press(mia, offered.id, offer()?.buttons[0]?.customId ?? "");
  await all.untilShown(thread, "other words");
  expect(all.terminalText(thread)).not.toContain("harmless");
  expect(offer()?.content).toContain(`<@${mia}> let it in`);
});

test("a role that is deleted at Discord gives nothing any more", async () => {
  const { driver } = all.discord;
  await give({ id: mia, role: null });
  const { id: team } = driver.roles.create("team");
  driver.roles.give(mia, team);
  await give({ kind: "role", id: team, role: "member" });
  await untilKnown(mia, true);
  driver.roles.delete(team);
  await until("what it gave to be taken back", async () => !(await roles()).includes(team));
  await untilKnown(mia, false);
});
