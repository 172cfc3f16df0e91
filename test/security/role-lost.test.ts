/** A role at Discord gives what it is given here as long as it exists there, and no longer. */
import { afterAll, beforeAll, test } from "vitest";
import { STAND_IN_CONFIG } from "../support/agents.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

const REFUSAL = /may not|not on the list/;

let all: Everything;
let channelId: string;
let mia: string;

const give = async (grant: object) => {
  const { url, token } = all.sidecar;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return (await fetch(`${url}/people/role`, { method: "PUT", headers, body: JSON.stringify(grant) })).status;
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
  const users = [{ name: "Mia" }];
  all = await startEverything({ vm: STAND_IN_CONFIG, isQuick: true, discord: { users } });
  ({ channelId } = all.discord);
  mia = all.discord.users.find(({ name }) => name === "Mia")?.id ?? "";
});
afterAll(() => all?.close());

test("a role that is deleted at Discord gives nothing any more", async () => {
  const { driver } = all.discord;
  const { id: team } = driver.roles.create("team");
  driver.roles.give(mia, team);
  // The sidecar takes the role as soon as the relay has told it that there is one, and no longer than that.
  const giveRole = () => give({ kind: "role", id: team, role: "member" });
  await until("the new role", async () => (await giveRole()) === 200);
  await untilKnown(mia, true);
  driver.roles.delete(team);
  await until("what it gave to be taken back", async () => !(await roles()).includes(team));
  await untilKnown(mia, false);
  await until("the role to be refused", async () => (await giveRole()) === 400);
});
