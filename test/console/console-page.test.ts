/** The page in a real browser. */

import { readFileSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { attach, buildPages, refusedWith, startBrowser } from "../support/console.ts";
import { startProxy, type TcpProxy } from "../support/proxy.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, untilOutput } from "../support/threads.ts";
import { untilValue } from "../support/wait.ts";

const SHELL = "PS1='$ ' exec bash --norc --noprofile";

let sidecar: TestSidecar;
let line: TcpProxy;
let browser: Browser;
let context: BrowserContext;
const problems: string[] = [];

beforeAll(async () => {
  buildPages();
  sidecar = await startSidecar({ maxThreads: 100 });
  line = await startProxy(Number(new URL(sidecar.url).port));
  browser = await startBrowser();
  context = await newContext(1280, 800);
  const page = await openPage(context);
  await page.fill("#token", sidecar.token);
  await page.keyboard.press("Enter");
  await page.waitForSelector("#app");
  await page.close();
});
afterAll(async () => {
  await browser?.close();
  await line?.close();
  await sidecar?.close();
});
afterEach(() => {
  expect(problems.splice(0)).toEqual([]);
});

function newContext(width: number, height: number): Promise<BrowserContext> {
  return browser.newContext({ viewport: { width, height }, hasTouch: width < 700, isMobile: width < 700 });
}

async function openPage(where: BrowserContext, hash = "", url = sidecar.url): Promise<Page> {
  const page = await where.newPage();
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    if (/Content Security Policy/.test(message.text())) problems.push(message.text());
  });
  await page.goto(`${url}/console${hash}`);
  return page;
}

/** The terminal's rows as text. */
function rows(page: Page): Promise<string[]> {
  return page.locator(".xterm-rows > div").allInnerTexts();
}

async function untilShown(page: Page, expected: string | RegExp): Promise<string> {
  const read = async () => (await rows(page)).join("\n").replaceAll("\u00a0", " ");
  const isShown = (text: string) =>
    typeof expected === "string" ? text.includes(expected) : expected.test(text);
  return untilValue(`${expected} in the page's terminal`, read, isShown);
}

async function untilNotice(page: Page, expected: RegExp): Promise<void> {
  const read = async () =>
    (await page.locator("#notice").isVisible()) ? page.locator("#notice").innerText() : "";
  await untilValue(`the notice ${expected}`, read, (text) => expected.test(text));
}

function colourOf(page: Page, text: string): Promise<string> {
  const letters = page.locator(".xterm-rows span", { hasText: new RegExp(`^\\s*${text}\\s*$`) }).last();
  const read = () => letters.evaluate((element) => getComputedStyle(element).color);
  // It has none when the terminal has drawn its row anew just then.
  return untilValue(`the colour of ${text}`, read, (colour) => colour !== "");
}

/** The column in which a word is drawn, from where it stands on the page. */
function columnOf(page: Page, word: string, cols: number): Promise<number> {
  const read = () => findColumn(page, word, cols);
  return untilValue(`the column of ${word}`, read, (column) => column >= 0);
}

function findColumn(page: Page, word: string, cols: number): Promise<number> {
  return page.locator(".xterm-rows").evaluate(
    (screen, [text, count]) => {
      const walker = document.createTreeWalker(screen, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const at = node.textContent?.indexOf(text) ?? -1;
        if (at === -1) continue;
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + text.length);
        const { left, width } = screen.getBoundingClientRect();
        return Math.round((range.getBoundingClientRect().left - left) / (width / count));
      }
      return -1;
    },
    [word, cols] as const,
  );
}

async function type(page: Page, text: string): Promise<void> {
  await page.locator(".xterm-helper-textarea").focus();
  await page.keyboard.type(text);
}

