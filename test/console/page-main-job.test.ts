/** The main job as the README tells it, done by hand in a real browser on the local Discord's page. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildPages, startBrowser } from "../support/console.ts";
import { type OpenPage, openPage, untilPageIsTrue } from "../support/page.ts";
import { type Everything, startEverything } from "../support/relay.ts";

const COMMAND = String.raw`trap 'echo caught' INT; printf 'Your name? '; read -r name; echo "Hello, $name."; for i in 1 2 3; do printf "\rstep $i"; sleep 0.3; done; echo; while :; do read -r line; done`;

let browser: Browser;
beforeAll(async () => {
  buildPages();
  browser = await startBrowser();
});
afterAll(() => browser?.close());

/** How many pixels of a message's text its tools cover, from its top. */
async function wordsUnderTools(page: Page, messageId: string): Promise<number> {
  const message = page.locator(`#messages [data-id="${messageId}"]`);
  await message.hover();
  const tools = await message.locator(".tools").boundingBox();
  const words = await message.locator(".content").boundingBox();
  if (!tools || !words) throw new Error("the message has no tools, or no words");
  return Math.max(0, tools.y + tools.height - words.y);
}

describe.each([
  { name: "a desk", width: 1280, height: 800 },
  { name: "a phone", width: 390, height: 844 },
])("the page on $name", ({ width, height }) => {
  let all: Everything;
  let page: Page;
  let open: OpenPage;
  const isPhone = width < 700;

  beforeAll(async () => {
    all = await startEverything({ isQuick: true });
    mkdirSync(join(all.sidecar.reposDir, "example"));
    open = await openPage(browser, all.discord, { width, height });
    page = open.page;
  });
  afterAll(async () => {
    await open?.close();
    await all?.close();
  });

  const input = () => page.getByRole("combobox", { name: /^Message/ });

  async function openChannel(id: string): Promise<void> {
    if (isPhone) await page.getByRole("button", { name: "Show channels and threads" }).click();
    await page.locator(`[data-channel="${id}"]`).click();
  }

  test("shows each message once, as Discord holds it, after every step of the main job", async () => {
    const { discord, you } = all;
    const { driver, channelId } = discord;
    const isTrue = (id: string) => untilPageIsTrue(page, discord, id);
    driver.post(you, channelId, "good morning");
    await isTrue(channelId);

    // Type /terminal, add a directory, give it a command.
    await input().click();
    await page.keyboard.type("/term");
    await page.getByRole("option", { name: "/terminal" }).click();
    await page.getByRole("button", { name: "+ dir" }).click();
    await page.getByRole("option", { name: "example" }).click();
    await page.getByRole("textbox", { name: "command" }).fill(COMMAND);
    await page.getByRole("button", { name: "Send" }).click();
    const thread = await driver.until(() => driver.threads()[0], { what: "a thread" });
    await all.untilShown(thread.id, "Your name?");
    await isTrue(channelId);

    // The thread is renamed while the channel is on the screen.
    driver.patchThread(you, thread.id, { name: "renamed once" });
    await isTrue(channelId);
    const note = driver.post(you, channelId, "first words");
    driver.edit(you, channelId, note.id, "other **words**");
    await isTrue(channelId);

    // What is pointed at, or was touched last, shows its tools; on a phone they leave its words readable.
    const { id } = driver.post(you, channelId, "more words ".repeat(30));
    await isTrue(channelId);
    if (isPhone) expect(await wordsUnderTools(page, id)).toBe(0);

    // Its output stands in the thread, and what is written there goes in.
    await page.locator("#messages .content a.mention", { hasText: "renamed once" }).last().click();
    await isTrue(thread.id);
    await input().fill("Ada");
    await input().press("Enter");
    await all.untilShown(thread.id, "Hello, Ada.");
    await isTrue(thread.id);
    await all.untilShown(thread.id, (text) => text.includes("step 3") && !text.includes("step 1"));
    await isTrue(thread.id);
    driver.patchThread(you, thread.id, { name: "renamed twice" });
    await isTrue(thread.id);

    // Back and forth between the channel and the thread.
    await openChannel(channelId);
    await isTrue(channelId);
    await openChannel(thread.id);
    await isTrue(thread.id);

    // A reply with a reaction; then a message that is deleted.
    const [first] = driver.messages(thread.id);
    driver.post(you, thread.id, "a reply", first ? { replyTo: first.id } : {});
    const word = driver.post(you, thread.id, "soon gone");
    driver.react(you, thread.id, word.id, "👀");
    await isTrue(thread.id);
    driver.deleteMessage(you, thread.id, word.id);
    await isTrue(thread.id);

    // The buttons below the newest page.
    await page.getByRole("button", { name: "Ctrl-C" }).last().click();
    await all.untilShown(thread.id, "caught");
    await isTrue(thread.id);
    await page.getByRole("button", { name: "Done" }).last().click();
    await page.getByText("This thread is archived").waitFor();
    await isTrue(thread.id);
    await openChannel(channelId);
    await isTrue(channelId);
    driver.deleteThread(you, thread.id);
    await isTrue(channelId);
    expect(open.problems).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
  });
});
