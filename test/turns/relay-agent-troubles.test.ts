/** What can be wrong with an agent and with what it is given, as a person reads it in Discord. */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import { INSTALL_COMMAND } from "../../shared/agent/engines/claude.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { contextOf, folderOf } from "../support/agent-siege.ts";
import { STAND_IN, STAND_IN_CONFIG, script, standIn } from "../support/agents.ts";
import { AgentTalk } from "../support/discord-agents.ts";
import { makeFolder } from "../support/folders.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { refusal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

vi.setConfig({ testTimeout: 60_000 });

/** The agent's program: the stand-in, unless a file beside it says what stands in its way. */
const box = makeFolder();
const program = join(box.path, "agent");
const version = join(box.path, "version");
const option = join(box.path, "option");
/** A script in the thread's directory that is too long for a message. */
const LONG_SCRIPT = "script.json";

function install(): void {
  const lines = [
    "#!/bin/sh",
    `if [ "$1" = --version ] && [ -e ${version} ]; then exec cat ${version}; fi`,
    `if [ -e ${LONG_SCRIPT} ]; then export THREADMUX_DEMO_SCRIPT=${LONG_SCRIPT}; fi`,
    `if [ -e ${option} ]; then exec ${STAND_IN} "$@" "$(cat ${option})"; fi`,
    `exec ${STAND_IN} "$@"`,
  ];
  writeFileSync(program, `${lines.join("\n")}\n`, { mode: 0o755 });
}

let all: Everything;
let talk: AgentTalk;
beforeAll(async () => {
  install();
  const agent = { ...standIn({ idleSeconds: 1 }), program };
  all = await startEverything({ isQuick: true, vm: { ...STAND_IN_CONFIG, agent } });
  talk = new AgentTalk(all);
});
afterAll(async () => {
  await all?.close();
  box.remove();
});

const bash = (command: string): Round => ({ tools: [{ name: "Bash", input: { command } }] });
const untilRested = (threadId: string) =>
  until("the runner to be gone", async () => !(await all.sidecar.client.getThread(threadId)).processRunning);

/** A thread whose agent has said something and rests. */
async function openRested(): Promise<string> {
  const threadId = await talk.open(script("Hi", { text: "Hello." }));
  await talk.untilMessage(threadId, "Hello.");
  await untilRested(threadId);
  return threadId;
}

