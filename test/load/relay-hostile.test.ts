/** What a program prints or is called must not hold up the bot, nor become anything but text. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

let all: Everything;
beforeAll(async () => {
  all = await startEverything();
});
afterAll(() => all?.close());

/** What a terminal has most work with, 20 MB of it. */
const FLOOD = "yes $'\\ec\\e#8\\e[2J\\e[999T\\e[999L' | head -c 20000000; exec sleep 1000";

// Promise: S20
test("a flood of what costs most: other threads are shown, and /done ends it soon", async () => {
  const hostile = await all.openTerminal(FLOOD);
  await until("the flood", async () => (await all.sidecar.client.getThread(hostile)).offset > 1_000_000);
  // Each of these has 25 s, and half a minute is what 100 KB of the flood once held up everything for.
  const quiet = await all.openTerminal("echo qu''iet; exec cat");
  await all.untilShown(quiet, "quiet");
  all.discord.driver.post(all.you, quiet, "still here");
  await all.untilShown(quiet, "still here");
  const { content } = await all.discord.driver.command(all.you, hostile, "done").reply({ timeoutMs: 40_000 });
  expect(content).toContain("⏹ Ended");
  expect((await all.sidecar.client.getThread(hostile)).status).toBe("killed");
  await all.discord.driver.command(all.you, quiet, "done").reply();
});

// Promise: R6, S21
test("a terminal that keeps all others waiting is made smaller, and its thread says so", async () => {
  const { driver } = all.discord;
  const hostile = await all.openTerminal("read -r; while :; do printf '\\e#8%.0s' {1..9999}; done");
  const resize = { cols: 500, rows: 200 };
  await driver.command(all.you, hostile, "resize", resize).reply();
  driver.post(all.you, hostile, "go");
  const told = () => driver.messages(hostile).filter(({ content }) => content.startsWith("📐"));
  await driver.until(() => told().length > 0, { what: "the note", timeoutMs: 40_000 });
  expect(told()[0]?.content).toContain("it has 120 columns and 40 rows now. The program runs on.");
  const refused = await driver.command(all.you, hostile, "resize", resize).reply();
  expect(refused.content).toMatch(/kept all threads waiting: for \d+ more minutes/);
  await driver.command(all.you, hostile, "done").reply({ timeoutMs: 40_000 });
  expect(told()).toHaveLength(1);
});

const HARM = /[\p{Cc}\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

// Promise: S23
test("names that are long or hide something: /status, completion and thread names show them, cut and clean", async () => {
  const { driver, channelId } = all.discord;
  const evil = "gnp\u202e\u200b\x1b]0;x\x07";
  // As long as a path below the repositories' folder may be.
  const dir = [evil, ...Array.from({ length: 12 }, () => "d".repeat(140))].join("/");
  const folder = join(all.sidecar.reposDir, dir);
  mkdirSync(join(folder, ".git"), { recursive: true });
  for (const name of ["objects", "refs"]) mkdirSync(join(folder, ".git", name));
  writeFileSync(join(folder, ".git", "HEAD"), `ref: refs/heads/${"b\u202e".repeat(300)}\n`);
  const command = `echo rea''dy; exec cat # ${"\u202e`".repeat(900)}`;
  const threadId = await all.openTerminal(command, dir);
  await all.untilShown(threadId, "ready");
  const other = await all.openTerminal("echo oth''er; exec cat");

  const status = await driver.command(all.you, channelId, "status").reply();
  const statuses = () =>
    driver
      .ephemerals(all.you)
      .map(({ content }) => content)
      .join("\n");
  await driver.until(() => statuses().includes(`<#${other}>`), { what: "the other thread" });
  expect(status.content).not.toContain("went wrong");
  for (const id of [threadId, other]) expect(statuses()).toContain(`<#${id}>\n🖥 terminal`);
  expect(HARM.exec(statuses().replaceAll("\n", ""))?.[0]).toBe(undefined);

  const name = driver.findThread(threadId)?.name ?? "";
  expect(name).toMatch(/^🖥 gnp.* — echo rea''dy/);
  expect([name.length <= 100, HARM.exec(name)?.[0]]).toEqual([true, undefined]);
  const opening = driver.messages(threadId)[0]?.content ?? "";
  expect([opening.length <= 2_000, opening.includes("\u202e")]).toEqual([true, false]);

  for (const [use, option, typed] of [
    ["terminal", "dir", "gnp"],
    ["kill", "thread", ""],
  ] as const) {
    const choices = await driver.autocomplete(all.you, channelId, use, { [option]: typed }, option);
    expect(choices.length).toBeGreaterThan(0);
    for (const choice of choices) expect(HARM.exec(choice.name)?.[0]).toBe(undefined);
  }

  const { content } = await driver.command(all.you, threadId, "done").reply({ timeoutMs: 20_000 });
  expect(content).toContain("⏹ Ended");
  const gone = await driver
    .command(all.you, channelId, "terminal", { dir: `${dir}/no${evil}`, command: "ls" })
    .reply();
  expect(gone.content).toContain("does not exist");
  expect(HARM.exec(gone.content)?.[0]).toBe(undefined);
});

// Promise: S40
test("Discord fetches no link, wherever it stands: output, its edits, public and private answers", async () => {
  const { driver, channelId } = all.discord;
  const link = "https://x.example/?secret";
  const threadId = await all.openTerminal(`echo ${link}; cat # ${link}`);
  await all.untilShown(threadId, link);
  driver.post(all.you, threadId, `${link}/more`);
  await all.untilShown(threadId, `${link}/more`);
  await driver.command(all.you, channelId, "status").reply();
  await driver.until(() => driver.ephemerals(all.you).some(({ content }) => content.includes(link)), {
    what: "the private answer",
  });
  const { content } = await driver.command(all.you, threadId, "done").reply({ timeoutMs: 20_000 });
  expect(content).toContain("⏹ Ended");
  expect(driver.text(threadId)).toContain(link);
  expect(driver.messagesWithFetchedLinks().map(({ content }) => content)).toEqual([]);
});
