/** Threads begun, found and ended in the page, by somebody who has no Discord. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { BYPASS_CONFIG, openAgent, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { buildPages, startBrowser } from "../support/console.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, untilOutput } from "../support/threads.ts";
import { untilValue } from "../support/wait.ts";
import { git } from "../support/worktrees.ts";

let sidecar: TestSidecar;
let browser: Browser;
let page: Page;
const problems: string[] = [];

beforeAll(async () => {
  buildPages();
  sidecar = await startSidecar(BYPASS_CONFIG);
  mkdirSync(join(sidecar.reposDir, "shop", ".git"), { recursive: true });
  browser = await startBrowser();
  page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.goto(`${sidecar.url}/console`);
  await page.fill("#token", sidecar.token);
  await page.keyboard.press("Enter");
  await page.waitForSelector("#list-notice >> text=New makes one");
});
afterAll(async () => {
  await browser?.close();
  await sidecar?.close();
});
afterEach(() => {
  expect(problems.splice(0)).toEqual([]);
});

const START = "#make button[type=submit]";
const names = () => page.locator("nav [data-thread] .name").allInnerTexts();
const untilNames = (expected: string[]) =>
  untilValue("the names in the lists", names, (all) => JSON.stringify(all) === JSON.stringify(expected));

test("a terminal is begun by keys alone, and typed into", async () => {
  await page.keyboard.press("n");
  await page.waitForSelector("#make >> text=New thread");
  await untilValue(
    "the directories",
    () => page.locator("#make-dirs option").evaluateAll((all) => all.map((one) => one.getAttribute("value"))),
    (dirs) => dirs.includes("shop"),
  );
  await page.fill("#make-dir", "shop");
  await page.fill("#make-title", "the shop");
  await page.focus("#make-command");
  await page.keyboard.type("pwd; exec cat");
  await page.keyboard.press("Enter");
  await page.waitForSelector("h2 >> text=the shop");
  await untilValue(
    "the directory on its screen",
    () => page.locator(".xterm-rows").innerText(),
    (text) => text.includes("/shop"),
  );
  const [thread] = await sidecar.client.listThreads();
  expect(thread).toMatchObject({ type: "terminal", dir: "shop", title: "the shop", createdBy: "console" });
  await page.locator(".xterm-helper-textarea").focus();
  await page.keyboard.type("n/?"); // the terminal's, all of them
  await untilValue(
    "the keys on its screen",
    () => page.locator(".xterm-rows").innerText(),
    (text) => text.includes("n/?"),
  );
});

test("an agent is begun, and what is wrong is said in the form, with nothing lost", async () => {
  await page.click("#new-thread");
  await page.check("#make >> text=A coding agent");
  await page.fill("#make-dir", "nowhere");
  await page.fill("#make-command", "Say hello.");
  await page.click(START);
  await page.waitForSelector("#make .problem >> text=nowhere");
  expect(await page.inputValue("#make-command")).toBe("Say hello.");
  await page.fill("#make-dir", ".");
  await page.waitForSelector("#make-engine option[value=demo]", { state: "attached" });
  await page.selectOption("#make-engine", "demo");
  await page.fill("#make-model", "sonnet");
  await page.click(START);
  await page.waitForSelector("#app.is-agent");
  await page.waitForSelector("#inbox[open] >> text=Needs you (1)");
  await page.click("#inbox li.permission button");
  const agent = (await sidecar.client.listThreads()).find(({ type }) => type === "agent");
  const asked = { dir: ".", command: "Say hello.", createdBy: "console", engine: "demo" };
  expect(agent).toMatchObject(asked);
  await untilStatus(sidecar, agent?.threadId ?? "", "waiting"); // a stand-in, which asks about its first call
});

test("a thread whose beginning nobody answered begins once", async () => {
  await page.click("#new-thread");
  await page.check("#make >> text=A command in a terminal");
  await page.fill("#make-command", "exec sleep 1001");
  await page.route(
    "**/thread/create",
    async (route) => {
      await route.fetch();
      await route.abort();
    },
    { times: 1 },
  );
  await page.click(START);
  await page.waitForSelector("#make .problem >> text=It may have begun");
  await page.click(START);
  await page.waitForSelector("h2 >> text=sleep 1001");
  const threads = await sidecar.client.listThreads();
  expect(threads.filter(({ command }) => command === "exec sleep 1001")).toHaveLength(1);
});

