/** A room in the console: who has the turn, who is in it, what it cost, why a round ended; also with names that mean harm. */
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { STAND_IN_CONFIG } from "../support/agents.ts";
import { buildPages, startBrowser } from "../support/console.ts";
import { openMember, passing, roomsOf, saying, untilRests } from "../support/rooms.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";

const HOSTILE = '<img src=x onerror="alert(1)"> \u202eevil [owner] -- ann #1';
/** One for each width. */
const SLOW = ["slow", "slower"];
const LONG = "an agent whose title goes on and on for ever";

let sidecar: TestSidecar;
let browser: Browser;
beforeAll(async () => {
  buildPages();
  browser = await startBrowser();
  sidecar = await startSidecar(STAND_IN_CONFIG);
  const list = { tools: [{ name: "Bash", input: { command: "ls" } }] };
  await openMember(sidecar, "ann", [list, ...saying(`**Two** lines.\n${HOSTILE}`), ...passing(true)]);
  await openMember(sidecar, "ben", [...passing(true)], { title: HOSTILE });
  for (const id of SLOW) await openMember(sidecar, id, [{ text: "Hm.", delayMs: 120_000 }], { title: LONG });
  await roomsOf(sidecar).create({
    ...{ threadId: "plan", title: `The plan ${HOSTILE}`, protocol: "reactive", maxUsd: 2 },
    members: ["ann", "ben", ...SLOW].map((threadId) => ({ threadId })),
  });
  await sidecar.client.sendInput("plan", { text: `@ann what is to be done?\n${HOSTILE}` });
  await untilRests(sidecar, "plan");
});
afterAll(async () => {
  await browser?.close();
  await sidecar?.close();
});

async function openRoom(width: number, height: number, address = "plan"): Promise<Page> {
  const page = await browser.newPage({ viewport: { width, height } });
  await page.goto(`${sidecar.url}/console#/${address}`);
  await page.fill("#token", sidecar.token);
  await page.click("#sign-in button");
  await page.waitForSelector("#room-view .lines li");
  return page;
}
const screen = async (page: Page, name: string) => {
  const folder = process.env["SCREENS"];
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`) });
};

test.each([
  [1280, 800, 2],
  [390, 844, 3],
])("at %i px", async (width, height, at) => {
  const page = await openRoom(width, height);
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("dialog", (dialog) => problems.push(dialog.message()));
  try {
    const view = page.locator("#room-view");
    const turn = view.locator(".turn");
    await expect.poll(() => turn.innerText()).toMatch(/^Nobody has the turn: (the last text|console has)/);
    if (width < 1000) await view.locator("summary").click();
    const members = view.locator(".members li");
    const { number } = await sidecar.client.getThread("ann");
    expect(await members.first().innerText()).toMatch(new RegExp(`^@ann #${number}\\s+\\$\\d+\\.\\d\\d$`));
    expect(await members.nth(1).innerText()).toMatch(/^@img-src-x[a-z0-9-]* #\d+/);
    expect(await members.nth(at).innerText()).toMatch(/^@an-agent-whose-title-goes-on-[a-z0-9-]* #\d+/);
    expect(await view.locator("details").innerText()).toMatch(
      /reactive: only who was named with @ · turn \d+ of 40 · \$\d+\.\d\d of \$2\.00 since a person wrote · a turn takes 600 s at most/,
    );
    // What anybody wrote is text, in its order, and nothing in it turns round.
    const said = await view.locator(".lines").innerText();
    expect(said).toMatch(/owner \d.*ann #\d+ Bash.*ann #\d+ \d.*Two lines\..*The round has ended: /s);
    expect(said).toContain('<img src=x onerror="alert(1)"> \ufffdevil');
    expect(said).not.toContain("\u202e");
    expect(await view.locator("img").count()).toBe(0);
    expect(await view.locator(".text strong").innerText()).toBe("Two");
    await screen(page, `room-rests-${width}`);

    const slow = (await roomsOf(sidecar).get("plan")).members[at]?.name ?? "";
    await view.locator("textarea").fill(`@${slow} and you?`);
    await view.getByRole("button", { name: "Send" }).click();
    await expect.poll(() => turn.innerText()).toMatch(/^@an-agent-\S+ has the turn, for \d/);
    await expect.poll(() => members.nth(at).innerText()).toContain("has the turn");
    await expect.poll(() => view.locator(".lines").innerText()).toContain("and you?");
    const { y, height: tall } = (await view.locator(".lines li").last().boundingBox()) ?? { y: 0, height: 0 };
    const list = (await view.locator(".lines").boundingBox()) ?? { y: 0, height: 0 };
    expect(y + tall).toBeLessThanOrEqual(list.y + list.height);
    await screen(page, `room-runs-${width}`);
    const fits = await page.evaluate(() =>
      [
        document.documentElement,
        document.querySelector("#room-view .lines"),
        ...document.querySelectorAll("#room-view details"),
      ].map((element) => (element?.scrollWidth ?? 0) <= (element?.clientWidth ?? 0)),
    );
    expect(fits).toEqual([true, true, true]);
    await view.getByRole("button", { name: "Stop" }).click();
    await expect.poll(() => turn.innerText()).toBe("Nobody has the turn: console has stopped it");
    await expect.poll(() => view.getByRole("button", { name: "Stop" }).isVisible()).toBe(false);

    await members.first().getByRole("button").click();
    await expect.poll(() => page.locator("#thread-title").innerText()).toContain("ann");
    expect(await view.isVisible()).toBe(false);
    expect(problems).toEqual([]);
  } finally {
    await page.close();
  }
});

test("who only looks on has nothing to press; a room that was ended says so, and a long one is shown in parts", async () => {
  const page = await openRoom(1280, 800, "plan/view");
  try {
    const view = page.locator("#room-view");
    expect(await view.locator("form").isVisible()).toBe(false);
    for (let at = 0; at < 230; at++)
      await sidecar.client.sendInput("plan", { text: `note ${at} for nobody` });
    await expect.poll(() => view.locator(".lines").innerText()).toContain("note 229 for nobody");
    await page.reload();
    await expect.poll(() => view.locator(".lines").innerText()).toContain("note 229 for nobody");
    expect(await view.locator(".lines").innerText()).not.toContain("Two lines.");
    const earlier = view.getByRole("button", { name: "Earlier lines" });
    await expect
      .poll(async () => {
        // It goes once all is there: a click that waits for it would wait in vain.
        await earlier.evaluateAll((buttons) => {
          for (const button of buttons) (button as HTMLButtonElement).click();
        });
        return view.locator(".lines").innerText();
      })
      .toContain("Two lines.");
    const lines = await roomsOf(sidecar).listLines("plan");
    expect(await view.locator(".lines li").count()).toBeGreaterThanOrEqual(Math.min(lines.length, 400));
    await page.goto(`${sidecar.url}/console#/plan`);
    await view.locator("form").waitFor();
    await sidecar.client.killThread("plan");
    await expect
      .poll(() => view.locator(".turn").innerText())
      .toMatch(/^The room is over: the room was ended/);
    expect(await view.locator("textarea").isDisabled()).toBe(true);
  } finally {
    await page.close();
  }
});
