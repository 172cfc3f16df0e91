/** Diff and Undo of a turn in Discord: real relay, sidecar, runner and git, the stand-in engine. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { STAND_IN_CONFIG, script } from "../support/agents.ts";
import { AgentTalk } from "../support/discord-agents.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

let all: Everything;
let talk: AgentTalk;
beforeAll(async () => {
  all = await startEverything({ isQuick: true, vm: STAND_IN_CONFIG });
  talk = new AgentTalk(all);
});
afterAll(() => all?.close());

/** One turn in a directory of its own that runs a command, allowed by a button. */
async function turn(dir: string, isGit: boolean, command: string) {
  const path = join(all.sidecar.reposDir, dir);
  mkdirSync(path);
  if (isGit) execFileSync("git", ["init", "-q"], { cwd: path });
  writeFileSync(join(path, "a"), "one\n");
  const prompt = script("Do it", { tools: [{ name: "Bash", input: { command } }] }, { text: "It is done." });
  const threadId = await talk.open(prompt, dir);
  talk.press(await talk.untilMessage(threadId, "May the agent do this?"), "Allow once");
  const end = await talk.untilMessage(threadId, "It is done.");
  return { path, threadId, end };
}

test("the end of a turn counts its files; Diff shows them, Undo puts them back, and can be undone", async () => {
  const { path, threadId, end } = await turn("changed", true, "echo two > a; echo new > b");
  expect(end.content).toMatch(/\n-# .*2 files \+2 −1$/);
  const shown = talk.press(end, "Diff");
  const diff = await until("the diff", () => shown.find()?.content);
  expect(diff).toContain("**2 files +2 −1**\n```diff\ndiff --git a/a b/a");
  expect(diff).toContain("\n-one\n+two\n");
  talk.press(end, "Undo");
  const undone = await talk.untilMessage(threadId, `↩ Undone by <@${all.you}>: 2 files as before · a, b`);
  expect(readFileSync(join(path, "a"), "utf8")).toBe("one\n");
  writeFileSync(join(path, "a"), "three\n");
  talk.press(undone, "Undo the undo");
  await talk.untilMessage(threadId, "1 file as before · b\nLeft as they are: a (changed since)");
  expect(readFileSync(join(path, "b"), "utf8")).toBe("new\n");
  expect(readFileSync(join(path, "a"), "utf8")).toBe("three\n");
});

test("a killed agent's turn can be undone as long as its Discord thread can be written in", async () => {
  const path = join(all.sidecar.reposDir, "killed");
  mkdirSync(path);
  execFileSync("git", ["init", "-q"], { cwd: path });
  writeFileSync(join(path, "a"), "one\n");
  const bash = (command: string) => ({ tools: [{ name: "Bash", input: { command } }] });
  const threadId = await talk.open(script("Do it", bash("echo two > a"), bash("sleep 300")), "killed");
  talk.press(await talk.untilMessage(threadId, "May the agent do this?"), "Allow once");
  await until("the second ask", () => talk.find(threadId, "sleep 300").length > 0);
  const { driver } = all.discord;
  driver.command(all.you, threadId, "done", {});
  await until("the archived thread", () => driver.findThread(threadId)?.isArchived);
  talk.say(threadId, "Oh no"); // brings it back
  const end = await until("the button", () =>
    talk.messages(threadId).find(({ buttons = [] }) => buttons.some(({ label }) => label === "Undo")),
  );
  talk.press(end, "Undo");
  await talk.untilMessage(threadId, `↩ <@${all.you}>: undone: 1 file as before, a.`);
  expect(readFileSync(join(path, "a"), "utf8")).toBe("one\n");
});

test("a long diff comes as a file", async () => {
  const { end } = await turn("long", true, "seq 1 5000 > a");
  const shown = talk.press(end, "Diff");
  const reply = await until("the diff", () => (shown.find()?.content ? shown.find() : undefined));
  expect(reply.content).toBe("**1 file +5000 −1**");
  expect(JSON.stringify(reply)).toContain("turn.diff");
});

test("without git the end says that there is no undo", async () => {
  const { end } = await turn("plain", false, "echo two > a");
  expect(end.content).toMatch(/\n-# .*no undo: the directory is in no git work tree$/);
  expect((end.buttons ?? []).map(({ label }) => label)).not.toContain("Undo");
});
