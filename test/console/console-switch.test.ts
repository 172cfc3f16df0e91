/** Going from one agent's page to another's while requests of the first are under way, in a real browser. */
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page, Route } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { threadPath } from "../../shared/agent/paths.ts";
import { openAgent, STAND_IN_CONFIG, script, standIn, untilStatus } from "../support/agents.ts";
import { buildPages, startBrowser } from "../support/console.ts";
import { openConversation, untilText } from "../support/conversation.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until, untilValue } from "../support/wait.ts";

const ROWS = 1_000;

let sidecar: TestSidecar;
let browser: Browser;
beforeAll(async () => {
  buildPages();
  sidecar = await startSidecar({ ...STAND_IN_CONFIG, agent: standIn({ idleSeconds: 1 }) });
  for (const threadId of ["long", "short"]) {
    await openAgent(sidecar, threadId, script("Hello", { text: `Hello from ${threadId}.` }));
    await untilStatus(sidecar, threadId, "idle");
  }
  await until("no runner", async () => !(await sidecar.client.getThread("long")).processRunning);
  await sidecar.stop();
  const file = threadPath(join(sidecar.stateDir, "threads", "long"), "transcript");
  appendFileSync(file, makeTexts(readFileSync(file, "utf8").trimEnd().split("\n").length));
  await sidecar.restart();
  // A runner wakes up, and the sidecar reads what is there.
  await sidecar.client.sendInput("long", { text: script("And now?", { text: "Awake." }) });
  await untilStatus(sidecar, "long", "idle");
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await sidecar?.close();
});

function makeTexts(from: number): string {
  const lines = Array.from({ length: ROWS }, (_, i) => {
    const seq = from + i + 1;
    const ts = new Date(Date.UTC(2026, 0, 1) + seq * 1_000).toISOString();
    const text = `Text ${i}: ${"word ".repeat(60)}`;
    return JSON.stringify({
      seq,
      id: `r${seq}.0`,
      ts,
      type: "agent_message",
      messageId: `m${i}`,
      at: `m${i}`,
      text,
    });
  });
  return `${lines.join("\n")}\n`;
}

/** Requests that are not answered before `release`. */
async function hold(page: Page, isHeld: (address: string) => boolean) {
  const held: Route[] = [];
  await page.route(
    (address) => isHeld(`${address}`),
    (route) => void held.push(route),
  );
  const release = async () => {
    const answers = held.map((route) => page.waitForResponse(route.request().url()));
    for (const route of held) await route.continue();
    await Promise.all(answers);
    // Twice, so that what the answers bring has been drawn.
    await page.evaluate(
      () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
    );
  };
  return { held, release };
}

const goTo = (page: Page, threadId: string) =>
  page.evaluate((id) => {
    location.hash = `/${id}`;
  }, threadId);

test("older rows that come late are not drawn into the next thread's page", async () => {
  const { page, problems } = await openConversation(await browser.newContext(), sidecar, "long");
  await untilText(page, "#rows", /Awake\./);
  const { held, release } = await hold(page, (address) => /long\/transcript.*waitMs=0/.test(address));
  await page.locator("#transcript").evaluate((scroller) => scroller.scrollTo(0, 0));
  await until("older rows to be asked for", () => held.length > 0);
  await goTo(page, "short");
  await untilText(page, "#rows", /Hello from short\./);
  await release();
  expect(await page.locator("#rows").innerText()).not.toMatch(/Text \d|Loading/);
  expect(problems).toEqual([]);
  await page.context().close();
});

test("a message that is being sent takes and leaves nothing in the next thread's line", async () => {
  const { page, problems } = await openConversation(await browser.newContext(), sidecar, "long");
  await untilText(page, "#rows", /Awake\./);
  const { held, release } = await hold(page, (address) => address.endsWith("/thread/long/input"));
  await page.fill("#message", script("Sent", { text: "It came." }));
  await page.keyboard.press("Enter");
  await until("the message to be sent", () => held.length > 0);
  await goTo(page, "short");
  await untilText(page, "#rows", /Hello from short\./);
  await page.fill("#message", "for the short one");
  await release();
  expect(await page.inputValue("#message")).toBe("for the short one");
  await goTo(page, "long");
  await untilText(page, "#rows", /It came\./);
  expect(await page.inputValue("#message")).toBe("");
  expect(await page.isVisible("#compose-notice")).toBe(false);
  await goTo(page, "short");
  await untilValue(
    "the draft",
    () => page.inputValue("#message"),
    (text) => text === "for the short one",
  );
  expect(problems).toEqual([]);
  await page.context().close();
});
