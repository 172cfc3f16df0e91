/** A channel that one agent hears: what people write goes to it, and nothing reaches Discord but what it says. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import { Vm } from "../../relay/sidecar/vm.ts";
import type { Role } from "../../shared/rights.ts";
import { STAND_IN_CONFIG, script, transcriptOf } from "../support/agents.ts";
import { makeFolder } from "../support/folders.ts";
import { aDiscordId } from "../support/ids.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { refusal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let all: Everything;
let ops: string;
const folder = makeFolder();
const vm = () => new Vm(all.sidecar.client);
beforeAll(async () => {
  const mainPromptFile = join(folder.path, "prompt.md");
  writeFileSync(mainPromptFile, "Be brief, whoever asks.\n");
  all = await startEverything({
    vm: { ...STAND_IN_CONFIG, mainPromptFile },
    isQuick: true,
    discord: { users: [{ name: "Max" }] },
  });
  const own = join(all.sidecar.stateDir, "memory/main/main");
  mkdirSync(own, { recursive: true, mode: 0o700 });
  writeFileSync(join(own, "MEMORY.md"), "Deploys go out on Tuesdays.\n");
  ops = all.discord.driver.createChannel("ops").id;
  await vm().channels.set(aDiscordId(ops), { mode: "main" });
  await until("its name", async () =>
    (await vm().channels.list()).channels.some(({ id, name }) => id === ops && name === "ops"),
  );
});
afterAll(async () => {
  await all?.close();
  folder.remove();
});

const tool = (name: string, input: Record<string, unknown>): Round => ({
  tools: [{ name: `mcp__threadmux__${name}`, input }],
});
const messageTo = (to: string, content: string) => tool("message", { to, content });
const write = (text: string, ...rounds: Round[]) =>
  all.discord.driver.post(all.you, ops, script(text, ...rounds));
/** The bot's messages in the channel. */
const said = () => all.discord.driver.messages(ops).filter(({ author }) => author.isBot);
const max = () => all.discord.users.find(({ name }) => name === "Max")?.id ?? "";
const main = async () => (await vm().voice.findMain(ops)).threadId;
const results = async () =>
  JSON.stringify(
    (await transcriptOf(all.sidecar, await main())).filter(({ type }) => type === "tool_call_update"),
  );

test("what a person writes goes to the channel's agent, which answers below it; its own text stays private", async () => {
  const person = "discord:#ops/you";
  const asked = write("did it finish?", messageTo(person, "It *did*."), { text: "A private thought." });
  const answer = await until("the answer", () => said().find(({ content }) => content === "It *did*."));
  expect(answer.replyTo?.id).toBe(asked.id);
  await until(
    "the turn's end",
    async () => (await all.sidecar.client.getThread(await main())).status === "idle",
  );
  const home = await until(
    "its own thread",
    async () => (await all.sidecar.client.getThread(await main())).home?.channelId,
  );
  await until("its own thread's end line", () => all.discord.driver.messages(home).length > 1);
  expect(all.discord.driver.findThread(home)?.parentId).toBe(ops);
  const shown = [...all.discord.driver.messages(home), ...said()].map(({ content }) => content).join("\n");
  expect(shown).not.toContain("private thought");
  expect(shown.split("It *did*.")).toHaveLength(2);
  await until("its receipt", () =>
    all.discord.driver
      .messages(ops)
      .some(({ id, reactions }) => id === asked.id && (reactions?.length ?? 0) > 0),
  );
});

test("the bot is seen to type while the agent works on a person's message, and not afterwards", async () => {
  const go = join(all.sidecar.reposDir, "go");
  const typists = () => all.discord.driver.typists(ops);
  all.discord.driver.post(
    all.you,
    ops,
    script("slowly", { ...messageTo("discord:#ops", "At last."), waitFor: go }, { text: "ok" }),
  );
  await until("the sign", () => typists().length > 0);
  writeFileSync(go, "");
  await until("the answer", () => said().find(({ content }) => content === "At last."));
  const isOver = async () => (await vm().voice.listSpoken()).working.length === 0;
  await until("its end", isOver);
  await until("no sign", () => typists().length === 0, { timeoutMs: 15_000 });
});

test("it begins with its own memory, and with what a person added to its system text", async () => {
  const told = (await transcriptOf(all.sidecar, await main())).flatMap((event) =>
    event.type === "memory_told" ? event.paths : [],
  );
  expect(told).toContain("main/MEMORY.md");
  const detail = JSON.stringify(await all.sidecar.client.getThread(await main()));
  expect(detail).toContain("The tool `message` is the only way out");
  expect(detail).toContain("Be brief, whoever asks.");
  const named = all.sidecar.client.createThread({
    ...{ threadId: "false-main", type: "agent", dir: ".", command: "x" },
    agent: { mainAgent: "main" },
  });
  expect(await refusal(named)).toMatchObject({
    code: "unsupported",
    message: expect.stringMatching(/^agent\.mainAgent: /),
  });
});

test("no command shows what it writes for itself", async () => {
  const home = (await all.sidecar.client.getThread(await main())).home?.channelId ?? "";
  for (const name of ["export", "screenshot", "thread history"]) {
    const answer = await all.discord.driver.command(all.you, home, name, {}).reply();
    expect(answer.content).toContain("What this agent writes for itself is private");
  }
});

const roleIn = (channelId: string, role: Role | null) =>
  vm().people.setRole({ kind: "user", id: aDiscordId(max()), channelId: aDiscordId(channelId), role });
const run = (who: string, place: string, name: string, options: Record<string, string> = {}) =>
  all.discord.driver.command(who, place, name, options).reply();

