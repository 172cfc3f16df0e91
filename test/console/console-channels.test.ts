/** The list of threads by channel, and who may do what in each. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SidecarClient } from "../../shared/client.ts";
import { channels } from "../../shared/protocol/channels.ts";
import { people } from "../../shared/protocol/people.ts";
import { buildPages, startBrowser } from "../support/console.ts";
import { aDiscordId } from "../support/ids.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal } from "../support/threads.ts";
import { untilValue } from "../support/wait.ts";

const [FIRST, SHOP, ADA, ROLE] = ["1", "2", "3", "4"].map((end) => aDiscordId(`10000000000000000${end}`));

let sidecar: TestSidecar;
let browser: Browser;
beforeAll(async () => {
  buildPages();
  browser = await startBrowser();
  sidecar = await startSidecar();
});
afterAll(async () => {
  await browser?.close();
  await sidecar?.close();
});

async function signIn(width: number): Promise<Page> {
  const page = await browser.newPage({ viewport: { width, height: 800 } });
  await page.goto(`${sidecar.url}/console`);
  await page.fill("#token", sidecar.token);
  await page.keyboard.press("Enter");
  await page.waitForSelector("#app:not([hidden])");
  return page;
}

/** The texts of the list from top to bottom: channels, and below each its threads. */
const listOf = (page: Page) =>
  page.locator("#open-threads h2, #open-threads [data-thread] .name").allInnerTexts();

test.each([1280, 390])(
  "threads stand below their channels, which say who may what, at %i px",
  async (width) => {
    if (!FIRST || !SHOP || !ADA || !ROLE) throw new Error("no ids");
    const { client, url, relayToken } = sidecar;
    for (const { threadId } of await client.listThreads()) await client.killThread(threadId);
    const relay = new SidecarClient({ url, token: relayToken });
    await relay.call(channels.putFixed, {}, { body: { channels: [{ id: FIRST, dir: ".", mode: "off" }] } });
    await relay.call(channels.putPlace, { channelId: FIRST }, { body: { name: "general", problem: null } });
    await client.call(channels.set, { channelId: SHOP }, { body: { mode: "threads" } });
    await relay.call(
      channels.putPlace,
      { channelId: SHOP },
      { body: { name: "shop", problem: "I lack Send Messages there." } },
    );
    await relay.call(people.put, {}, { body: { people: [{ id: ADA, role: "owner", handle: "ada" }] } });
    await client.call(
      people.setRole,
      {},
      { body: { kind: "role", id: ROLE, role: "viewer", channelId: SHOP } },
    );
    const open = (name: string, parentId?: string) =>
      openTerminal(client, `${name}-${width}`, "exec cat", {
        title: name,
        ...(parentId && {
          home: { channelId: `2000000000000${width}${name.length}0`.padEnd(18, "0"), parentId },
        }),
      });
    await open("till", SHOP);
    await open("nowhere");
    await open("front", FIRST);
    const page = await signIn(width);
    try {
      await untilValue(
        "the list",
        () => listOf(page),
        (list) => list.join() === "#general,front,#shop,till,In no channel,nowhere",
      );
      const shop = page.locator("nav li.channel", { hasText: "#shop" });
      expect(await shop.innerText()).toMatch(/mode threads[\s\S]*I lack Send Messages there\./);
      await shop.locator("summary").click();
      // The list is drawn anew every other second, and the channel stays open.
      await page.waitForRequest(/\/channels$/);
      await page.waitForRequest(/\/channels$/);
      expect(await shop.locator("dl").innerText()).toMatch(
        new RegExp(
          `owner: @ada\\nmay [\\s\\S]*give and take roles; read what agents wrote for themselves\\nviewer: whoever has the role ${ROLE}\\nmay look at`,
        ),
      );
      const general = page.locator("nav li.channel", { hasText: "#general" });
      await general.locator("summary").click();
      expect(await general.locator("dl").innerText()).not.toContain("viewer");
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
      await page.fill("#search", "till");
      await untilValue(
        "what is found",
        () => listOf(page),
        (list) => list.join() === "#shop,till",
      );
      await page.locator("#open-threads [data-thread]").click();
      await page.waitForSelector("h2 >> text=till");
    } finally {
      await page.close();
    }
  },
);
