/** An agent that hears a channel belongs to nobody: it may what those may for whom it is at work, whoever wrote first. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { Vm } from "../../relay/sidecar/vm.ts";
import type { Role } from "../../shared/rights.ts";
import { STAND_IN_CONFIG, script, untilStatus } from "../support/agents.ts";
import { callAs } from "../support/call-as.ts";
import { aDiscordId } from "../support/ids.ts";
import { callTool } from "../support/mcp.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

let all: Everything;
let ops: string;
const vm = () => new Vm(all.sidecar.client);
const idOf = (name: string) => all.discord.users.find((user) => user.name === name)?.id ?? "";
const give = async (name: string, role: Role | null) => {
  const { url, token } = all.sidecar;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const body = JSON.stringify({ id: idOf(name), role });
  expect((await fetch(`${url}/people/role`, { method: "PUT", headers, body })).status).toBe(200);
};
beforeAll(async () => {
  const users = ["Mia", "Ada", "Mo", "Joe", "Sue"].map((name) => ({ name }));
  all = await startEverything({ vm: STAND_IN_CONFIG, isQuick: true, discord: { users } });
  ops = all.discord.driver.createChannel("ops").id;
  await vm().channels.set(aDiscordId(ops), { mode: "main" });
  await until("its name", async () =>
    (await vm().channels.list()).channels.some(({ id, name }) => id === ops && name === "ops"),
  );
});
afterAll(() => all?.close());

const main = async () => (await vm().voice.findMain(ops)).threadId;
const said = () => all.discord.driver.messages(ops).filter(({ author }) => author.isBot);
/** The agent has answered this person, and rests. */
async function isAsked(name: string): Promise<void> {
  const input = { to: "discord:#ops", content: `For ${name}.` };
  const tools = [{ name: "mcp__threadmux__message", input }];
  // A role that was just given is known to the bot a moment later: what was written before is not read.
  let writtenAt = Number.NEGATIVE_INFINITY;
  await until(`an answer for ${name}`, () => {
    if (said().some(({ content }) => content === `For ${name}.`)) return true;
    if (performance.now() - writtenAt < 2_000) return false;
    writtenAt = performance.now();
    all.discord.driver.post(idOf(name), ops, script("please", { tools }, { text: "ok" }));
    return false;
  });
  await untilStatus(all.sidecar, await main(), "idle");
}
let calls = 0;
const spawn = async (threadId: string) =>
  callTool(all.sidecar, {
    ...{ threadId, name: "spawn_thread", callId: `call-${++calls}` },
    input: { prompt: script("Work", { text: "Done." }), mode: "async" },
  });
const children = async () =>
  (await all.sidecar.client.listThreads({})).filter(({ parentId }) => parentId !== null);

// Promise: S1
test("whoever wrote first loses their role: the others' agent goes on, and nobody gets more by it than they may", async () => {
  await give("Mia", "maker");
  await isAsked("Mia");
  await give("Mia", null);
  expect(await spawn(await main())).toContain("Refused to a person for whom you are at work");
  await give("Ada", "maker");
  await isAsked("Ada");
  expect(await spawn(await main())).not.toContain("Refused");
  const [child] = await children();
  const childId = child?.threadId ?? "";
  expect(await spawn(childId)).not.toContain("Refused");
  const before = (await children()).length;
  // A member writes, but begins no threads: not by the agent either, nor by its children.
  await give("Mo", "member");
  await isAsked("Mo");
  expect(await spawn(await main())).toContain("Refused to a person for whom you are at work");
  expect(await spawn(childId)).toContain("Refused to a person for whom you are at work");
  expect(await children()).toHaveLength(before);
});

// Promise: S1
test("who may not write where an agent hears joins no other channel to it", async () => {
  const other = all.discord.driver.createChannel("other").id;
  const role = (channelId: string, role: Role) =>
    vm().people.setRole({
      kind: "user",
      id: aDiscordId(idOf("Joe")),
      channelId: aDiscordId(channelId),
      role,
    });
  const set = async (body: object) => {
    const { status, text } = await callAs(all.sidecar, idOf("Joe"), "PUT", `/channel/${other}`, body);
    return `${status} ${text}`;
  };
  const mode = async () => (await vm().channels.list()).channels.find(({ id }) => id === other)?.mode;
  await role(other, "maker");
  for (const may of [undefined, "viewer", "guest"] as const) {
    if (may) await role(ops, may);
    expect(await set({ mode: "main", dir: "." })).toMatch(/^403 .*hears <#\d+> too/);
    expect(await set({ agent: "main", mode: "main", dir: "." })).toMatch(/^403 /);
    expect(await mode()).toBeUndefined();
  }
  // Another agent hears no other channel; it can't be exchanged for that one afterwards.
  expect(await set({ mode: "main", agent: "helper", dir: "." })).toMatch(/^200 /);
  expect(await set({ agent: "main" })).toMatch(/^4\d\d /);
  expect(await set({ mode: "off", agent: "main" })).toMatch(/^200 /);
  expect(await set({ mode: "main" })).toMatch(/^403 /);
  await role(ops, "member");
  expect(await set({ mode: "main" })).toMatch(/^200 /);
});

// Promise: S1
test("who may write in one of an agent's channels alone is heard there", async () => {
  const { driver } = all.discord;
  const side = driver.createChannel("side").id;
  await vm().channels.set(aDiscordId(side), { mode: "main" });
  const setSue = (role: Role) =>
    vm().people.setRole({ kind: "user", id: aDiscordId(idOf("Sue")), channelId: aDiscordId(side), role });
  await setSue("member");
  await until("its name", async () =>
    (await vm().channels.list()).channels.some(({ id, name }) => id === side && name === "side"),
  );
  const input = { to: "discord:#side", content: "Sue is heard." };
  let writtenAt = Number.NEGATIVE_INFINITY;
  const answer = await until("an answer", () => {
    const own = driver.messages(side).find(({ author }) => author.isBot);
    if (own) return own.content;
    if (performance.now() - writtenAt < 2_000) return undefined;
    writtenAt = performance.now();
    driver.post(
      idOf("Sue"),
      side,
      script("please", { tools: [{ name: "mcp__threadmux__message", input }] }, { text: "ok" }),
    );
    return undefined;
  });
  expect(answer).toBe("Sue is heard.");
  const write = async () =>
    (
      await callAs(all.sidecar, idOf("Sue"), "POST", `/thread/${await main()}/input`, {
        text: "x",
        channelId: side,
      })
    ).status;
  expect(await write()).toBe(200);
  // To stop the agent is the right of those who have it where its thread is.
  expect(
    (await callAs(all.sidecar, idOf("Sue"), "POST", `/thread/${await main()}/interrupt`, {})).status,
  ).toBe(403);
  await setSue("viewer");
  expect(await write()).toBe(403);
});