test("/thoughts shows it to an owner of each channel that the agent has heard, and to nobody else", async () => {
  const { driver } = all.discord;
  const home = (await all.sidecar.client.getThread(await main())).home?.channelId ?? "";
  for (const place of [home, ops]) {
    const shown = await run(all.you, place, "thoughts");
    expect(shown.isEphemeral).toBe(true);
    expect(shown.content).not.toContain("private thought");
    const [file] = shown.attachments;
    expect(driver.attachment(file?.id ?? "").toString()).toContain("A private thought.");
  }
  expect([...driver.messages(home), ...said()].map(({ content }) => content).join()).not.toContain(
    "private thought",
  );
  // It has heard another channel, in which this owner has no role: what was said there is not theirs.
  const [other, foreign] = ["other", "foreign"].map((name) => driver.createChannel(name).id) as [
    string,
    string,
  ];
  await vm().channels.set(aDiscordId(other), { mode: "main" });
  await vm().channels.set(aDiscordId(foreign), { mode: "main", agent: "helper" });
  await roleIn(ops, "owner");
  const answer = async () => (await run(max(), ops, "thoughts")).content;
  await until("the owner of one channel to be told of the other", async () =>
    (await answer()).includes(`<#${other}>`),
  );
  expect(await answer()).toMatch(/so you may not read what agents wrote for themselves\. Owners could: <@/);
  // One that another agent hears does not count, and one that this agent hears no more does, if it heard somebody there.
  await vm().channels.set(aDiscordId(other), { mode: "off" });
  await until("it to be shown", async () => (await answer()).includes("wrote for itself lately"));
  const nowhere = driver.createChannel("nowhere").id;
  expect((await run(all.you, nowhere, "thoughts")).content).toContain(`No agent hears <#${nowhere}>`);
});

test("/main says how the channel's agent is, holds it, and lets it hear another channel", async () => {
  const { driver } = all.discord;
  const { number } = await all.sidecar.client.getThread(await main());
  const shown = await run(all.you, ops, "main status");
  expect(shown.isEphemeral).toBe(true);
  expect(shown.content).toMatch(
    new RegExp(`hears <#${ops}>\\.\n💤 It rests.*\n📁 \`\\.\` · \\$0\\.0\\d today · nothing unanswered$`),
  );
  expect(shown.content).toContain(`\`main\` (#${number})`);
  expect((await run(all.you, ops, "main pause")).content).toContain("takes no messages until `/main resume`");
  const status = async () => (await run(all.you, ops, "main status")).content;
  await until("its rest", async () => (await status()).includes("⏸ It is held"));
  const refused = write("are you there?");
  await until("the refusal", () => said().some(({ replyTo }) => replyTo?.id === refused.id));
  expect((await run(all.you, ops, "main resume")).content).toContain("goes on");
  await until("its going on", async () => !(await status()).includes("⏸"));

  const third = driver.createChannel("third").id;
  const both = `hears <#${ops}> <#${third}>: whoever writes in one of them can learn what was said in the others.`;
  // Who may set the other channel alone could learn by it what is said here.
  await roleIn(ops, "viewer");
  await roleIn(third, "maker");
  const hear = async () => (await run(max(), third, "main hear", { add: third })).content;
  await until("the viewer to be refused", async () => (await hear()).includes("hears <#"));
  expect(await hear()).toMatch(/You are a viewer here, and may not write into threads\. .* could: <@/);
  await roleIn(ops, "member");
  expect(await hear()).toContain(both);
  expect((await run(all.you, ops, "main hear")).content).toContain(both);
  const names = await driver.autocomplete(all.you, ops, "main hear", { agent: "he" }, "agent");
  expect(names.map(({ value }) => value)).toEqual(["helper"]);
  const none = (await run(all.you, ops, "main hear", { remove: third, agent: "helper" })).content;
  expect(none).toContain("it is main that hears it");
  expect((await run(all.you, ops, "main hear", { remove: third })).content).toContain("no more");
  expect((await run(all.you, ops, "main hear")).content).toMatch(new RegExp(`hears <#${ops}>\\.$`));
});

test("an address that is missing or closed is refused with a list of what is open", async () => {
  write(
    "again",
    tool("message", { content: "x" }),
    messageTo("discord:#other", "x"),
    messageTo("discord:#ops", "Fine."),
    {
      text: "done",
    },
  );
  await until("what went through", () => said().find(({ content }) => content === "Fine."));
  const told = await results();
  expect(told).toContain("is needed: an address as your inputs have it");
  expect(told).toContain("Open to you are discord:#ops, discord:#ops/you");
});

test("a second agent for the channel is refused, and the first is named", async () => {
  const { number } = await all.sidecar.client.getThread(await main());
  const second = await refusal(vm().channels.set(aDiscordId(ops), { agent: "other" }));
  expect(second.code).toBe("unsupported");
  expect(second.message).toContain(`agent: main (#${number}) hears this channel`);
});

test("once it was ended, a mode that is set anew begins another one with the next message", async () => {
  const first = await main();
  await all.sidecar.client.killThread(first);
  write("are you there?", messageTo("discord:#ops", "No."));
  await until("the refusal", () =>
    all.discord.driver.text(ops).includes("which hears this channel, was ended"),
  );
  for (const mode of ["off", "main"] as const) await vm().channels.set(aDiscordId(ops), { mode });
  // The bot learns of the mode a moment later: a message of that moment is not answered, so another follows it.
  await until(
    "an answer of the new one",
    () => {
      if (said().some(({ content }) => content === "Anew.")) return true;
      write("and now?", messageTo("discord:#ops", "Anew."));
      return false;
    },
    { intervalMs: 3_000 },
  );
  expect(await main()).not.toBe(first);
});
