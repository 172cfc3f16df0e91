/** `/browser`: one message with a page's picture, which is edited, and its buttons. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { SeenMessage } from "../../local-discord/seen.ts";
import { USUAL_BROWSERS } from "../../vm/browser/settings.ts";
import { STAND_IN_CONFIG, script } from "../support/agents.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { type Site, startSite } from "../support/site.ts";
import { untilValue } from "../support/wait.ts";

/** Deadline for Chromium to start on a busy machine, in milliseconds. */
const START_MS = 90_000;
const PAGE_MS = 40_000;

let all: Everything;
let site: Site;

beforeAll(async () => {
  site = await startSite();
  const browser = { ...USUAL_BROWSERS, hosts: [site.host], maxBrowsers: 20 };
  all = await startEverything({ isQuick: true, vm: { ...STAND_IN_CONFIG, browser } });
}, START_MS);
afterAll(async () => {
  await all?.close();
  await site?.close();
}, START_MS);

const reply = async (url: string) =>
  (await all.discord.driver.command(all.you, all.discord.channelId, "browser", { url }).reply()).content;

async function open(url: string): Promise<string> {
  const said = await reply(url);
  const threadId = /<#(\d+)>/.exec(said)?.[1];
  if (threadId === undefined) throw new Error(said);
  return threadId;
}

const pictures = (threadId: string) =>
  all.discord.driver
    .messages(threadId)
    .filter(({ author, buttons }) => author.isBot && buttons.some(({ label }) => label === "Click…"));
const shown = (threadId: string) => pictures(threadId).at(-1);

function untilShown(
  threadId: string,
  what: string,
  isMet: (message: SeenMessage) => boolean,
  timeoutMs = PAGE_MS,
): Promise<SeenMessage> {
  return all.discord.driver.until(
    () => {
      const message = shown(threadId);
      return message && isMet(message) ? message : undefined;
    },
    { what: `${what}, not ${JSON.stringify(shown(threadId)?.content)}`, timeoutMs },
  );
}

function press(threadId: string, label: string) {
  const message = shown(threadId);
  const button = message?.buttons.find((one) => one.label === label);
  if (!message || !button) throw new Error(`there is no ${label}`);
  return all.discord.driver.press(all.you, message.id, button.customId ?? "");
}

async function fill(threadId: string, label: string, values: Record<string, string>) {
  const pressed = press(threadId, label);
  await all.discord.driver.until(() => pressed.form(), { what: "a form" });
  pressed.submit(values);
  return pressed;
}

test("a page's picture is one message, which is edited while people click, type and go back", async () => {
  const threadId = await open(site.at("/"));
  const first = await untilShown(
    threadId,
    "the shop",
    ({ attachments }) => attachments.length === 1,
    START_MS,
  );
  expect(first.content).toContain(`\`${site.at("/")}\``);
  expect(first.attachments[0]?.contentType).toBe("image/png");
  const picture = all.discord.driver.attachment(first.attachments[0]?.id ?? "");
  expect(picture.subarray(1, 4).toString()).toBe("PNG");

  await fill(threadId, "Type…", { number: "3", text: "shoes" });
  await untilShown(threadId, "what was typed", ({ content }) => /picture [2-9]/.test(content));
  await fill(threadId, "Click…", { number: "5" });
  const found = await untilShown(threadId, "what was found", ({ content }) => content.includes("Found"));
  expect(site.asked).toContain("/search?q=shoes&c=Red");
  expect(found.id).toBe(first.id);

  press(threadId, "← Back");
  const back = await untilShown(threadId, "the shop again", ({ content }) => !content.includes("Found"));
  expect(pictures(threadId).map(({ id }) => id)).toEqual([first.id]);
  expect(back.attachments).toHaveLength(1);
}, 120_000);

test("an agent's browser is a thread in its channel, linked from its own; what it asks names the page", async () => {
  const { driver, channelId } = all.discord;
  const { client } = all.sidecar;
  const tools = [{ name: "mcp__threadmux__browser_open", input: { url: site.at("/about") } }];
  const prompt = script("Look", { tools }, { text: "Read." });
  const used = await driver.command(all.you, channelId, "agent", { prompt }).reply();
  const agent = /<#(\d+)>/.exec(used.content)?.[1] ?? "";
  const says = (what: string, pattern: RegExp) =>
    driver.until(() => driver.messages(agent).find(({ content }) => pattern.test(content)), {
      what: `${what} in ${JSON.stringify(driver.messages(agent).map(({ content }) => content))}`,
      timeoutMs: PAGE_MS,
    });
  const ask = await says("the ask", /browser_open/);
  expect(ask.content).toContain(site.at("/about"));
  const [open] = await untilValue(
    "the ask",
    () => client.listAsks(agent),
    (asks) => asks.length > 0,
  );
  await client.answerAsk(agent, open?.requestId ?? "", { optionId: "once" });
  const link = await says("the link", /^↳ 🌐 Opened a browser: <#\d+>$/m);
  const threadId = /<#(\d+)>/.exec(link.content)?.[1] ?? "";
  await untilShown(threadId, "the page", ({ attachments }) => attachments.length === 1, START_MS);
  await says("the answer", /Read\./);
  await driver.command(all.you, agent, "done", {}).reply();
}, 120_000);
