/** The page in a real browser. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Releasers } from "../shared/lifecycle.ts";
import { buildPages, startBrowser } from "../test/support/console.ts";
import { openPage } from "../test/support/page.ts";
import type { Interaction } from "./interaction-store.ts";
import { WIDE_LIMITS } from "./rate-limits.ts";
import { type LocalDiscord, runLocalDiscord } from "./run.ts";
import { type Api, botApi } from "./testing.ts";

describe("the page", () => {
  let browser: Browser;
  beforeAll(async () => {
    buildPages();
    browser = await startBrowser();
  });
  afterAll(() => browser?.close());

  let releasers: Releasers;
  let discord: LocalDiscord;
  let api: Api;
  let page: Page;
  let problems: string[];
  beforeEach(async () => {
    releasers = new Releasers();
    discord = await runLocalDiscord({ limits: WIDE_LIMITS, users: [{ name: "Robin" }] });
    releasers.add("local Discord", () => discord.close());
    api = botApi(discord);
    problems = [];
  });
  afterEach(async () => {
    await releasers.close();
    expect(problems).toEqual([]);
  });

  async function open(viewport?: { width: number; height: number }): Promise<void> {
    const opened = await openPage(browser, discord, viewport);
    releasers.add("page", () => opened.close());
    ({ page, problems } = opened);
  }

  const send = (channelId: string, body: object) => api("POST", `/channels/${channelId}/messages`, body);
  const shows = (text: string) => page.locator("#messages", { hasText: text }).waitFor();
  const input = () => page.getByRole("combobox", { name: /^Message/ });

  /** Answers commands as a bot would, without one. */
  function answerInteractions(answer: (interaction: Interaction) => object): void {
    discord.driver.onEvent((event) => {
      if (event.type !== "interaction-create") return;
      const { id, token } = event.interaction;
      void api("POST", `/interactions/${id}/${token}/callback`, answer(event.interaction));
    });
  }

  it("lets nobody in without the key, and another start's key by its address alone", async () => {
    await open();
    const key = await page.evaluate(() => localStorage.getItem("local-discord.key"));
    await page.evaluate(() => localStorage.clear());
    await page.reload();
    await page.locator("#banner", { hasText: "Open the address that local Discord printed" }).waitFor();
    problems.length = 0; // the browser's own line about the refusal
    await page.evaluate((address) => {
      location.href = address;
    }, `${discord.origin}/#key=${key}`);
    await page.locator("#channel-title", { hasText: "terminals" }).waitFor();
    expect(page.url()).toBe(`${discord.origin}/`);
  });

  it.each([
    { width: 1280, height: 800 },
    { width: 390, height: 844 },
  ])("shows several channels, each with its threads, at $width px", async (viewport) => {
    const { driver, channelId } = discord;
    await send(channelId, { content: "in the first" });
    await open(viewport);
    const tree = page.getByRole("navigation", { name: "Channels and threads" });
    const openTree = async () => {
      const menu = page.getByRole("button", { name: "Show channels and threads" });
      if (await menu.isVisible()) await menu.click();
    };
    const entries = () => tree.locator("a.channel .channel-name").allTextContents();
    await openTree();
    await page.getByRole("button", { name: "Make a channel" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("Shop");
    await page.keyboard.press("Enter");
    await page.locator("#channel-title", { hasText: "shop" }).waitFor();
    const shop = driver.channels()[1]?.id ?? "";
    await input().fill("hello shop");
    await page.keyboard.press("Enter");
    await shows("hello shop");
    expect(driver.messages(channelId)).toHaveLength(1);
    const thread = driver.createThread(discord.you.id, "fix the till", shop);
    driver.createThread(discord.you.id, "tests");
    await openTree();
    await tree.getByRole("list", { name: "Active threads in #shop" }).getByText("fix the till").waitFor();
    await tree.getByRole("list", { name: "Active threads in #terminals" }).getByText("tests").waitFor();
    expect(await entries()).toEqual(["terminals", "tests", "shop", "fix the till"]);
    await tree.getByText("fix the till").click();
    await page.locator("#channel-title", { hasText: "fix the till#shop" }).waitFor();
    const { scrollWidth, clientWidth } = await page.evaluate(() => document.documentElement);
    expect(scrollWidth).toBe(clientWidth);
    // Its channel goes, and it with that: who was there stands in the first one.
    driver.deleteChannel(shop);
    await page.locator("#channel-title", { hasText: "terminals" }).waitFor();
    await shows("in the first");
    await openTree();
    await expect.poll(entries).toEqual(["terminals", "tests"]);
    expect(driver.findThread(thread.id)).toBeUndefined();
  });

  // Promise: S48
  it("gives another port of the host nothing that opens it", async () => {
    await open();
    const heard: IncomingHttpHeaders[] = [];
    const stranger = createServer((request, response) => {
      heard.push(request.headers);
      // A page without one asks for an icon, perhaps when this server is gone: an error in the console.
      response.end('<!doctype html><link rel="icon" href="data:,">');
    });
    await new Promise<void>((resolve) => stranger.listen(0, "127.0.0.1", resolve));
    releasers.add("stranger", () => {
      stranger.closeAllConnections();
      stranger.close();
    });
    await page.goto(`http://127.0.0.1:${(stranger.address() as AddressInfo).port}/`);
    expect(heard.length).toBeGreaterThan(0);
    for (const { host: _host, connection: _connection, ...headers } of heard) {
      const answer = await fetch(`${discord.origin}/page/messages`, {
        method: "POST",
        headers: {
          ...(headers as Record<string, string>),
          origin: discord.origin,
          "content-type": "application/json",
        },
        body: JSON.stringify({ channelId: discord.channelId, content: "typed by a stranger" }),
      });
      expect(answer.status).toBe(403);
    }
  });

  it("takes the key out of the address and shows messages as they are edited", async () => {
    await open();
    expect(page.url()).toBe(`${discord.origin}/`);
    const sent = await send(discord.channelId, { content: "```\nline 1\n```" });
    await shows("line 1");
    await api("PATCH", `/channels/${discord.channelId}/messages/${sent.body["id"]}`, {
      content: "```\nline 1\nline 2\n```",
    });
    await shows("line 2");
    await shows("(edited)");
    expect(await page.locator("#messages > li").count()).toBe(1);
  });

  it("shows text as text, whatever it holds", async () => {
    await open();
    const nasty =
      '<img src=x onerror="document.title=1"> <script>1</script> [x](javascript:alert(1)) **bold**';
    discord.driver.post(discord.you.id, discord.channelId, nasty);
    await shows('<img src=x onerror="document.title=1">');
    const content = page.locator("#messages .content");
    expect(await content.locator("img, script, a").count()).toBe(0);
    expect(await content.locator("strong").textContent()).toBe("bold");
    await send(discord.channelId, { content: "```ansi\n\u001b[1;31mred\u001b[0m plain\n```" });
    expect(await page.locator(".ansi-31.ansi-bold").textContent()).toBe("red");
  });

  it("sends with Enter, breaks the line with Shift+Enter, keeps what was refused", async () => {
    await open();
    await input().click();
    await page.keyboard.type("one");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("two");
    await page.keyboard.press("Enter");
    await shows("one");
    expect(discord.driver.messages(discord.channelId)[0]?.content).toBe("one\ntwo");
    await input().fill("x".repeat(2001));
    await page.keyboard.press("Enter");
    await page.getByRole("alert").filter({ hasText: "Must be 2000 or fewer in length." }).waitFor();
    expect(await input().inputValue()).toHaveLength(2001);
    expect(problems.splice(0)).toEqual([expect.stringContaining("400")]); // the refusal itself
  });

  it("fills in a command by keyboard, with live completion, and shows the ephemeral answer", async () => {
    await api("PUT", `/applications/${discord.applicationId}/guilds/${discord.guildId}/commands`, [
      {
        name: "terminal",
        description: "Open a terminal",
        options: [
          { type: 3, name: "dir", description: "Directory", required: true, autocomplete: true },
          { type: 3, name: "command", description: "Command", required: true },
        ],
      },
    ]);
    const used: unknown[] = [];
    answerInteractions((interaction) => {
      if (interaction.type === 4) {
        const [option] = interaction.data["options"] as { value: string }[];
        const choices = ["app", "app/web", "infra"].filter((dir) => dir.startsWith(option?.value ?? ""));
        return { type: 8, data: { choices: choices.map((name) => ({ name, value: name })) } };
      }
      used.push(interaction.data["options"]);
      return { type: 4, data: { content: "opened", flags: 64 } };
    });
    await open();
    await input().click();
    await page.keyboard.type("/te");
    await page.getByRole("option", { name: "/terminal" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("option", { name: "infra" }).waitFor();
    await page.keyboard.press("Enter"); // takes "app" and goes on to the next field
    await page.keyboard.press("Enter"); // nothing in it yet: it stays
    await page.locator(".field-problem", { hasText: "This is needed." }).waitFor();
    await page.keyboard.type("npm test");
    await page.keyboard.press("Enter");
    await shows("Only you can see this");
    expect(used).toEqual([
      [
        { type: 3, name: "dir", value: "app" },
        { type: 3, name: "command", value: "npm test" },
      ],
    ]);
    await page.getByRole("button", { name: "Dismiss message" }).click();
    await page.locator("#messages .ephemeral").waitFor({ state: "detached" });
  });

  it("presses buttons, and says when nobody answers", async () => {
    const button = { type: 2, style: 4, label: "Ctrl-C", custom_id: "c" };
    await send(discord.channelId, { content: "running", components: [{ type: 1, components: [button] }] });
    await open();
    const control = page.getByRole("button", { name: "Ctrl-C" });
    await control.click();
    await page.locator("#pending", { hasText: "the application did not respond" }).waitFor();
    answerInteractions(() => ({ type: 7, data: { content: "stopped", components: [] } }));
    await control.click();
    await shows("stopped");
    await control.waitFor({ state: "detached" });
  });

  it("lists threads with unread marks, folds archived ones, brings one back by writing", async () => {
    await open();
    const { driver, you } = discord;
    const robin = discord.users[1]?.id ?? "";
    const thread = driver.createThread(you.id, "build");
    const entry = page.locator(`[data-channel="${thread.id}"]`);
    await entry.waitFor();
    driver.post(robin, thread.id, "news");
    await page.locator(`[data-channel="${thread.id}"].unread`).waitFor();
    await entry.click();
    await shows("news");
    await page.locator(`[data-channel="${thread.id}"]:not(.unread).current`).waitFor();
    driver.archiveThread(you.id, thread.id);
    await page.getByText("Archived (1)").waitFor();
    await page.locator("#banner", { hasText: "This thread is archived" }).waitFor();
    await input().fill("back");
    await page.keyboard.press("Enter");
    await page.getByText("Archived (1)").waitFor({ state: "detached" });
    driver.deleteThread(you.id, thread.id);
    await page.locator("#channel-title", { hasText: "terminals" }).waitFor();
  });

  it("stays at the end while it is there, and where it is when somebody reads above", async () => {
    for (let n = 0; n < 40; n += 1) discord.driver.post(discord.you.id, discord.channelId, `m${n}`);
    await open();
    await shows("m39");
    const distance = () =>
      page.locator("#scroller").evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight);
    await expect.poll(distance).toBeLessThan(2);
    discord.driver.post(discord.you.id, discord.channelId, "m40");
    await shows("m40");
    await expect.poll(distance).toBeLessThan(2);
    await page.locator("#scroller").evaluate(async (box) => {
      box.scrollTop = 100;
      // The page hears of it with the next frame.
      await new Promise((resolve) => box.addEventListener("scroll", resolve, { once: true }));
    });
    await page.locator("#jump").waitFor({ state: "hidden" });
    discord.driver.post(discord.users[1]?.id ?? "", discord.channelId, "m41");
    await page.locator("#jump").waitFor();
    expect(await page.locator("#scroller").evaluate((box) => box.scrollTop)).toBe(100);
    await page.locator("#jump").click();
    await expect.poll(distance).toBeLessThan(2);
    // A picture arrives in the very frame in which the page hears that it was scrolled to the end.
    await page.locator("#scroller").evaluate(async (box) => {
      const isHeard = new Promise((resolve) => box.addEventListener("scroll", resolve, { once: true }));
      box.scrollTop -= 1;
      box.scrollTop += 1;
      const picture = document.createElement("div");
      picture.style.height = "500px";
      document.getElementById("messages")?.lastElementChild?.append(picture);
      await isHeard;
    });
    await expect.poll(distance).toBeLessThan(2);
  });

  it("works on a phone: a drawer, nothing wider than the screen", async () => {
    const thread = discord.driver.createThread(discord.you.id, "a thread with quite a long name for a phone");
    discord.driver.post(discord.you.id, thread.id, `\`\`\`\n${"wide ".repeat(60)}${"x".repeat(300)}\n\`\`\``);
    await open({ width: 390, height: 844 });
    expect(await page.locator("#sidebar").isVisible()).toBe(false);
    await page.getByRole("button", { name: "Show channels and threads" }).click();
    await page.locator(`[data-channel="${thread.id}"]`).click();
    await shows("wide wide");
    await page.locator("#sidebar").waitFor({ state: "hidden" });
    const widths = await page.locator("#scroller").evaluate((box) => [box.scrollWidth, window.innerWidth]);
    expect(widths).toEqual([390, 390]);
  });
});
