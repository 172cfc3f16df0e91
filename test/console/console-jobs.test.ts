/** The jobs in a browser: when each is due next, what came of it last, what it cost, and why it did not begin. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { VmJobs } from "../../relay/sidecar/jobs.ts";
import { STAND_IN_CONFIG, script } from "../support/agents.ts";
import { buildPages, startBrowser } from "../support/console.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { untilValue } from "../support/wait.ts";

let sidecar: TestSidecar;
let browser: Browser;
beforeAll(async () => {
  buildPages();
  browser = await startBrowser();
  sidecar = await startSidecar(STAND_IN_CONFIG);
  mkdirSync(join(sidecar.reposDir, "shop"));
  await makeJobs();
});
afterAll(async () => {
  await browser?.close();
  await sidecar?.close();
});

const HOSTILE = "<img src=x onerror=alert(1)> \u202eevil [owner] \n".repeat(20);

async function makeJobs(): Promise<void> {
  const jobs = new VmJobs(sidecar.client);
  const every = { type: "every" as const, seconds: 3_600 };
  const prompt = script("look at the build", { text: "All is green." });
  await jobs.create({ name: "agent", when: every, what: { type: "agent", dir: "shop", prompt } });
  await jobs.create({
    name: "broken",
    when: every,
    what: { type: "command", dir: "shop", command: "exit 3" },
  });
  const quiet = { type: "agent" as const, dir: "shop", prompt: HOSTILE };
  await jobs.create({ name: "quiet", when: every, what: quiet, check: "true" });
  await jobs.create({
    name: `long-${"x".repeat(35)}`,
    when: { type: "event", events: ["turn_end", "thread_status"] },
    what: { type: "command", dir: "shop", command: "true" },
    paused: true,
  });
  for (const name of ["agent", "broken", "quiet"]) {
    await jobs.run(name);
    await untilValue(
      `the run of ${name}`,
      () => jobs.listRuns(name, 5),
      ([run]) => run !== undefined && run.endedAt !== null,
    );
  }
}

async function openJobs(width: number, height: number): Promise<Page> {
  const page = await browser.newPage({ viewport: { width, height } });
  await page.goto(`${sidecar.url}/console`);
  await page.fill("#token", sidecar.token);
  await page.click("#sign-in button");
  await page.click("#show-jobs");
  await page.waitForSelector("#jobs-list > li");
  return page;
}

test.each([
  [1280, 800],
  [390, 844],
])("at %i px", async (width, height) => {
  const page = await openJobs(width, height);
  try {
    const card = (name: string) =>
      page.locator("#jobs-list > li", { has: page.locator("h3", { hasText: new RegExp(`^${name} `) }) });
    await expect.poll(() => card("agent").innerText()).toMatch(/Next\s+\w{3}.*\d:\d\d/);
    const said = await page.locator("#jobs-list").innerText();
    expect(said).toMatch(/Last\s.*: done · \$/);
    expect(said).toContain("failed · exit code 3");
    expect(said).toContain("skipped · check: nothing to do");
    expect(said).toMatch(/Next\s+It was made paused/);
    expect(said).toMatch(/Cost\s+\$\d+\.\d\d today/);
    expect(said).toContain("<img src=x");
    await card("agent").getByRole("button", { name: "Its runs" }).click();
    const thread = card("agent").getByRole("button", { name: "Thread" });
    await thread.waitFor();
    const wide = await page.evaluate(
      () => document.documentElement.scrollWidth > document.documentElement.clientWidth,
    );
    const inner = await page
      .locator("#jobs")
      .evaluate((element) => element.scrollWidth > element.clientWidth);
    expect([wide, inner]).toEqual([false, false]);
    const folder = process.env["SCREENS"];
    if (folder !== undefined) await page.screenshot({ path: join(folder, `jobs-${width}.png`) });
    await thread.click();
    await expect.poll(() => page.locator("#thread-title").innerText()).toContain("agent");
    expect(await page.locator("#jobs").isVisible()).toBe(false);
    await page.goBack();
    await page.waitForSelector("#jobs-list > li");
    await page.keyboard.press("Escape");
    await expect.poll(() => page.locator("#jobs").isVisible()).toBe(false);
  } finally {
    await page.close();
  }
});
