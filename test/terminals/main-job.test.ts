/** The first paragraph of the README, from a person's side: real tmux, real HTTP, real discord.js. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

let all: Everything;

beforeAll(async () => {
  all = await startEverything();
});
afterAll(() => all?.close());

test("main job", async () => {
  const { discord, sidecar, you } = all;
  const { driver } = discord;
  mkdirSync(join(sidecar.reposDir, "shop"));

  // Someone types /terminal: a thread opens.
  const command = `printf 'what is your name? '; read name; echo "hello $name"; for i in 1 2 3; do printf "\\rstep $i"; sleep 0.3; done; echo; sleep 1000`;
  const answer = await driver.command(you, discord.channelId, "terminal", { dir: "shop", command }).reply();
  const threadId = /<#(\d+)>/.exec(answer.content)?.[1] ?? "";
  const thread = driver.findThread(threadId);
  expect(thread?.name).toMatch(/^🖥 shop — printf 'what is your name\?/);

  // A real process runs in tmux on the VM, and its output appears in the thread.
  expect(await sidecar.folders.tmux("list-sessions")).toContain(`thread-${threadId}`);
  await all.untilShown(threadId, "what is your name?");

  // What is typed into the thread reaches the process.
  driver.post(you, threadId, "Ada");
  await all.untilShown(threadId, "hello Ada");

  // Its output is edited in place: the progress line was several things in the course of time, and is one line.
  await all.untilShown(threadId, "step 3");
  expect(all.terminalText(threadId)).not.toContain("step 1");
  const edited = driver
    .messages(threadId)
    .filter((message) => message.author.isBot && message.editedAt !== null);
  expect(edited.length).toBeGreaterThan(0);

  // /done ends it: the process is gone, the last lines are shown, the thread is archived.
  const done = await driver.command(you, threadId, "done").reply();
  expect(done.content).toMatch(/^⏹ Ended with exit code 143/);
  expect(done.content).toContain("hello Ada");
  await driver.until(() => driver.findThread(threadId)?.isArchived, { what: "the thread to be archived" });
  await until(
    "the session to be gone",
    async () => !(await sidecar.folders.tmux("list-sessions")).includes(threadId),
  );
  expect((await sidecar.client.getThread(threadId)).status).toBe("killed");
  expect(driver.stats.rateLimited).toBe(0);
});
