/** An agent thread's page in a real browser: what it shows, what is pressed and written there. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openAgent, STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { buildPages, startBrowser } from "../support/console.ts";
import {
  allRows,
  drawnRows,
  expectedRows,
  type OpenedPage,
  openConversation,
  untilSaid,
  untilText,
} from "../support/conversation.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until, untilValue } from "../support/wait.ts";

let sidecar: TestSidecar;
let browser: Browser;
let context: BrowserContext;
const opened: OpenedPage[] = [];

beforeAll(async () => {
  buildPages();
  sidecar = await startSidecar(STAND_IN_CONFIG);
  browser = await startBrowser();
  context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
});
afterAll(async () => {
  await browser?.close();
  await sidecar?.close();
});
afterEach(async () => {
  const pages = opened.splice(0);
  for (const { page } of pages) await page.close();
  expect(pages.flatMap(({ problems }) => problems)).toEqual([]);
  expect(pages.flatMap(({ strangers }) => strangers)).toEqual([]);
});

async function open(threadId: string, where = context) {
  const found = await openConversation(where, sidecar, threadId);
  opened.push(found);
  return found.page;
}

const bash = (command: string) => ({ tools: [{ name: "Bash", input: { command, description: "d" } }] });

test("shows what the transcript says, event for event, as it grows", async () => {
  await openAgent(sidecar, "grows", script("Hello", { text: "Hello to you." }));
  const page = await open("grows");
  await untilSaid(page, /Hello to you\./);
  const edit = { name: "Write", input: { file_path: "note.md", content: "one\ntwo\n" } };
  const more = script("Work", { text: "I write.", tools: [edit] }, bash("seq 3"), { text: "All **done**." });
  await page.fill("#message", more);
  await page.keyboard.press("Enter");
  for (const _ of [1, 2]) await page.click(".ask:not(.decided) >> text=Allow once");
  await untilText(page, "#rows", /All done\./);
  await untilStatus(sidecar, "grows", "idle");
  const events = await transcriptOf(sidecar, "grows");
  await untilText(page, "#rows", /All done\.[\s\S]*Done/);
  const rows = await allRows(page);
  expect(rows.map(({ seq, ending }) => ({ seq, ending }))).toEqual(expectedRows(events));
  expect(rows.map(({ text }) => text).join("\n")).toMatch(
    /Write note\.md\s+\+2 −0[\s\S]*✓ Allow once by the console/,
  );
});

test("a step opens to its input, its output and its change, by keyboard too", async () => {
  await openAgent(sidecar, "steps", script("Work", bash("seq 3; echo oops >&2; exit 3"), { text: "Done." }));
  const page = await open("steps");
  await page.click(".ask >> text=Allow once");
  const step = page.locator("#rows button.step", { hasText: "Bash seq 3" });
  await untilValue(
    "the step to have failed",
    () => step.locator(".mark").getAttribute("aria-label"),
    (name) => name === "failed",
  );
  expect(await step.getAttribute("aria-expanded")).toBe("false");
  await step.focus();
  await page.keyboard.press("Enter");
  await untilText(page, ".step-body", /Input\s+seq 3; echo oops[\s\S]*Output[\s\S]*1\n2\n3[\s\S]*oops/);
  expect(await step.getAttribute("aria-expanded")).toBe("true");
  await untilValue(
    "the focus",
    () => page.evaluate(() => document.activeElement?.className),
    (name) => name === "step",
  );
});

describe("an ask", () => {
  test("that was answered elsewhere shows what was decided", async () => {
    await openAgent(sidecar, "elsewhere", script("Work", bash("touch made"), { text: "Done." }));
    const page = await open("elsewhere");
    await page.waitForSelector(".ask >> text=Allow once");
    await untilText(page, "nav", /asks you/);
    const [ask] = await sidecar.client.listAsks("elsewhere");
    await sidecar.client.answerAsk("elsewhere", ask?.requestId ?? "", {
      optionId: "no",
      message: "not now",
    });
    await untilText(page, "#asks", /✗ Deny by the owner: not now/);
    expect(await page.locator("#asks >> text=Allow once").count()).toBe(0);
    expect(existsSync(join(sidecar.reposDir, "elsewhere", "made"))).toBe(false);
  });

  test("that is pressed in two pages at once is decided once, and both say how", async () => {
    await openAgent(sidecar, "twice", script("Work", bash("echo x >> made"), { text: "Done." }));
    const pages = [await open("twice"), await open("twice")];
    for (const page of pages) await page.waitForSelector(".ask >> text=Allow once");
    const press = (page: Page, name: string) =>
      page.evaluate((wanted) => {
        const buttons = [...document.querySelectorAll<HTMLElement>(".choices > button")];
        const button = buttons.find(({ textContent }) => textContent === wanted);
        button?.click();
        button?.click();
      }, name);
    const [one, two] = pages as [Page, Page];
    await Promise.all([press(one, "Allow once"), press(two, "Deny")]);
    const texts = await Promise.all(pages.map((page) => untilText(page, "#asks", /by the console/)));
    const responses = (await transcriptOf(sidecar, "twice")).filter(
      ({ type }) => type === "permission_response",
    );
    expect(responses).toHaveLength(1);
    const isAllowed = responses[0]?.type === "permission_response" && responses[0].optionId === "once";
    for (const text of texts)
      expect(text).toContain(isAllowed ? "✓ Allow once by the console" : "✗ Deny by the console");
    await untilStatus(sidecar, "twice", "idle");
    expect(existsSync(join(sidecar.reposDir, "twice", "made"))).toBe(isAllowed);
  });

  test("is allowed by keys alone, from the line to write in", async () => {
    await openAgent(sidecar, "keys", script("Work", bash("touch made"), { text: "Done." }));
    const page = await open("keys");
    await page.waitForSelector(".ask >> text=Allow once");
    await page.getByPlaceholder("Write to the agent").focus();
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    for (let count = 0; count < 8 && (await focused()) !== "Allow once"; count++)
      await page.keyboard.press("Shift+Tab");
    expect(await focused()).toBe("Allow once");
    await page.keyboard.press("Enter");
    await untilText(page, "#asks", /✓ Allow once by the console/);
    await until("the file", () => existsSync(join(sidecar.reposDir, "keys", "made")));
  });

  test("is refused with a reason, and a question is answered in words of one's own", async () => {
    const questions = [
      {
        question: "Which?",
        header: "W",
        multiSelect: false,
        options: [{ label: "A", description: "first" }, { label: "B" }],
      },
      { question: "Several?", header: "S", multiSelect: true, options: [{ label: "C" }, { label: "D" }] },
    ];
    const ask = { tools: [{ name: "AskUserQuestion", input: { questions } }] };
    await openAgent(sidecar, "reasons", script("Work", bash("touch made"), ask, { text: "Done." }));
    const page = await open("reasons");
    await page.click(".ask >> text=Deny, because…");
    await page.keyboard.type("too early");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".ask fieldset");
    await page.click(".ask:not(.decided) button.primary");
    await untilText(page, "#asks", /Choose or write an answer to each question/);
    await page.locator(".ask .other").first().fill("my own");
    await page.check(".ask label:has-text('C') input");
    await page.check(".ask label:has-text('D') input");
    await page.click(".ask:not(.decided) button.primary");
    await untilText(page, "#asks", /✓ Answered by the console: my own · C, D/);
    const events = await transcriptOf(sidecar, "reasons");
    expect(events.find(({ type }) => type === "permission_response")).toMatchObject({
      optionId: "no",
      message: "too early",
    });
    expect(events.find(({ type }) => type === "elicitation_response")).toMatchObject({
      content: { "Which?": "my own", "Several?": "C, D" },
    });
  });

  // Promise: S41
  test("shows all of what is asked, and nothing in it hides", async () => {
    const command = `echo ${"long ".repeat(400)}; echo a\u202eb\u200bc\u00a0d; rm -rf x`;
    await openAgent(sidecar, "hidden", script("Work", bash(command), { text: "Done." }));
    const page = await open("hidden");
    const text = await untilText(page, ".ask", /May the agent do this/);
    expect(text).toContain("echo a⟨U+202E⟩b⟨U+200B⟩c⟨U+00A0⟩d; rm -rf x");
  });
});

test("Stop ends the turn, and a message written meanwhile goes in", async () => {
  await openAgent(
    sidecar,
    "stops",
    script("Work", { text: "A text that is long enough to come in pieces.", pauseFor: "/nowhere" }),
  );
  const page = await open("stops");
  await untilText(page, "#live", /A /);
  await page.click("#stop");
  await untilText(page, "#rows", /Stopped/);
  await untilValue("no Stop", () => page.isHidden("#stop"), Boolean);
  await page.fill("#message", script("Again", { text: "Here again." }));
  await page.click("#send");
  await untilSaid(page, /Here again\./);
  expect(await page.inputValue("#message")).toBe("");
});

// Promise: S41
test("hostile text stays text: no element, no picture, no script, no lying link", async () => {
  const text = [
    "<img src=x onerror=alert(1)> <script>alert(1)</script> </article><b>bold</b>",
    "![p](https://evil.example/p.png) [https://good.example](https://evil.example/x) [j](javascript:alert(1))",
    "a\u202eb `</code>` **<i>x</i>**",
  ].join("\n\n");
  const initialMessages = [{ role: "user" as const, text: `<i>Elsewhere</i> ${text}` }];
  await openAgent(sidecar, "hostile", script("<b>Say</b>", { text }), { initialMessages });
  const page = await open("hostile");
  const shown = await untilText(page, "#rows", /good\.example \(evil/);
  expect(shown).toMatch(/Before this thread · user\s+<i>Elsewhere<\/i>/);
  expect(shown).toContain("<script>alert(1)</script>");
  expect(shown).toContain("https://good.example (evil.example)");
  expect(shown).not.toContain("\u202e");
  expect(await page.locator("#transcript :is(img, script, b, i, iframe)").count()).toBe(0);
  for (const link of await page.locator("#transcript a").all()) {
    expect(await link.getAttribute("rel")).toBe("noopener noreferrer");
    expect(await link.getAttribute("href")).toMatch(/^https:/);
  }
});

test("a text that is too long for the transcript opens on demand, in parts", async () => {
  const lines = Array.from({ length: 15_000 }, (_, i) => i).join("\n");
  await openAgent(sidecar, "blobs", script(lines, { text: "Read." }));
  const page = await open("blobs");
  await untilText(page, "#rows", /Read\./);
  await page.click("text=Show the whole text");
  await untilText(page, ".blob pre", /^0\n1\n2\n[\s\S]*\n10000\n/);
  await page.locator(".blob button", { hasText: "Show more" }).click();
  await untilText(page, ".blob pre", /\n14999 @@/);
  await page.locator(".blob button").waitFor({ state: "detached" });
});

test("on a phone the conversation comes first, and the terminal lies behind a tab", async () => {
  const phone = await browser.newContext({
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
  });
  try {
    await openAgent(sidecar, "phone", script("Hello", { text: "Hello to your phone." }, bash("touch x")));
    const page = await open("phone", phone);
    await untilText(page, "#rows", /Hello to your phone/);
    expect(await page.isVisible("#screen")).toBe(false);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow).toBeLessThanOrEqual(0);
    await page.tap("#tab-terminal");
    await untilText(page, ".xterm-rows", /Hello to your phone/);
    expect(await page.isVisible("#transcript")).toBe(false);
    await page.tap("#tab-talk");
    await untilValue(
      "the rows",
      async () => (await drawnRows(page)).length,
      (n) => n > 0,
    );
    expect(await page.isVisible("#screen")).toBe(false);
  } finally {
    for (const { page } of opened) await page.close();
    await phone.close();
  }
});

test("in the list a thread has its number and says that it asks", async () => {
  await openAgent(sidecar, "listed", script("Work", bash("touch x"), { text: "Done." }));
  const { number } = await sidecar.client.getThread("listed");
  await until("an ask", async () => (await sidecar.client.listAsks("listed"))[0]);
  const page = await open("listed");
  await untilText(page, '[data-thread="listed"]', new RegExp(`#${number} listed.*asks you`, "s"));
  await expect.poll(() => page.title()).toMatch(/^❗ #\d+ listed/);
  expect(readFileSync(join(sidecar.stateDir, "console-sessions.json"), "utf8")).not.toContain(
    await page.evaluate(() => localStorage.getItem("threadmux.session") ?? "none"),
  );
});

test("in the list a child stands below its parent, which says for whom it waits", async () => {
  const part = {
    name: "mcp__threadmux__spawn_thread",
    input: { title: "the tests", prompt: script("Part", bash("touch part"), { text: "Done." }) },
  };
  await openAgent(sidecar, "parent", script("Split it", { tools: [part] }, { text: "All done." }));
  const page = await open("parent");
  await untilText(page, '[data-thread="parent"]', /running · step 1 · .*Waiting for the tests/);
  const below = page.locator("#open-threads li.below", { hasText: "the tests" });
  await untilValue(
    "the child's ask",
    () => below.innerText(),
    (text) => text.includes("asks you"),
  );
  const lefts = await page
    .locator("#open-threads li")
    .evaluateAll((items) =>
      items.map((item) => [item.textContent, item.getBoundingClientRect().left] as const),
    );
  const at = lefts.findIndex(([text]) => text?.includes("parent"));
  expect(lefts[at + 1]?.[0]).toContain("the tests");
  expect(lefts[at + 1]?.[1]).toBeGreaterThan(lefts[at]?.[1] ?? 0);
  await below.locator("button").click();
  await page.click(".ask >> text=Allow once");
  await untilStatus(sidecar, "parent", "idle");
  await untilText(page, '[data-thread="parent"]', /^(?!.*Waiting)[\s\S]*idle/);
});
