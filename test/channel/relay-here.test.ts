/** `/here`: a channel's settings, shown and set from Discord. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Vm } from "../../relay/sidecar/vm.ts";
import { people as peopleRoutes } from "../../shared/protocol/people.ts";
import { STAND_IN_CONFIG } from "../support/agents.ts";
import { aDiscordId } from "../support/ids.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until, untilValue } from "../support/wait.ts";

let all: Everything;
let first: string;
/** Made anew for each test that changes one. */
const made = (name: string) => all.discord.driver.createChannel(name).id;

beforeAll(async () => {
  all = await startEverything({ vm: STAND_IN_CONFIG, isQuick: true });
  for (const dir of ["shop/till", "infra"]) mkdirSync(join(all.sidecar.reposDir, dir), { recursive: true });
  first = all.discord.channelId;
});
afterAll(() => all?.close());

const here = (channelId: string, options: Record<string, string | number | boolean> = {}) =>
  all.discord.driver.command(all.you, channelId, "here", options).reply();
const said = async (channelId: string, options: Record<string, string | number | boolean> = {}) =>
  (await here(channelId, options)).content;
const rowOf = async (channelId: string) =>
  (await new Vm(all.sidecar.client).channels.list()).channels.find(({ id }) => id === channelId);
const complete = async (channelId: string, options: Record<string, string>, focused: string) =>
  (await all.discord.driver.autocomplete(all.you, channelId, "here", options, focused)).map(
    ({ value }) => value,
  );
const labels = (reply: Awaited<ReturnType<typeof here>>) => reply.buttons.map(({ label }) => label);

test("two presses make a project of a new channel", async () => {
  const { driver } = all.discord;
  const shop = made("shop");
  const asked = await here(shop);
  expect(asked).toMatchObject({ isEphemeral: true, content: expect.stringContaining("is not served yet") });
  expect(labels(asked)).toEqual(["all of them (.)", "infra", "shop", "shop/till"]);
  const press = async (label: string, words: string) => {
    const { id, buttons } = driver.ephemerals(all.you).find((one) => one.id === asked.id) ?? asked;
    driver.press(all.you, id, buttons.find((button) => button.label === label)?.customId ?? "");
    await driver.until(
      () =>
        driver
          .ephemerals(all.you)
          .find((one) => one.id === asked.id)
          ?.content.includes(words),
      { what: words },
    );
  };
  await press("shop/till", "Directory: `shop/till`");
  expect(await rowOf(shop)).toMatchObject({ dir: "shop/till", mode: "off", isFixed: false });
  await press("Any message", "A message here begins an agent's thread.");
  expect(await rowOf(shop)).toMatchObject({ dir: "shop/till", mode: "threads", name: "shop" });
});

test("options set each field, and take it back; the thread of a channel is that channel", async () => {
  const infra = made("infra");
  const answer = await said(infra, {
    ...{ dir: "infra", mode: "mention", engine: "claude", model: "opus", "permission-mode": "plan" },
    ...{ worktree: true, turns: 20, usd: 2.5 },
  });
  expect(answer).toContain("Directory: `infra`");
  expect(answer).toContain("begins an agent's thread if it names me");
  expect(answer).toMatch(
    /engine `claude` · model `opus` · permission mode `plan` · at most 20 turns, \$2.50/,
  );
  expect(await rowOf(infra)).toMatchObject({
    ...{ dir: "infra", mode: "mention", engine: "claude", model: "opus", permissionMode: "plan" },
    ...{ worktree: true, limits: { turns: 20, spendUsd: 2.5 } },
  });
  const { content } = await all.discord.driver
    .command(all.you, infra, "terminal", { command: "cat" })
    .reply();
  const thread = /<#(\d+)>/.exec(content)?.[1] ?? "";
  expect(await said(thread, { model: "default", usd: 0, worktree: false })).toContain(`<#${infra}>`);
  expect(await rowOf(infra)).toMatchObject({ model: null, limits: { turns: 20 }, worktree: false });
  expect(await said(infra, { remove: true })).toContain("is not served any more");
  expect(await rowOf(infra)).toBeUndefined();
  expect(await said(infra)).toContain("is not served yet");
  await all.sidecar.client.killThread(thread);
});

test("the one agent that hears a channel is named, completed, and given back", async () => {
  const [ops, dev] = [made("ops-1"), made("dev-1")];
  expect(await said(ops, { mode: "main", agent: "helper" })).toContain("hears this channel, `helper`.");
  expect(await rowOf(ops)).toMatchObject({ mode: "main", agent: "helper" });
  expect(await complete(dev, { agent: "hel" }, "agent")).toEqual(["helper"]);
  expect(await said(ops, { agent: "Not this" })).toContain("agent: must be 1 to 32 characters");
  await said(ops, { mode: "off", agent: "default" });
  expect(await rowOf(ops)).toMatchObject({ mode: "off", agent: null });
});

