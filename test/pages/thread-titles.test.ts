/** What people call a thread: the Discord thread's name, in the console, in `threadmux ls` and in `/status`. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildCli, type Cli } from "../support/cli.ts";
import { buildPages, startBrowser } from "../support/console.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { openTerminal } from "../support/threads.ts";
import { untilValue } from "../support/wait.ts";

let all: Everything;
let cli: Cli;
let browser: Browser;

beforeAll(async () => {
  buildPages();
  all = await startEverything({ isQuick: true, vm: { maxThreads: 20 } });
  mkdirSync(join(all.sidecar.reposDir, "shop"));
  cli = await buildCli(all.sidecar);
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await all?.close();
});

const titleOf = async (threadId: string) => (await all.sidecar.client.getThread(threadId)).title;
const untilTitle = (threadId: string, title: string) =>
  untilValue(
    `the title of ${threadId}`,
    () => titleOf(threadId),
    (now) => now === title,
  );
const lsLine = async (threadId: string) => {
  const { stdout, code } = await cli.call(["ls"]);
  expect(code).toBe(0);
  return stdout
    .split("\n")
    .find((line) => line.startsWith(threadId))
    ?.split("\t");
};

test("a Discord thread's name is its title everywhere, and follows when it is renamed", async () => {
  const { discord, you } = all;
  const { driver } = discord;
  const threadId = await all.openTerminal("exec cat", "shop");
  expect(driver.findThread(threadId)?.name).toBe("🖥 shop — exec cat");
  expect(await titleOf(threadId)).toBe("🖥 shop — exec cat");

  driver.patchThread(you, threadId, { name: "the *big* build" });
  await untilTitle(threadId, "the *big* build");
  expect((await lsLine(threadId))?.slice(0, 3)).toEqual([threadId, "the *big* build", "terminal"]);
  const status = await driver.command(you, discord.channelId, "status").reply();
  expect(status.content).toContain(`**the \\*big\\* build** <#${threadId}>`);

  // Renamed while nobody was looking.
  await all.stopRelay();
  driver.patchThread(you, threadId, { name: "named meanwhile" });
  await all.startRelay();
  await untilTitle(threadId, "named meanwhile");
});

test("a thread made elsewhere is called by its directory and command, or as it was told", async () => {
  const { client } = all.sidecar;
  await openTerminal(client, "unnamed", "exec cat # \u202eevil\u0007", { dir: "shop" });
  expect(await titleOf("unnamed")).toBe("shop — exec cat # evil");
  const made = await cli.call(["new", "shop", "--id", "named", "--title", "my\n shell\u001b", "--", "cat"]);
  expect(made.code).toBe(0);
  expect(await titleOf("named")).toBe("my shell");
  expect((await lsLine("named"))?.[1]).toBe("my shell");
  await client.setTitle("named", `${"x".repeat(120)}\u0000`);
  expect(await titleOf("named")).toBe(`${"x".repeat(99)}…`);
  for (const title of ["", "\u200b ", "x".repeat(1001)]) {
    await expect(client.setTitle("named", title)).rejects.toThrow(/^title: must/);
  }
  await expect(client.setTitle("nobody", "x")).rejects.toThrow(/no thread "?nobody/i);
});

test("a thread made before there were titles has one too", async () => {
  const { client } = all.sidecar;
  await openTerminal(client, "old", "exec cat", { dir: "shop", title: "named" });
  const db = new Database(join(all.sidecar.stateDir, "threadmux.db"));
  db.prepare("UPDATE threads SET title = '' WHERE thread_id = 'old'").run();
  db.close();
  await all.sidecar.restart();
  expect(await titleOf("old")).toBe("shop — exec cat");
});

test("the console shows the title beside the id, in its list and above the terminal", async () => {
  const { client, url, token } = all.sidecar;
  await openTerminal(client, "shown", "exec cat", { title: "<b>what</b> I call it" });
  const page = await browser.newPage();
  await page.goto(`${url}/console`);
  await page.fill("#token", token);
  await page.keyboard.press("Enter");
  const entry = page.locator("#open-threads li", { hasText: "shown" });
  await entry.waitFor();
  expect(await entry.locator(".name").textContent()).toBe("<b>what</b> I call it");
  expect(await entry.locator(".id").textContent()).toBe("shown");
  await entry.click();
  await expect.poll(() => page.locator("#thread-title").textContent()).toBe("<b>what</b> I call it");
  expect(await page.locator("#thread-id").textContent()).toBe("shown");
  await client.setTitle("shown", "another name");
  await expect.poll(() => page.locator("#thread-title").textContent()).toBe("another name");
  await page.close();
});
