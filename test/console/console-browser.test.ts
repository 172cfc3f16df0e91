/** A browser thread in the console: its picture, and a page that is used by numbers, by somebody who has no Discord. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { USUAL_BROWSERS } from "../../vm/browser/settings.ts";
import { openBrowser, START_MS } from "../support/browsers.ts";
import { buildPages, startBrowser } from "../support/console.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { type Site, startSite } from "../support/site.ts";
import { until, untilValue } from "../support/wait.ts";

let sidecar: TestSidecar;
let site: Site;
let browser: Browser;
let page: Page;
const problems: string[] = [];

beforeAll(async () => {
  buildPages();
  site = await startSite();
  sidecar = await startSidecar({ browser: { ...USUAL_BROWSERS, hosts: [site.host] } });
  await openBrowser(sidecar, "shop", site.at("/"));
  browser = await startBrowser();
  page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  await page.goto(`${sidecar.url}/console#/shop`);
  await page.fill("#token", sidecar.token);
  await page.keyboard.press("Enter");
}, START_MS);
afterAll(async () => {
  await browser?.close();
  await sidecar?.close();
  await site?.close();
});

const numbers = () => page.locator("#page-view .marks button").allInnerTexts();
/** How many colours are in the middle row of the picture: a blank one has one. */
const colours = () =>
  page.locator("#page-view canvas").evaluate((canvas: HTMLCanvasElement) => {
    const pixels = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, 200).data ?? [];
    const seen = new Set<string>();
    for (let at = 0; at < pixels.length; at += 4)
      seen.add(`${pixels[at]},${pixels[at + 1]},${pixels[at + 2]}`);
    return seen.size;
  });
const picture = async (name: string) => {
  const folder = process.env["PICTURES"];
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png` });
};

test(
  "its picture is drawn, a number is clicked, a field is typed into, an address opened",
  async () => {
    await untilValue("the shop's numbers", numbers, (all) => all.some((one) => one.includes("About us")));
    await until("the picture", async () => (await colours()) > 5);
    await picture("console-browser-1280");

    await page.fill("[aria-label^='Number of the field']", "3");
    await page.fill("[aria-label='Text to type']", "red shoes");
    await page.keyboard.press("Enter");
    await untilValue("what was typed", numbers, (all) => all.some((one) => one.includes("red shoes")));
    await page.click("#page-view .marks button >> text=Go");
    await until("the search", () => site.asked.includes("/search?q=red+shoes&c=Red"));
    await page.waitForSelector("#page-view .said >> text=Found");

    await page.click("[aria-label='Back']");
    await page.waitForSelector("#page-view .marks button >> text=About us");
    await page.fill("[aria-label='Address']", site.at("/about"));
    await page.keyboard.press("Enter");
    await page.waitForSelector("#page-view .said >> text=/about");
    await page.fill("[aria-label='Address']", "file:///etc/passwd");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#page-view .said >> text=must begin with http:// or https://");
    expect(problems.filter((text) => !text.includes("400"))).toEqual([]);
  },
  START_MS,
);

test(
  "on a phone nothing is cut off; who only looks has nothing to press",
  async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await until("the page to fit", () =>
      page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth),
    );
    const { width } = (await page.locator("#page-view canvas").boundingBox()) ?? { width: 0 };
    expect(width).toBeGreaterThan(340);
    await picture("console-browser-390");
    await page.goto(`${sidecar.url}/console#/shop/view`);
    await page.waitForSelector("#page-view .bar", { state: "hidden" });
    await untilValue(
      "the numbers",
      () => page.locator("#page-view .marks button:enabled").count(),
      (count) => count === 0,
    );
  },
  START_MS,
);

test(
  "a page is opened from the form by keys alone; an address that is refused is named there, and stays",
  async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(`${sidecar.url}/console#`);
    await page.keyboard.press("n");
    await page.waitForSelector("#make >> text=New thread");
    await page.focus("#make input[value=terminal]");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.waitForSelector("#make-dir", { state: "hidden" });
    await page.keyboard.press("Tab");
    for (const [address, why] of [
      ["http://169.254.169.254/latest", "url: 169.254.169.254 is in a network that is not public"],
      ["file:///etc/passwd", "url: must begin with http:// or https://, not with file:"],
    ] as const) {
      await page.keyboard.press("Control+A");
      await page.keyboard.type(address);
      await page.keyboard.press("Enter");
      await page.waitForSelector(`#make-problem >> text=${why}`);
      expect(await page.inputValue("#make-address:focus")).toBe(address);
    }
    await picture("console-new-browser-1280");
    await page.setViewportSize({ width: 390, height: 844 });
    await until("the form to fit", () =>
      page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth),
    );
    await picture("console-new-browser-390");
    await page.keyboard.press("Control+A");
    await page.keyboard.type(site.at("/about"));
    await page.keyboard.press("Enter");
    await page.waitForSelector("#page-view .said >> text=/about");
    const threads = await sidecar.client.listThreads();
    expect(threads.filter(({ command }) => command === site.at("/about"))).toMatchObject([
      { type: "browser", createdBy: "console", status: "running" },
    ]);
  },
  START_MS,
);