test("a role that the server does not have is named", async () => {
  const { driver } = all.discord;
  const { id: team } = driver.roles.create("team");
  const none = "999999999999999999";
  const ops = made("ops");
  await said(ops, { dir: "infra" });
  const { people } = new Vm(all.sidecar.client);
  const give = (id: string) =>
    people.setRole({
      ...{ kind: "role", role: "member" },
      ...{ id: aDiscordId(id), channelId: aDiscordId(ops) },
    });
  // The relay says at once which roles there are, so that a wrong id is refused.
  await until("the new role", () =>
    give(team).then(
      () => true,
      () => false,
    ),
  );
  await expect(give(none)).rejects.toThrow(`id: the server had no role ${none} at Discord`);
  expect((await people.list()).filter(({ kind }) => kind === "role")).toMatchObject([{ handle: "team" }]);
  // One that was given before is named where people look.
  const { client } = all.sidecar;
  await client.call(
    peopleRoutes.putServerRoles,
    {},
    { body: { roles: [{ id: aDiscordId(none), handle: null }] } },
  );
  await give(none);
  const shown = await said(ops);
  expect(shown).toContain(`This server has no role \`${none}\``);
  expect(shown.match(/has no role/g)).toHaveLength(1);
});

test("a directive makes the channel's agents, and one that is not there is refused", async () => {
  const folder = join(all.sidecar.stateDir, "directives");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "critic.md"), "---\nname: critic\ndescription: Finds faults\n---\nBe strict.\n");
  const lab = made("lab");
  expect(await complete(lab, { dir: "infra" }, "directive")).toEqual(["default", "critic"]);
  expect(await said(lab, { dir: "infra", directive: "poet" })).toMatch(
    /directive: the directory infra has none called poet; it has critic\./,
  );
  expect(await rowOf(lab)).toBeUndefined();
  expect(await said(lab, { dir: "infra", directive: "critic" })).toContain("made by the directive `critic`");
  const { content } = await all.discord.driver.command(all.you, lab, "agent", { prompt: "Hi" }).reply();
  const thread = /<#(\d+)>/.exec(content)?.[1] ?? "";
  expect((await all.sidecar.client.getThread(thread)).name).toMatch(/^critic-\d+$/);
  await all.sidecar.client.killThread(thread);
});

test("values are completed", async () => {
  const docs = made("docs");
  expect(await complete(docs, { dir: "sh" }, "dir")).toEqual(["shop", "shop/till"]);
  const engines = await complete(docs, {}, "engine");
  expect(engines[0]).toBe("default");
  expect(engines).toContain("demo");
  expect(await complete(docs, { engine: "dem" }, "engine")).toEqual(["demo"]);
});

test("what can't be is refused in a sentence that names it, and nothing is changed", async () => {
  const { driver } = all.discord;
  const ops = made("ops");
  for (const [options, words] of [
    [{ dir: "../etc" }, /dir: "\.\.\/etc" is outside of the repositories' folder/],
    [{ dir: "nowhere" }, /dir: "nowhere" does not exist/],
    [{ dir: "infra", engine: "command" }, /^⚠️ engine: the engine command runs a program that you name/],
    [{ dir: "infra", engine: "own", "permission-mode": "dontAsk" }, /^⚠️ permission-mode: must be one of/],
    [{ dir: "infra", usd: 0.00001 }, /^⚠️ usd: must be at least 0.0001/],
    [{ dir: "infra", engine: "none" }, /engine: must be claude/],
    [{ dir: "infra", "permission-mode": "bypassPermissions" }, /permission-mode: .*ALLOW_BYPASS=1/],
    [{ dir: "infra", remove: true }, /remove: must stand alone/],
    [{ remove: true }, /channel: .* is none that is served/],
  ] as const) {
    expect(await said(ops, options)).toMatch(words);
    expect(await rowOf(ops)).toBeUndefined();
  }
  driver.denyBot(["sendMessages", "createPublicThreads"], ops);
  expect(await said(ops, { dir: "infra" })).toContain("I lack Send Messages, Create Public Threads there.");
  expect(await said(ops)).toContain("I lack Send Messages");
  driver.denyBot(["viewChannel"], ops);
  expect(await said(ops, { dir: "infra" })).toContain("give me View Channel there");
  expect(await rowOf(ops)).toBeUndefined();
});

test("what the variables name is shown, and changed nowhere else", async () => {
  const shown = await here(first);
  expect(shown.content).toContain("DISCORD_CHANNEL_ID");
  expect(shown.buttons).toEqual([]);
  expect(await said(first, { dir: "infra" })).toMatch(/the relay's own settings .* name it/);
  expect(await said(first, { remove: true })).toMatch(/the relay's own settings .* name it/);
  expect(await rowOf(first)).toMatchObject({ dir: ".", isFixed: true });
});

test("a role that is given is said; who may not change the channel reads who could", async () => {
  const { driver } = all.discord;
  const desk = made("desk");
  const given = await said(desk, { who: all.stranger, role: "viewer" });
  expect(given).toContain(`<@${all.stranger}> has the role viewer in this channel now.`);
  expect(given).toContain("is not served yet");
  const reply = await driver.command(all.stranger, desk, "here").reply();
  expect(reply.content).toMatch(/It is not yours to change\. Owners and makers could: <@\d+>/);
  expect(reply.buttons).toEqual([]);
  expect(await said(desk, { who: all.stranger, role: "none" })).toContain("no role of their own");
});

test("a stranger is told nothing of it", async () => {
  const { driver } = all.discord;
  const reply = await driver.command(all.stranger, first, "here", { dir: "infra" }).reply();
  expect(reply.content).toContain("not on the list");
  await untilValue(
    "no change",
    () => rowOf(first),
    (row) => row?.dir === ".",
  );
});
