/**
 * Messages that Discord will never take: their threads say so in Discord's words, bring what was refused as a file, and
 * go on.
 */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { FaultHook } from "../../local-discord/faults.ts";
import type { SeenMessage } from "../../local-discord/seen.ts";
import { STAND_IN_CONFIG, script } from "../support/agents.ts";
import { AgentTalk } from "../support/discord-agents.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

const BAD = "evil.example";
const WORDS = "Message blocked by harmful links filter";
const TOLD = `⚠️ Discord does not take this message: ${WORDS} \\(code 240000\\)\n-# What it says is in the file below.`;
/** Its command, which is shown too, does not hold it. */
const PRINT_BAD = "echo see evil.$(echo example)";

let all: Everything;
let talk: AgentTalk;
let refusals = 0;
beforeAll(async () => {
  all = await startEverything({ isQuick: true, vm: STAND_IN_CONFIG });
  talk = new AgentTalk(all);
});
afterEach(() => {
  all.discord.driver.faults.rest = undefined;
});
afterAll(() => all?.close());

/** Refuses messages, as a guard of Discord does that the bot knows nothing of. */
function refuse(isBad: (message: { content?: string; components?: unknown[] }) => boolean): FaultHook {
  refusals = 0;
  return ({ method, path, body }) => {
    const isMessage = path.includes("/messages") && (method === "POST" || method === "PATCH");
    if (!isMessage || !isBad((body ?? {}) as object)) return undefined;
    refusals++;
    return { kind: "status", status: 400, body: { code: 240000, message: WORDS } };
  };
}

const hasBadText = ({ content }: { content?: string }) => content?.includes(BAD) ?? false;
const messages = (threadId: string) =>
  all.discord.driver.messages(threadId).filter(({ author }) => author.isBot);
const untilOne = (threadId: string, what: string, isIt: (message: SeenMessage) => boolean) =>
  until(what, () => messages(threadId).find(isIt), { timeoutMs: 25_000 });

async function fileOf({ channelId, attachments }: SeenMessage): Promise<string> {
  const { apiUrl, botToken } = all.discord;
  const headers = { authorization: `Bot ${botToken}` };
  const response = await fetch(`${apiUrl}/v10/channels/${channelId}/messages?limit=100`, { headers });
  const found = (await response.json()) as { attachments: { id: string; url: string }[] }[];
  const url = found.flatMap((one) => one.attachments).find(({ id }) => id === attachments[0]?.id)?.url;
  return (await fetch(url ?? "")).text();
}

// Promise: R24, S35
test("a terminal's page that is refused is a file, and the pages after it come", async () => {
  all.discord.driver.faults.rest = refuse(hasBadText);
  const threadId = await all.openTerminal(
    `${PRINT_BAD} first; for i in $(seq 1 400); do echo "row $i of many"; done; sleep 300`,
  );
  await untilOne(threadId, "the last page", ({ content }) => content.includes("row 400 of many"));
  const told = await untilOne(threadId, "what was refused", ({ content }) => content.includes(TOLD));
  expect(await fileOf(told)).toContain(`see ${BAD} first`);
  expect(messages(threadId).filter(({ content }) => content.includes("does not take"))).toHaveLength(1);
  expect(refusals).toBeLessThan(12);
});

test("a live page that is refused stands in its message's place, and comes back once it is taken", async () => {
  const threadId = await all.openTerminal(`echo 'a row'; read x; ${PRINT_BAD}; read x; sleep 300`);
  await all.untilShown(threadId, "a row");
  all.discord.driver.faults.rest = refuse(hasBadText);
  talk.say(threadId, "go on");
  const told = await untilOne(threadId, "what was refused", ({ content }) => content.includes(TOLD));
  expect(await fileOf(told)).toContain(`see ${BAD}`);
  expect(told.buttons.map(({ label }) => label)).toContain("Ctrl-C");
  all.discord.driver.faults.rest = undefined;
  talk.say(threadId, "on");
  const isWhole = ({ content, attachments }: SeenMessage) =>
    content.includes(`see ${BAD}`) && attachments.length === 0;
  await untilOne(threadId, "the page", isWhole);
});

// Promise: R24
test("an agent's words that are refused keep their buttons and whom they notify; the next turn comes", async () => {
  all.discord.driver.faults.rest = refuse(hasBadText);
  const threadId = await talk.open(script("Look", { text: `See https://${BAD}/x for more.` }));
  // The first one says what was asked for, which is refused as well.
  const told = await until(
    "what was refused, with the thread's buttons",
    () =>
      talk.find(threadId, TOLD).find(({ buttons }) => {
        const labels = buttons.map(({ label }) => label);
        return labels.includes("Done") && !labels.includes("Stop");
      }),
    { timeoutMs: 25_000 },
  );
  expect(await fileOf(told)).toMatch(/^See https:\/\/evil\.example\/x for more\./);
  talk.say(threadId, script("And now", { text: "All is well." }));
  await talk.untilMessage(threadId, "All is well.");
});

test("an ask whose buttons are refused too is told without them, and is whole after a restart", async () => {
  const isAsk = ({ content, components = [] }: { content?: string; components?: unknown[] }) =>
    (content?.includes("May the agent") ?? false) || JSON.stringify(components).includes("Allow once");
  all.discord.driver.faults.rest = refuse(isAsk);
  const bash = { tools: [{ name: "Bash", input: { command: "echo hello" } }] };
  const threadId = await talk.open(script("Do it", bash, { text: "Done it." }));
  const left = "Its buttons are left out: the web console has them.";
  const told = await untilOne(threadId, "the ask", ({ content }) => content.includes(left));
  expect(told.content).toContain(`<@${all.you}> ⚠️ Discord does not take this message`);
  expect(told.notified).toEqual([all.you]);
  expect(await fileOf(told)).toContain("echo hello");
  await all.stopRelay();
  all.discord.driver.faults.rest = undefined;
  await all.startRelay();
  const ask = await talk.untilMessage(threadId, "May the agent do this?");
  expect([ask.id, ask.attachments]).toEqual([told.id, []]);
  talk.press(ask, "Allow once");
  await talk.untilMessage(threadId, "Done it.");
});

test("what the bot says to a person is said in other words; not even a file is taken, and the thread goes on", async () => {
  const threadId = await all.openTerminal("echo ready; cat");
  await untilOne(threadId, "the first page", ({ content }) => content.startsWith("```"));
  const { driver } = all.discord;
  // Only a sentence without files gets through.
  driver.faults.rest = refuse(
    ({ content }) =>
      !/^⚠️ Discord does not take this message\. /.test(content ?? "") && !content?.includes("```"),
  );
  driver.post(all.you, threadId, "", { files: [{ name: "a.bin", data: new Uint8Array([0, 255]) }] });
  await untilOne(
    threadId,
    "a word",
    ({ content }) => content === "⚠️ Discord does not take this message. The web console shows what it says.",
  );
  driver.faults.rest = undefined;
  talk.say(threadId, "hello there");
  await all.untilShown(threadId, "hello there");
});

test("in a thread that takes nothing for a while no page is lost, and a new one is whole in the end", async () => {
  const threadId = await all.openTerminal("echo ready; read x; echo second; sleep 300");
  await all.untilShown(threadId, "ready");
  all.discord.driver.faults.rest = refuse(() => true);
  talk.say(threadId, "go on");
  // Each form of an edit and of a new message: as it is, with buttons, with a file, as a sentence alone.
  await until("all forms to be refused", () => refusals > 7, { timeoutMs: 25_000 });
  all.discord.driver.faults.rest = undefined;
  await all.untilShown(threadId, "second", 25_000);
});