test("the search leaves what it means, and Enter opens it", async () => {
  await openTerminal(sidecar.client, "needle", "exec sleep 1000", { home: "discord" });
  await page.click("nav h1"); // out of the terminal, whose keys they would be
  await page.keyboard.press("/");
  await page.keyboard.type("NEEDLE");
  await untilNames(["exec sleep 1000"]);
  await page.keyboard.press("Enter");
  await page.waitForSelector("#thread-id >> text=needle");
  // The search also finds a thread by its last output, and shows that output.
  await openTerminal(
    sidecar.client,
    "speaker",
    "printf 'deployed \\033[32mat n%s\\033[0m\\n' oon; exec sleep 1000",
  );
  await untilOutput(sidecar.client, "speaker", "noon");
  await page.fill("#search", "sleep NOON");
  await page.waitForSelector("#open-threads [data-thread=speaker] .said >> text=“deployed at noon”");
  expect(await names()).toHaveLength(1);
  await page.fill("#search", "no such thread");
  await page.waitForSelector("#list-notice >> text=No thread has no such thread.");
  await page.focus("#search");
  await page.keyboard.press("Escape");
  await untilValue("all names", names, (all) => all.length >= 3);
});

test("a thread is renamed, and an agent gets another mode, in its settings", async () => {
  await page.goto(`${sidecar.url}/console#/speaker`);
  await page.click("#settings");
  await page.waitForSelector("#settings-dialog[open]");
  expect(await page.locator("#settings-agent").isHidden()).toBe(true);
  await page.fill("#settings-title", "the speaker");
  await page.keyboard.press("Enter");
  await page.waitForSelector("h2 >> text=the speaker");
  expect((await sidecar.client.getThread("speaker")).title).toBe("the speaker");

  await openAgent(sidecar, "set", script("Say it", { text: "said" }));
  await untilStatus(sidecar, "set", "idle");
  await page.goto(`${sidecar.url}/console#/set`);
  await page.click("#settings");
  await page.selectOption("#settings-mode", "plan");
  await page.fill("#settings-model", "opus");
  await page.click("#settings-form button[type=submit]");
  await page.waitForSelector("#settings-dialog", { state: "hidden" });
  const orders = await untilValue(
    "what the agent was told",
    async () => (await transcriptOf(sidecar, "set")).filter(({ type }) => type === "control"),
    (all) => all.length === 2,
  );
  expect(orders).toMatchObject([
    { op: "mode", modeId: "plan", by: "console" },
    { op: "model", model: "opus", by: "console" },
  ]);
});

test("what a turn changed is put back by a button", async () => {
  const dir = join(sidecar.reposDir, "undoer");
  mkdirSync(dir);
  git(dir, "init", "-q");
  writeFileSync(join(dir, "a.txt"), "one\n");
  git(dir, "add", ".");
  git(dir, "commit", "-qm", "first");
  const call = { name: "Bash", input: { command: "echo two > a.txt" } };
  await openAgent(sidecar, "undoer", script("Change it", { tools: [call] }, { text: "Done." }), {
    agent: { permissionMode: "bypassPermissions" },
  });
  await untilStatus(sidecar, "undoer", "idle");
  expect(readFileSync(join(dir, "a.txt"), "utf8")).toBe("two\n");
  await page.goto(`${sidecar.url}/console#/undoer`);
  await page.click("#undo");
  await untilValue(
    "the file",
    () => readFileSync(join(dir, "a.txt"), "utf8"),
    (text) => text === "one\n",
  );
  await page.waitForSelector("#undo", { state: "hidden" });
});

test("a thread is ended once that was asked, and kept if it was not meant", async () => {
  await page.goto(`${sidecar.url}/console#/needle`);
  await page.click("#end");
  await page.waitForSelector("#end-dialog[open]");
  expect(await page.innerText("#end-what")).toBe("All that runs in it ends. What it has said stays.");
  await page.click("#end-not");
  expect(await sidecar.client.getThread("needle")).toMatchObject({ status: "running" });
  await page.click("#end");
  await page.click("#end-now");
  await page.waitForSelector("#notice >> text=over");
  expect(await sidecar.client.getThread("needle")).toMatchObject({ status: "killed" });
  await page.waitForSelector("#end", { state: "hidden" });
});

test("people in Discord have their names, which can't be the owner's", async () => {
  const [ada, eve] = ["123456789012345678", "223456789012345678"];
  const people = [ada, eve].map((id) => ({
    id,
    role: "maker" as const,
    handle: id === ada ? "ada" : "the owner",
  }));
  await sidecar.client.putPeople(people);
  await openAgent(
    sidecar,
    "asked",
    script("Do", { tools: [{ name: "Bash", input: { command: "touch x" } }] }),
  );
  await untilStatus(sidecar, "asked", "waiting");
  const [ask] = await sidecar.client.listAsks("asked");
  await sidecar.as(ada).answerAsk("asked", ask?.requestId ?? "", { optionId: "once" });
  await untilStatus(sidecar, "asked", "idle");
  await sidecar.as(eve).sendInput("asked", { text: "Go on." });
  await page.goto(`${sidecar.url}/console#/asked`);
  await page.reload(); // names are asked for each minute, and at the start
  await page.waitForSelector("#transcript >> text=by @ada");
  await page.waitForSelector("#transcript .who >> text=@the owner");
  await page.waitForSelector("#inbox li.end >> text=has ended its turn");
});
