/** What agents' threads show and ask for, on the page in a real browser. */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { buildPages, startBrowser } from "../test/support/console.ts";
import { type OpenPage, openPage, untilPageIsTrue } from "../test/support/page.ts";
import type { Interaction } from "./interaction-store.ts";
import { WIDE_LIMITS } from "./rate-limits.ts";
import { type LocalDiscord, runLocalDiscord } from "./run.ts";
import { type Api, botApi } from "./testing.ts";

let browser: Browser;
beforeAll(async () => {
  buildPages();
  browser = await startBrowser();
});
afterAll(() => browser?.close());

describe.each([
  { where: "a desk", width: 1280, height: 800 },
  { where: "a phone", width: 390, height: 844 },
])("on $where", ({ width, height }) => {
  let discord: LocalDiscord;
  let api: Api;
  let opened: OpenPage;
  let page: Page;
  let used: Interaction[];
  /** What the bot answers to what was used. */
  let answers: (interaction: Interaction) => object;

  beforeEach(async () => {
    discord = await runLocalDiscord({ limits: WIDE_LIMITS, users: [{ name: "Robin" }] });
    api = botApi(discord);
    used = [];
    answers = () => ({ type: 4, data: { content: "answered" } });
    discord.driver.onEvent((event) => {
      if (event.type !== "interaction-create") return;
      const { id, token } = event.interaction;
      used.push(event.interaction);
      void api("POST", `/interactions/${id}/${token}/callback`, answers(event.interaction));
    });
    opened = await openPage(browser, discord, { width, height });
    page = opened.page;
  });
  afterEach(async () => {
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    await opened.close();
    await discord.close();
    expect({ problems: opened.problems, overflow }).toEqual({ problems: [], overflow: 0 });
  });

  const send = async (body: object) => {
    const { status, body: sent } = await api("POST", `/channels/${discord.channelId}/messages`, body);
    expect(status).toBe(200);
    return String(sent["id"]);
  };
  const row = (id: string) => page.locator(`#messages > li[data-id="${id}"]`);
  const shows = (text: string) => page.locator("#messages", { hasText: text }).waitFor();
  const isTrue = () => untilPageIsTrue(page, discord, discord.channelId);
  const register = (...commands: object[]) =>
    api("PUT", `/applications/${discord.applicationId}/guilds/${discord.guildId}/commands`, commands);
  async function openMenu(id: string): Promise<void> {
    await row(id).hover();
    await row(id).getByRole("button", { name: "More" }).click();
  }

  it("uses a message command from the menu of a message", async () => {
    await register({ type: 3, name: "Fork from here" }, { type: 1, name: "slash", description: "d" });
    const id = await send({ content: "a turn" });
    await row(id).waitFor();
    await openMenu(id);
    await page.getByRole("menuitem", { name: "Fork from here" }).click();
    await shows("answered");
    expect(used.map(({ data }) => [data["name"], data["target_id"]])).toEqual([["Fork from here", id]]);
    await page.locator(".above", { hasText: "You used Fork from here" }).waitFor();
    await isTrue();
  });

  it("says who is typing until they have written, and offers roles by name", async () => {
    const { driver, channelId } = discord;
    const typing = page.locator("#typing");
    const text = async (wanted: string) => {
      await page.waitForFunction((value) => document.getElementById("typing")?.textContent === value, wanted);
    };
    await api("POST", `/channels/${channelId}/typing`);
    await text("threadmux is typing…");
    const [line, box] = [await typing.boundingBox(), await page.locator(".composer-box").boundingBox()];
    if (!line || !box) throw new Error("nothing is drawn");
    expect(line.y).toBeGreaterThanOrEqual(box.y + box.height);
    expect(line.y + line.height).toBeLessThanOrEqual(height);
    const robin = discord.users[1]?.id ?? "";
    driver.type(robin, channelId);
    await text("threadmux, Robin are typing…");
    await send({ content: "done" });
    await text("Robin is typing…");
    driver.post(robin, channelId, "so am I");
    await text("");

    await register({
      name: "let",
      description: "d",
      options: [{ type: 8, name: "role", description: "Who", required: true }],
    });
    const role = driver.roles.create("on call");
    await send({ content: `for <@&${role.id}>`, allowed_mentions: { parse: [] } });
    await page.locator(".mention", { hasText: "@on call" }).waitFor();
    await page.locator("#composer-input").fill("/let");
    await page.getByRole("option", { name: "/let" }).click();
    await page.getByLabel("role").selectOption({ label: "on call" });
    await page.getByRole("button", { name: "Send" }).click();
    await shows("answered");
    expect(Object.keys(Object(Object(used[0]?.data["resolved"]).roles))).toEqual([role.id]);
  });

  it("edits, reacts and deletes from the menu; a press on a reaction takes it back", async () => {
    const { driver, you, channelId } = discord;
    const { id } = driver.post(you.id, channelId, "first");
    await row(id).waitFor();
    await openMenu(id);
    await page.getByRole("menuitem", { name: "Edit message" }).click();
    await page.getByLabel("Message *").fill("second");
    await page.getByRole("button", { name: "Send" }).last().click();
    await row(id).getByText("(edited)").waitFor();
    await openMenu(id);
    await page.getByRole("menuitem", { name: "React with 👀" }).click();
    driver.react(discord.users[1]?.id ?? "", channelId, id, "👀");
    const reaction = row(id).getByRole("button", { name: "👀 2", pressed: true });
    await reaction.waitFor();
    await isTrue();
    await reaction.click();
    await row(id).getByRole("button", { name: "👀 1", pressed: false }).waitFor();
    await openMenu(id);
    await page.getByRole("menuitem", { name: "Delete message" }).click();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await row(id).waitFor({ state: "detached" });
    await isTrue();
  });

  it("opens a form, holds it to its lengths, and sends what was written", async () => {
    const button = { type: 2, style: 1, label: "Answer", custom_id: "ask" };
    const id = await send({ content: "a question", components: [{ type: 1, components: [button] }] });
    const inputs = [
      { type: 4, custom_id: "short", label: "Name", style: 1, max_length: 5, placeholder: "a name" },
      { type: 4, custom_id: "long", label: "Reason", style: 2, required: false, value: "none" },
    ];
    const components = inputs.map((input) => ({ type: 1, components: [input] }));
    answers = ({ type }) =>
      type === 3
        ? { type: 9, data: { custom_id: "form", title: "Two questions", components } }
        : { type: 7, data: { content: "answered", components: [] } };
    await row(id).getByRole("button", { name: "Answer" }).click();
    await page.getByRole("heading", { name: "Two questions" }).waitFor();
    await page.getByPlaceholder("a name").pressSequentially("abcdefgh");
    await page.getByRole("dialog").getByRole("button", { name: "Send" }).click();
    await shows("answered");
    expect(used.at(-1)?.data["components"]).toMatchObject([
      { components: [{ custom_id: "short", value: "abcde" }] },
      { components: [{ custom_id: "long", value: "none" }] },
    ]);
    await isTrue();
  });

  it("chooses one from a list, and several from another", async () => {
    const options = ["Small", "Large"].map((label) => ({
      label,
      value: label.toLowerCase(),
      description: `${label} it is`,
    }));
    const one = { type: 3, custom_id: "one", options, placeholder: "How big?" };
    const some = { type: 3, custom_id: "some", options, min_values: 1, max_values: 2 };
    const rows = [one, some].map((list) => ({ type: 1, components: [list] }));
    const id = await send({ content: "choose", components: rows });
    await page.getByRole("combobox", { name: "How big?" }).selectOption("large");
    await shows("answered");
    expect(used.at(-1)?.data).toMatchObject({ custom_id: "one", values: ["large"] });
    const choose = row(id).getByRole("button", { name: "Choose" });
    expect(await choose.isDisabled()).toBe(true);
    await row(id).getByLabel("Small").check();
    await row(id).getByLabel("Large").check();
    await choose.click();
    await expect.poll(() => used.at(-1)?.data["values"]).toEqual(["small", "large"]);
    await isTrue();
  });

  it("completes sub-commands by their full names", async () => {
    const leaf = (name: string) => ({ type: 1, name, description: `${name} them`, options: [] });
    await page.getByRole("combobox", { name: /^Message/ }).fill("/agent s");
    await page.getByText("There is no such command").waitFor();
    // A relay that starts: its commands come while somebody types.
    await register({ name: "agent", description: "d", options: [leaf("list"), leaf("stop")] });
    await expect.poll(() => page.getByRole("option").allTextContents()).toEqual(["/agent stopstop them"]);
    await page.getByRole("option").click();
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".above", { hasText: "You used /agent stop" }).waitFor();
    expect(used[0]?.data["options"]).toEqual([{ type: 1, name: "stop", options: [] }]);
    await isTrue();
  });

  it("shows what a reply replies to, goes there, and says when it was deleted", async () => {
    const { driver, you, channelId } = discord;
    const { id } = driver.post(you.id, channelId, "the **question**");
    for (let n = 0; n < 40; n += 1) driver.post(you.id, channelId, `between ${n}`);
    const reply = await send({ content: "the answer", message_reference: { message_id: id } });
    const above = row(reply).locator(".above");
    await expect.poll(() => above.textContent()).toContain("@Youthe **question**");
    await above.click();
    await expect.poll(() => row(id).evaluate((item) => item.getBoundingClientRect().top)).toBeGreaterThan(0);
    await isTrue();
    driver.deleteMessage(you.id, channelId, id);
    driver.edit(you.id, channelId, driver.messages(channelId)[0]?.id ?? "", "edited");
    await page.reload();
    await row(reply).getByText("The message that it replied to was deleted").waitFor();
    await isTrue();
  });

  it("shows what notified, what was silent, and an ephemeral answer apart", async () => {
    const content = `for <@${discord.you.id}>`;
    const loud = await send({ content });
    const silent = await send({ content, flags: 4096 });
    const plain = await send({ content, allowed_mentions: { parse: [] } });
    await row(loud).getByRole("img", { name: "It notified You" }).waitFor();
    await row(silent).getByRole("img", { name: "Sent silently: it notified nobody" }).waitFor();
    expect(await row(plain).locator(".notified").count()).toBe(0);
    await isTrue();
  });

  it("counts relative times on while they stand there", async () => {
    const at = Math.floor(Date.now() / 1000) - 30;
    const id = await send({ content: `since <t:${at}:R>` });
    const time = row(id).locator("time.md-time");
    const before = await time.textContent();
    expect(before).toMatch(/^[3-5]\d seconds ago$/);
    await expect.poll(() => time.textContent()).not.toBe(before);
  });

  it("renders Discord's Markdown, and foreign text as text", async () => {
    const content = [
      "# Title",
      "> quoted **bold**",
      "1. one",
      "  - deep",
      "-# small print",
      "[docs](https://docs.example) ||secret|| `code` <b>no html</b>",
      "```ansi\n\u001b[1;31mred\u001b[0m\n```",
    ].join("\n");
    const id = await send({ content });
    const body = row(id).locator(".content");
    const texts = (selector: string) => body.locator(selector).allTextContents();
    await expect.poll(() => texts("h3")).toEqual(["Title"]);
    expect(await texts("blockquote strong")).toEqual(["bold"]);
    expect(await texts(".md-item")).toEqual(["1.one", "•deep"]);
    expect(await texts(".md-small")).toEqual(["small print"]);
    expect(await body.locator("a").getAttribute("href")).toBe("https://docs.example");
    expect(await texts(".inline-code")).toEqual(["code"]);
    expect(await texts(".ansi-31.ansi-bold")).toEqual(["red"]);
    expect(await body.locator("b").count()).toBe(0);
    const spoiler = body.locator(".spoiler");
    const colour = () => spoiler.evaluate((element) => getComputedStyle(element).color);
    expect(await colour()).toBe("rgba(0, 0, 0, 0)");
    await spoiler.click();
    expect(await colour()).not.toBe("rgba(0, 0, 0, 0)");
  });
});