describe("the console in a browser", () => {
  test("signs in, refuses a wrong token, and signs out", async () => {
    const other = await newContext(800, 600);
    const page = await openPage(other);
    await page.fill("#token", "wrong");
    await page.keyboard.press("Enter");
    await page.waitForSelector("text=That is not the token.");
    await page.fill("#token", sidecar.token);
    await page.keyboard.press("Enter");
    await page.waitForSelector("nav >> text=Threads");
    expect(await other.cookies()).toEqual([]);
    await page.reload();
    await page.waitForSelector("nav >> text=Threads");
    await page.click("text=Sign out");
    await page.waitForSelector("#token");
    await page.reload();
    await page.waitForSelector("#token");
    await other.close();
  });

  // Promise: S39
  test("what the browser sends to another port of the host opens nothing here", async () => {
    await openTerminal(sidecar.client, "door", SHELL);
    const heard: IncomingHttpHeaders[] = [];
    const stranger = createHttpServer((request, response) => {
      heard.push(request.headers);
      response.end("<!doctype html>");
    });
    await new Promise<void>((resolve) => stranger.listen(0, "127.0.0.1", resolve));
    try {
      const page = await openPage(context, "#/door");
      await untilShown(page, "$");
      const { port } = stranger.address() as AddressInfo;
      await page.goto(`http://127.0.0.1:${port}/`);
      await page.close();
    } finally {
      stranger.closeAllConnections();
      stranger.close();
    }
    expect(heard.length).toBeGreaterThan(0);
    for (const { host: _host, connection: _connection, ...headers } of heard) {
      const replayed = { ...(headers as Record<string, string>), origin: sidecar.url };
      expect(await refusedWith(attach(sidecar, "door", { headers: replayed }))).toBe(401);
    }
  });

  test("lists the threads, opens one, types into it", async () => {
    const page = await openPage(context);
    await openTerminal(sidecar.client, "typed", SHELL);
    await page.click("#open-threads >> text=typed");
    await untilShown(page, "$");
    await type(page, "echo $((6 * 7))-of-bash\n");
    await untilShown(page, "42-of-bash");
    await untilOutput(sidecar.client, "typed", "42-of-bash");
    expect((await rows(page)).length).toBe(24);
    await page.close();
  });

  test("a paste goes in as one, and can't end itself", async () => {
    const recorder = fileURLToPath(new URL("../fixtures/record-bytes.mjs", import.meta.url));
    await openTerminal(sidecar.client, "pasted", `exec ${process.execPath} ${recorder} pasted paste`);
    const page = await openPage(context);
    await page.click("#open-threads >> text=pasted");
    await untilShown(page, "READY");
    await page.locator(".xterm-helper-textarea").evaluate((area) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", "if x:\n    y\u001b[201~\nrm");
      area.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    });
    const read = () => readFileSync(join(sidecar.reposDir, "pasted"), "utf8");
    const got = await untilValue("the paste", read, (text) => text.includes("rm") && text.endsWith("~"));
    expect(got).toBe("\x1b[200~if x:\r    y\rrm\x1b[201~");
    await page.close();
  });

  test("shows colours, true ones too, and wide characters in their places", async () => {
    const text = String.raw`printf '\033[31mred\033[0m \033[38;2;1;200;30mtrue\033[0m\n日本|🚀|end\n'; sleep 60`;
    await openTerminal(sidecar.client, "colours", text);
    const page = await openPage(context, "#/colours");
    await untilShown(page, "end");
    expect(await colourOf(page, "true")).toBe("rgb(1, 200, 30)");
    expect(await colourOf(page, "red")).toBe("rgb(204, 0, 0)");
    // Two cells each for 日, 本 and 🚀, as tmux counts them: "end" begins in the ninth.
    expect(await columnOf(page, "end", 80)).toBe(8);
    await page.close();
  });

  test("shows a full-screen program, and what was there before it when it ends", async () => {
    const lines = Array.from({ length: 100 }, (_, i) => `line ${i + 1} of 100`).join("\n");
    writeFileSync(`${sidecar.reposDir}/lines`, lines);
    await openTerminal(sidecar.client, "full", `echo before; ${SHELL}`);
    const page = await openPage(context, "#/full");
    await untilShown(page, "$");
    await type(page, "less lines\n");
    await untilShown(page, /^line 1 of 100[\s\S]*line 23 of 100/);
    await type(page, "G");
    await untilShown(page, /line 100 of 100/);
    await page.keyboard.press("Home");
    await type(page, "g");
    await page.keyboard.press("ArrowDown");
    await untilShown(page, /^line 2 of 100/);
    await type(page, "q");
    await untilShown(page, /^before\n\$ less lines/);
    await page.close();
  });

  test("comes back by itself after the line was cut, to the screen as it is then", async () => {
    await openTerminal(sidecar.client, "cut", SHELL);
    const other = await newContext(1000, 700);
    const page = await openPage(other, "#/cut", line.url);
    await page.fill("#token", sidecar.token);
    await page.keyboard.press("Enter");
    await untilShown(page, "$");
    await line.cut();
    await untilNotice(page, /connection is lost.*Trying again in \d+ s/i);
    await sidecar.client.sendInput("cut", { text: "echo meanwhile-$((1))" });
    await untilOutput(sidecar.client, "cut", "meanwhile-1");
    await line.mend();
    await untilShown(page, "meanwhile-1");
    await untilNotice(page, /^$/);
    await type(page, "echo again-$((2))\n");
    await untilShown(page, "again-2");
    await other.close();
  });

  // Promise: S39
  test("goes on by itself after the sidecar was restarted, and asks again if the token is another", async () => {
    const own = await startSidecar();
    const other = await newContext(1000, 700);
    try {
      await openTerminal(own.client, "a", SHELL);
      const page = await openPage(other, "#/a", own.url);
      await page.fill("#token", own.token);
      await page.keyboard.press("Enter");
      await untilShown(page, "$");
      await own.restart();
      await own.client.sendInput("a", { text: "echo again-$((1))" });
      await untilShown(page, "again-1");
      await own.restart({ token: "another-token-of-32-characters-or-more" });
      await page.waitForSelector("#token:visible");
      await page.fill("#token", "another-token-of-32-characters-or-more");
      await page.keyboard.press("Enter");
      await untilShown(page, "$");
    } finally {
      await other.close();
      await own.close();
    }
  });

  test("two at once see the same", async () => {
    await openTerminal(sidecar.client, "two", SHELL);
    const [one, two] = await Promise.all([openPage(context, "#/two"), openPage(context, "#/two")]);
    await untilShown(one, "$");
    await untilShown(two, "$");
    await type(one, "echo from-$((1))\n");
    await untilShown(two, "from-1");
    await type(two, "echo from-$((2))\n");
    await untilShown(one, "from-2");
    await Promise.all([one.close(), two.close()]);
  });

  test("in view mode can't type", async () => {
    await openTerminal(sidecar.client, "looks", SHELL);
    const page = await openPage(context, "#/looks");
    await untilShown(page, "$");
    await page.click("text=View only");
    await untilNotice(page, /looking on/);
    await untilShown(page, "$");
    await type(page, "echo typed\n");
    const typist = await attach(sidecar, "looks");
    typist.type("echo by-$((1))\r");
    await untilShown(page, "by-1");
    expect((await rows(page)).join("\n")).not.toContain("typed");
    await typist.close();
    await page.close();
  });

  test("says how a thread ended, keeps its last picture, and has none of one that was killed before", async () => {
    await openTerminal(sidecar.client, "ends", "echo last words; read; exit 3");
    const page = await openPage(context, "#/ends");
    await untilShown(page, "last words");
    await type(page, "\n");
    await untilNotice(page, /ended with exit code 3/);
    await sidecar.client.killThread("ends");
    await untilNotice(page, /The thread is over: killed/);
    await untilShown(page, "last words");
    await page.reload();
    await untilNotice(page, /The thread is over: killed.*Its terminal is gone/);
    expect(await page.locator(".xterm").count()).toBe(0);
    await page.click("text=Ended threads");
    await page.waitForSelector("#ended-threads >> text=ends");
    await page.goto(`${sidecar.url}/console#/nobody`);
    await untilNotice(page, /There is no thread "nobody"/);
    await page.close();
  });

  test("keeps the thread's size, and follows /resize", async () => {
    await openTerminal(sidecar.client, "sized", "echo up; sleep 60", { cols: 132, rows: 43 });
    const page = await openPage(context, "#/sized");
    await untilShown(page, "up");
    expect((await rows(page)).length).toBe(43);
    await page.setViewportSize({ width: 700, height: 400 });
    await sidecar.client.resizeThread("sized", { cols: 60, rows: 12 });
    await untilValue(
      "12 rows",
      () => rows(page),
      (shown) => shown.length === 12,
    );
    expect(await sidecar.client.getThread("sized")).toMatchObject({ cols: 60, rows: 12 });
    await page.close();
  });

  test("on a phone fits 80 columns and has the keys that its keyboard lacks", async () => {
    await openTerminal(sidecar.client, "phone", "echo ready; exec cat -v");
    const phone = await newContext(390, 844);
    const page = await openPage(phone);
    await page.fill("#token", sidecar.token);
    await page.keyboard.press("Enter");
    await page.tap("#open-threads >> text=phone");
    await page.locator(".xterm-rows").waitFor();
    await untilValue("typing to be possible", () => page.isEnabled("[aria-label=Escape]"), Boolean);
    await untilShown(page, "ready"); // before, Ctrl-C would end something else
    for (const name of ["Escape", "Up", "Page up"]) await page.tap(`[aria-label="${name}"]`);
    await page.tap('[aria-label^="Ctrl,"]');
    await type(page, "g");
    await type(page, "x\n");
    await untilShown(page, "^[^[[A^[[5~^Gx");
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow).toBeLessThanOrEqual(0);
    const width = await page
      .locator(".xterm-screen")
      .evaluate((element) => element.getBoundingClientRect().width);
    expect(width).toBeLessThanOrEqual(390);
    await page.tap('[aria-label="Ctrl-C"]');
    await untilNotice(page, /ended by SIGINT/);
    await page.tap("#back");
    await page.waitForSelector("nav >> text=Threads");
    await phone.close();
  });

  test("stays usable while a thread floods it", async () => {
    const cells = Array.from({ length: 80 * 24 - 1 }, (_, i) => `\x1b[38;5;${(i * 7) % 256}m#`);
    writeFileSync(`${sidecar.reposDir}/picture`, `\x1b[H${cells.join("")}\x1b[m`);
    await openTerminal(sidecar.client, "flood", SHELL);
    const page = await openPage(context, "#/flood");
    await untilShown(page, "$");
    await type(page, "for i in $(seq 30); do cat picture; sleep 0.1; done; clear; echo over-$((1))\n");
    await untilShown(page, "over-1"); // more than is sent to a page that does not say what it has drawn
    await type(page, "yes flood\n");
    await untilShown(page, /flood\nflood\nflood\nflood/);
    await page.keyboard.press("Control+C");
    await type(page, "clear; echo calm-$((1))\n");
    await untilShown(page, "calm-1");
    await page.close();
  });
});
