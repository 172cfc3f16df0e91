/** *Details* in the menu of a message: what stands behind each kind of an agent's messages, and who may read it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { SeenMessage } from "../../local-discord/seen.ts";
import { agentTalk, asks, bash } from "../support/agent-talk.ts";
import { STAND_IN_CONFIG, script } from "../support/agents.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

let all: Everything;
const { open, messages, untilMessage, press } = agentTalk(() => all);
beforeAll(async () => {
  all = await startEverything({ isQuick: true, vm: STAND_IN_CONFIG });
});
afterAll(() => all?.close());

const ask = (message: Pick<SeenMessage, "id" | "channelId">, by = all.you) =>
  all.discord.driver.messageCommand(by, message.channelId, message.id, "Details").reply();
const details = async (message: Pick<SeenMessage, "id" | "channelId">) => {
  const reply = await ask(message);
  expect(reply.isEphemeral).toBe(true);
  return reply;
};
const fileOf = ({ attachments }: SeenMessage) =>
  all.discord.driver.attachment(attachments[0]?.id ?? "").toString();

test("steps, an ask, last words and a text in between: each with what stands behind it, also after a restart", async () => {
  writeFileSync(join(all.sidecar.reposDir, "note.md"), "one\ntwo\nthree\n");
  const long = "narration ".repeat(40).trim();
  const path = join(all.sidecar.reposDir, "note.md");
  const threadId = await open(
    "Do it",
    { text: "First.", tools: [{ name: "Read", input: { file_path: path } }] },
    { text: long, tools: [{ name: "Edit", input: { file_path: path, old_string: "two", new_string: "2" } }] },
    bash("echo out; echo err >&2; exit 3", { description: "fails on purpose" }),
    asks({
      question: "Go on?",
      header: "Go",
      multiSelect: false,
      options: [{ label: "Yes" }, { label: "No" }],
    }),
    { text: "That was **all**." },
  );
  press(await untilMessage(threadId, /May the agent do this.*Edit/), "Allow once");
  press(await untilMessage(threadId, /May the agent do this.*echo out/), "Allow once");
  press(await untilMessage(threadId, "Go on?"), "Yes");
  const last = await untilMessage(threadId, "That was **all**.");
  // A later turn: the rows of the messages above are forgotten by then, and the relay is another one.
  all.discord.driver.post(all.you, threadId, script("And?", { text: "Nothing more." }));
  const quick = await untilMessage(threadId, "Nothing more.");
  await all.stopRelay();
  await all.startRelay();

  const first = await details(await untilMessage(threadId, "✓ Read `note.md`"));
  expect(first.content).toMatch(/^🔎 \*\*The steps of this message\*\*\n\*\*✓ Read note\.md\*\*\n/);
  expect(first.content).toContain("two");
  expect(first.content).not.toContain("Edit");
  const edit = await details(await untilMessage(threadId, /May the agent do this.*Edit/));
  expect(edit.content).toContain("Asked: Edit note.md");
  expect(edit.content).toContain(`**Allow once** by <@${all.you}>`);
  expect(edit.content).toContain("```diff\n-two\n+2\n```");
  const failed = await details(await untilMessage(threadId, /May the agent do this.*echo out/));
  expect(failed.content).toMatch(/✗ Bash echo out; echo err \\>&2; exit 3 · Exit code 3/);
  expect(failed.content).toContain("fails on purpose");
  expect(failed.content).toMatch(/Output\n```\n[^`]*out\nerr/);
  const question = await details(await untilMessage(threadId, "Go on?"));
  expect(question.content).toContain("1. Yes\n2. No");
  expect(question.content).toContain(`**Answered: Yes** by <@${all.you}>`);
  expect((await details(await untilMessage(threadId, "narration narration"))).content).toContain(
    `\`\`\`md\n${long}\n\`\`\``,
  );
  const turn = await details(last);
  for (const text of ["✓ Read note.md", "✓ Edit note.md · +1 −1", "✗ Bash echo out"]) {
    expect(turn.content).toContain(text);
  }
  expect(turn.content).toMatch(/\n-# .* · 5 calls of the model · [\d,]+ tokens in, [\d,]+ out$/);
  expect((await details(quick)).content).toContain("No step was taken.");
});

test("what is too long for a message is a file with all of it, bodies that the transcript cut included", async () => {
  const threadId = await open("Hello", { text: "Hello." });
  await untilMessage(threadId, "Hello.");
  const content = Array.from({ length: 10_000 }, (_, i) => `line ${i + 1} of many\n`).join("");
  const write = { name: "Write", input: { file_path: join(all.sidecar.reposDir, "many"), content } };
  const text = script("Write", { tools: [write] }, { text: "Written." });
  await all.sidecar.client.sendInput(threadId, { text });
  press(await untilMessage(threadId, "May the agent do this"), "Allow once");
  const reply = await details(await untilMessage(threadId, "Written."));
  expect(reply.content.length).toBeLessThanOrEqual(2_000);
  expect(reply.content).toMatch(/\(cut: .* in all\)/);
  expect(reply.attachments.map(({ name }) => name)).toEqual(["details.txt"]);
  const file = fileOf(reply);
  for (const line of [1, 5_000, 10_000]) expect(file).toContain(`\n+line ${line} of many\n`);
  expect(file).not.toContain("left out");
});

test("what is no agent's message is refused in words, to that person alone", async () => {
  const threadId = await open("Hello", { text: "Hello." });
  const hello = await untilMessage(threadId, "Hello.");
  const mine = all.discord.driver.post(all.you, threadId, script("More", { text: "More." }));
  await untilMessage(threadId, "More.");
  const opening = all.discord.driver.messages(threadId).find(({ author }) => author.isBot);
  const terminal = await all.openTerminal("echo here; cat");
  await all.untilShown(terminal, "here");
  const page = await until("a page", () => all.discord.driver.messages(terminal).at(-1));
  const inChannel = all.discord.driver.post(all.you, all.discord.channelId, "hello");
  const cases: [SeenMessage | undefined, RegExp][] = [
    [mine, /^⚠️ Only an agent's messages have details: this one was written by somebody else\.$/],
    [opening, /^⚠️ Nothing stands behind this message/],
    [page, /^⚠️ Details works on the messages of an agent's thread.* \/export/],
    [inChannel, /^⚠️ Details works on the messages of an agent's thread; \/status lists them\.$/],
  ];
  for (const [message, refusal] of cases) {
    if (!message) throw new Error(`no message for ${refusal}`);
    const { content, isEphemeral } = await ask(message);
    expect(content).toMatch(refusal);
    expect(isEphemeral).toBe(true);
  }
  const strange = await ask(hello, all.stranger);
  expect(strange.content).toContain("ALLOWED_USER_IDS");
  expect(strange.isEphemeral).toBe(true);
  expect(
    messages(threadId)
      .map(({ content }) => content)
      .join(),
  ).not.toContain("🔎");
});