/** What a person does when they read why the agent can't go on, and have mended it. */
async function goOn(threadId: string, why: string | RegExp): Promise<void> {
  const failure = await talk.untilMessage(threadId, why);
  expect(failure.content).toMatch(/^<@\d+> ⚠️ \*\*The agent can't go on\.\*\* /);
  expect(failure.isSilent).toBe(false);
  talk.press(failure, "Go on");
}

// Promise: R19
test("no agent, or one that is too old: the sentence holds the command that mends it, and Go on works", async () => {
  rmSync(program);
  const { content } = await talk.ask(script("Hi", { text: "Hello." })).reply();
  expect(content).toContain(`is not installed on the VM. Install it (${INSTALL_COMMAND})`);
  install();
  const threadId = await openRested();
  rmSync(program);
  talk.say(threadId, script("And?", { text: "Found again." }));
  await talk.untilMessage(threadId, `was not found. Install it with: ${INSTALL_COMMAND}`);
  install();
  await goOn(threadId, "was not found");
  await talk.untilMessage(threadId, "Found again.");
  await untilRested(threadId);
  writeFileSync(version, "2.1.197 (Claude Code)\n");
  talk.say(threadId, script("And?", { text: "New again." }));
  await talk.untilMessage(threadId, `2.1.330 or newer is needed. Install it with: ${INSTALL_COMMAND}`);
  rmSync(version);
  await goOn(threadId, "2.1.197 is too old");
  await talk.untilMessage(threadId, "New again.");
});

// Promise: R19
test("an agent that ends as soon as it is started: it is told in its own words, once", async () => {
  writeFileSync(option, "--nonsense");
  const threadId = await talk.open(script("Hi", { text: "Hello." }));
  await talk.untilMessage(threadId, "It said: unknown option '--nonsense'");
  rmSync(option);
  await goOn(threadId, "cut off 4 times in a row");
  await talk.untilMessage(threadId, "Hello.");
  expect(talk.find(threadId, "can't go on")).toHaveLength(1);
});

// Promise: R19
test.each([
  [401, "Invalid API key · Please run /login"],
  [400, "Your credit balance is too low to access the API"],
  [404, "model: no-such-model"],
])(
  "the model's API answers %i: its own words, and the next message is tried again",
  async (status, message) => {
    const threadId = await talk.open(script("Hi", { error: { status, message } }));
    const failed = await talk.untilMessage(threadId, `⚠️ The turn failed: API Error: ${status} ${message}`);
    expect(failed.isSilent).toBe(false);
    talk.say(threadId, script("And now?", { text: "Now it works." }));
    await talk.untilMessage(threadId, "Now it works.");
  },
);

// Promise: R19
test("an overloaded model: the third retry is told, and the turn goes on", async () => {
  const error = { status: 529, message: "Overloaded", times: 3 };
  const threadId = await talk.open(script("Hi", { text: "At last.", error }));
  await talk.untilMessage(threadId, /^⚠️ overloaded .*: retrying, 3rd time$/);
  await talk.untilMessage(threadId, "At last.");
});

test("an answer to an ask that has ended, to another thread's, and a stranger's count for nothing", async () => {
  const { driver } = all.discord;
  const effects = join(all.sidecar.reposDir, "stray");
  const threadId = await talk.open(script("Hi", { text: "Now.", ...bash(`echo x >> ${effects}`) }));
  const ask = await talk.untilMessage(threadId, "May the agent do this?");
  const other = await openRested();
  const [open] = await all.sidecar.client.listAsks(threadId);
  const requestId = open?.requestId ?? "";
  const elsewhere = all.sidecar.client.answerAsk(other, requestId, { optionId: "once" });
  expect(await refusal(elsewhere)).toEqual({
    code: "not_found",
    message: `Thread ${other} has no ask "${requestId}".`,
  });
  const theirs = talk.press(ask, "Allow once", all.stranger);
  expect((await theirs.reply()).content).toMatch(/^You are not on the list of people who may use this bot/);
  // Discord is slow to take the button away: a person presses what has ended already.
  driver.faults.rest = ({ method }) =>
    method === "PATCH" ? { kind: "rate-limit", scope: "shared", retryAfterMs: 1_000 } : undefined;
  talk.press(await talk.untilMessage(threadId, /^Now\.\n◌/), "Stop");
  await until("the ask's end", async () => (await all.sidecar.client.listAsks(threadId)).length === 0);
  const late = talk.press(ask, "Allow once");
  await until("a word to the press", () => late.followUps().length > 0);
  driver.faults.rest = undefined;
  expect(late.followUps()[0]?.content).toBe("⚠️ This is not asked any more.");
  await talk.untilMessage(threadId, "⏹ Closed: the agent does not ask any more");
  expect(existsSync(effects)).toBe(false);
});

// Promise: R20
test("torn and foreign lines in the engine's file, the inbox and the transcript: told, and the thread goes on", async () => {
  const go = join(box.path, "go");
  const threadId = await talk.open(script("Hi", { text: "Never lost.", waitFor: go }));
  const folder = folderOf(all.sidecar, threadId);
  const transcript = () => readFileSync(threadPath(folder, "transcript"), "utf8");
  await until("the turn", () => transcript().includes('"turn_start"'));
  appendFileSync(join(folder, "engine.1.jsonl"), "this is no JSON\n");
  await talk.untilMessage(threadId, "A line of the engine's output can't be read\n-# Unexpected token");
  writeFileSync(go, "");
  await goOn(threadId, "A line of the engine's output can't be read.");
  await talk.untilMessage(threadId, "Never lost.");
  await untilRested(threadId);

  appendFileSync(threadPath(folder, "inbox"), '{"op":"message","mess');
  talk.say(threadId, script("And?", { text: "Read on." }));
  await talk.untilMessage(threadId, "⚠️ A line of the inbox can't be read; it is skipped");
  await talk.untilMessage(threadId, "Read on.");
  await untilRested(threadId);

  appendFileSync(threadPath(folder, "transcript"), '{"foreign":1}\nnot even JSON\n{"torn');
  talk.say(threadId, script("And?", { text: "Shown on." }));
  await talk.untilMessage(threadId, "⚠️ 2 lines of the transcript can't be read; they are skipped");
  await talk.untilMessage(threadId, "Shown on.");
  // A relay that starts reads the lines again, if its mark stands before them.
  await all.stopRelay();
  await all.startRelay();
  talk.say(threadId, script("And?", { text: "And on." }));
  await talk.untilMessage(threadId, "And on.");
  for (const text of ["Never lost.", "Read on.", "Shown on.", "And on."])
    expect(talk.find(threadId, text), text).toHaveLength(1);
});

// Promise: R20
test("a folder that is removed under a living thread: the thread says so, and what is written is refused", async () => {
  const threadId = await openRested();
  rmSync(folderOf(all.sidecar, threadId), { recursive: true });
  const gone = `The folder of thread ${threadId} is gone from the VM, and the conversation with it.`;
  talk.say(threadId, "Are you there?");
  await talk.untilMessage(threadId, `⚠️ This did not go in. ${gone} Use /done to end this thread.`);
  await talk.untilMessage(threadId, `⚠️ **The agent can't go on.** ${gone}`);
  await all.discord.driver.command(all.you, threadId, "done").reply();
  await until("archiving", () => all.discord.driver.findThread(threadId)?.isArchived);
});

test("an image that is broken or over 8 MiB: it is named, and the rest of the message goes in", async () => {
  const threadId = await openRested();
  const folder = folderOf(all.sidecar, threadId);
  mkdirSync(join(folder, "attachments"));
  writeFileSync(join(folder, "attachments/big.png"), Buffer.alloc(8 * 1024 * 1024 + 1));
  writeFileSync(join(folder, "attachments/broken.png"), "this is no picture");
  const image = (name: string) => ({ type: "image", mimeType: "image/png", uri: `attachments/${name}` });
  const text = script("Look at these", { text: "I looked." });
  const content = [{ type: "text", text }, image("big.png"), image("broken.png")];
  const line = { ts: new Date().toISOString(), op: "message", messageId: "m", source: "owner", content };
  appendFileSync(threadPath(folder, "inbox"), `${JSON.stringify(line)}\n`);
  await all.sidecar.client.controlAgent(threadId, { control: "resume" });
  await talk.untilMessage(threadId, "⚠️ The image attachments/big.png has 8388609 bytes: more than 8 MiB.");
  await talk.untilMessage(threadId, "⚠️ The image attachments/broken.png is broken: it is no image/png.");
  await talk.untilMessage(threadId, "I looked.");
});

test("200 KB of text: the model has all of it", async () => {
  const threadId = await openRested();
  const data = `${"0123456789".repeat(20_000)} the end`;
  const text = `${script("Read this", { text: "I have read it." })}\n\n${data}`;
  await all.sidecar.client.sendInput(threadId, { text });
  await talk.untilMessage(threadId, "I have read it.");
  const context = () => contextOf(all.sidecar.folders.home, all.sidecar.reposDir);
  await until("the engine's conversation to hold it", () => context().includes(data));
});

test("a Write of 1 MB: asked about in one message, written whole, and nothing false is counted", async () => {
  const dir = join(all.sidecar.reposDir, "write");
  mkdirSync(dir);
  const content = "a line of the file\n".repeat(55_000);
  const write = { name: "Write", input: { file_path: "big.txt", content } };
  writeFileSync(join(dir, LONG_SCRIPT), JSON.stringify([{ tools: [write] }, { text: "It is written." }]));
  const threadId = await talk.open("Use the script", "write");
  const ask = await talk.untilMessage(threadId, "May the agent do this?");
  expect(ask.content).toContain("Write `big.txt`");
  expect(ask.content).toContain("a line of the file");
  talk.press(ask, "Allow once");
  await talk.untilMessage(threadId, "It is written.");
  expect(readFileSync(join(dir, "big.txt"), "utf8") === content).toBe(true);
  // How many lines it has can't be told from the part that the transcript keeps.
  expect((await talk.untilMessage(threadId, /^✓ Write/)).content).not.toContain("+");
});

test("a tool output of 100 MB: the turn goes on, and the folder stays small", async () => {
  const threadId = await talk.open(
    script("Print", bash("head -c 100000000 /dev/zero | tr '\\0' x"), { text: "That was much." }),
  );
  talk.press(await talk.untilMessage(threadId, "May the agent do this?"), "Allow once");
  await talk.untilMessage(threadId, "That was much.", 50_000);
  await talk.untilMessage(threadId, /^✓ Bash/);
  await untilRested(threadId); // no file comes and goes while they are counted
  const folder = folderOf(all.sidecar, threadId);
  const sizes = readdirSync(folder, { recursive: true, encoding: "utf8" }).map(
    (name) => statSync(join(folder, name)).size,
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(2 * 1024 * 1024);
});
