/** Agent threads in Discord: what people see, press and write, with the real relay, sidecar, runner and the stand-in. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import { STAND_IN_CONFIG, script, wordsOf } from "../support/agents.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

let all: Everything;
beforeAll(async () => {
  all = await startEverything({ isQuick: true, vm: STAND_IN_CONFIG });
});
afterAll(() => all?.close());

const bash = (command: string): Round => ({ tools: [{ name: "Bash", input: { command } }] });

/** Uses /agent and returns the Discord thread's id. */
async function openAgent(text: string, ...rounds: Round[]): Promise<string> {
  const options = { dir: ".", prompt: script(text, ...rounds) };
  const asked = all.discord.driver.command(all.you, all.discord.channelId, "agent", options);
  const threadId = await all.discord.driver.until(() => /<#(\d+)>/.exec(asked.find()?.content ?? "")?.[1], {
    what: "the thread",
    timeoutMs: 60_000,
  });
  return threadId;
}

/** But the first, which says what was asked for. */
const messages = (threadId: string) =>
  all.discord.driver
    .messages(threadId)
    .filter(({ author }) => author.isBot)
    .slice(1);
const untilMessage = (threadId: string, text: string | RegExp) =>
  until(`a message ${text}`, () =>
    messages(threadId).find(({ content }) =>
      typeof text === "string" ? content.includes(text) : text.test(content),
    ),
  );

/** Presses the button of that label below a message. */
async function press(threadId: string, message: { id: string }, label: string) {
  const { components } = all.discord.driver.messages(threadId).find(({ id }) => id === message.id) ?? {};
  const customId = new RegExp(
    `"custom_id":"([^"]+)"[^}]*"label":"${label}"|"label":"${label}"[^}]*"custom_id":"([^"]+)"`,
  ).exec(JSON.stringify(components));
  const id = customId?.[1] ?? customId?.[2];
  if (id === undefined) throw new Error(`no button ${label} in ${JSON.stringify(components)}`);
  return all.discord.driver.press(all.you, message.id, id);
}

test("a turn: steps in one message, an ask that is decided by a button, the last words in a message of their own", async () => {
  const threadId = await openAgent(
    "Do it",
    { text: "I look first.", ...bash("touch made") },
    { text: "It is **made**." },
  );
  const ask = await untilMessage(threadId, "May the agent do this?");
  expect(ask.content).toContain(`<@${all.you}>`);
  expect(ask.content).toContain("touch made");
  await press(threadId, ask, "Allow once");
  await untilMessage(threadId, "It is **made**.");
  expect(existsSync(join(all.sidecar.reposDir, "made"))).toBe(true);
  await untilMessage(threadId, `✓ Allow once by <@${all.you}>`);
  await untilMessage(threadId, /^I look first\.\n✓ Bash/);
  const texts = messages(threadId).map(({ content }) => content);
  expect(texts).toHaveLength(3);
  expect(texts[2]).toMatch(/^It is \*\*made\*\*\.\n-# 1 step · /);
});

test("what is denied does not happen, and a second press is told so", async () => {
  const threadId = await openAgent("Do it", bash("touch denied"), { text: "Very well." });
  const ask = await untilMessage(threadId, "May the agent do this?");
  // Discord is slow to take the buttons away: the second press comes when the first has decided.
  all.discord.driver.faults.rest = ({ method, path }) =>
    method === "PATCH" && path.endsWith(ask.id)
      ? { kind: "rate-limit", scope: "shared", retryAfterMs: 500 }
      : undefined;
  const first = await press(threadId, ask, "Deny");
  await until("the ask's end", async () => (await all.sidecar.client.listAsks(threadId)).length === 0);
  const second = await press(threadId, ask, "Allow once");
  await until("an answer to it", () => second.followUps().length > 0).finally(() => {
    all.discord.driver.faults.rest = undefined;
  });
  await untilMessage(threadId, "Very well.");
  expect(existsSync(join(all.sidecar.reposDir, "denied"))).toBe(false);
  expect(second.followUps()).toHaveLength(1);
  expect(first.followUps()).toEqual([]);
  expect(second.followUps()[0]?.content).toBe("⚠️ Somebody has answered this already.");
});

test("a message in mid-turn goes in, and Stop ends the turn", async () => {
  const go = join(all.sidecar.reposDir, "go-on");
  const threadId = await openAgent("Wait", { text: "One.", waitFor: go });
  all.discord.driver.post(all.you, threadId, script("And this", { text: "Two." }));
  const sidecarSays = async () => (await all.sidecar.client.getThread(threadId)).status;
  await until("the turn", async () => (await sidecarSays()) === "running");
  // It moves on where the message has come below it.
  const activity = await until("a button to stop it", () =>
    messages(threadId).find(({ buttons }) => buttons.some(({ label }) => label === "Stop")),
  );
  await press(threadId, activity, "Stop");
  await untilMessage(threadId, "⏹ Stopped.");
});

test("a question is answered by a button, or in words", async () => {
  const question = (text: string) => ({
    tools: [
      {
        name: "AskUserQuestion",
        input: {
          questions: [
            {
              question: text,
              header: "DB",
              multiSelect: false,
              options: [
                { label: "SQLite", description: "a file" },
                { label: "Postgres", description: "a server" },
              ],
            },
          ],
        },
      },
    ],
  });
  const threadId = await openAgent("Ask", question("Which one?"), question("And where?"), {
    text: "Thanks.",
  });
  const first = await untilMessage(threadId, "Which one?");
  await press(threadId, first, "Postgres");
  await untilMessage(threadId, /✓ Answered by <@\d+>: Postgres/);
  const second = await untilMessage(threadId, "And where?");
  const pressed = await press(threadId, second, "Other…");
  const form = await until("a form", () => pressed.form());
  expect(form.title).toBe("Answer the agent");
  pressed.submit({ q0: "in the cellar" });
  await untilMessage(threadId, /✓ Answered by <@\d+>: in the cellar/);
  await untilMessage(threadId, "Thanks.");
});

test("a relay that is killed while an ask is open: nothing is told twice, and the same button works", async () => {
  const threadId = await openAgent(
    "Do it",
    { text: "Step one.", ...bash("echo once >> effects") },
    { text: "All done." },
  );
  const ask = await untilMessage(threadId, "May the agent do this?");
  await all.stopRelay();
  await all.startRelay();
  await press(threadId, ask, "Allow once");
  await untilMessage(threadId, "All done.");
  await all.stopRelay();
  await all.startRelay();
  all.discord.driver.post(all.you, threadId, script("More", { text: "And more." }));
  await untilMessage(threadId, "And more.");
  expect(readFileSync(join(all.sidecar.reposDir, "effects"), "utf8")).toBe("once\n");
  const texts = messages(threadId).map(({ content }) => content);
  for (const text of ["May the agent do this?", "Step one.", "All done.", "And more."]) {
    expect(
      texts.filter((other) => other.includes(text)),
      text,
    ).toHaveLength(1);
  }
  expect(await wordsOf({ ...all.sidecar }, threadId)).toEqual(["Step one.", "All done.", "And more."]);
});

test("a long text is split, and /done ends the thread", async () => {
  const text = Array.from({ length: 40 }, (_, i) => `Paragraph ${i}: ${"word ".repeat(20)}`).join("\n\n");
  const threadId = await openAgent("Write", { text });
  await untilMessage(threadId, "Paragraph 39");
  const words = messages(threadId).filter(({ content }) => content.startsWith("Paragraph"));
  expect(words.length).toBeGreaterThan(2);
  for (const { content } of words) expect(content.length).toBeLessThanOrEqual(2_000);
  await all.discord.driver.command(all.you, threadId, "done").reply();
  await until("archiving", () => all.discord.driver.findThread(threadId)?.isArchived);
});
