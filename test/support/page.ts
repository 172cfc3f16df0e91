/** The local Discord's page from outside: what stands on the screen, and whether it is what Discord holds. */
import type { Browser, Page } from "playwright-core";
import type { LocalDiscord } from "../../local-discord/run.ts";
import { untilValue } from "./wait.ts";

export interface OpenPage {
  page: Page;
  /** Errors of the page's scripts, and what it complained about in the browser's console. */
  problems: string[];
  close: () => Promise<void>;
}

/** Opens the page as the person whom it acts for; below 700 px wide as a phone. */
export async function openPage(
  browser: Browser,
  discord: LocalDiscord,
  { width, height }: { width: number; height: number } = { width: 1200, height: 800 },
): Promise<OpenPage> {
  const isPhone = width < 700;
  const context = await browser.newContext({
    viewport: { width, height },
    isMobile: isPhone,
    hasTouch: isPhone,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  await page.goto(discord.pageUrl);
  await page.locator("#channel-title", { hasText: "terminals" }).waitFor();
  return { page, problems, close: () => context.close() };
}

/** One message as a person sees it, reduced to what both sides can tell. */
interface Row {
  id: string;
  text: string;
  author: string;
  buttons: string[];
  files: string[];
  embeds: number;
  reactions: string[];
  isThinking: boolean;
  isEphemeral: boolean;
  isEdited: boolean;
}

/** Rows as they are drawn; each part is counted, so that a part drawn twice is a difference. */
interface DrawnRow extends Omit<Row, "author"> {
  /** None, if the message stands in a group below another one of the same author. */
  author: string | undefined;
  /** Parts of a message that stand there more than once. */
  doubled: string[];
  top: number;
  bottom: number;
}

/**
 * Waits until the page shows exactly what Discord holds in the channel: the same messages in the same order, each
 * once, with the same text, buttons and files; and the same threads beside it.
 */
export async function untilPageIsTrue(page: Page, discord: LocalDiscord, channelId: string): Promise<void> {
  const differences = async () => [
    ...findDifferences(heldRows(discord, channelId), await drawnRows(page)),
    ...(await threadDifferences(page, discord, channelId)),
  ];
  await untilValue(
    `the page to show what Discord holds in ${channelId}`,
    differences,
    (all) => all.length === 0,
  );
}

function heldRows(discord: LocalDiscord, channelId: string): Row[] {
  return discord.driver.messages(channelId, discord.you.id).map((message) => ({
    id: message.id,
    text: bare(systemText(discord, message) ?? withNames(discord, message.content)),
    author: message.author.name,
    buttons: message.buttons.map((button) => button.label),
    files: message.attachments.map((file) => file.name),
    embeds: message.embeds.length,
    reactions: message.reactions.map((entry) => `${entry.emoji} ${entry.users.length}`),
    isThinking: message.isLoading,
    isEphemeral: message.isEphemeral,
    isEdited: message.editedAt !== null && message.content !== "",
  }));
}

type Held = ReturnType<LocalDiscord["driver"]["messages"]>[number];

/** What the client says by itself, without a text of the message. */
function systemText(discord: LocalDiscord, message: Held): string | undefined {
  if (message.isLoading) return `${message.author.name} is thinking…`;
  if (message.type === 4) return `${message.author.name} renamed the thread: ${message.content}`;
  if (message.type !== 18) return undefined;
  const name = discord.driver.findThread(message.threadId ?? "")?.name ?? `${message.content} (deleted)`;
  return `${message.author.name} started a thread: ${name}`;
}

function withNames(discord: LocalDiscord, content: string): string {
  return content
    .replace(/<#(\d+)>/g, (_, id: string) => discord.driver.findThread(id)?.name ?? "#unknown")
    .replace(/<@!?(\d+)>/g, (_, id: string) => {
      const user = discord.users.find((entry) => entry.id === id);
      return `@${user?.name ?? "threadmux"}`;
    })
    .replace(/<t:[^>]*>/g, "")
    .replace(/```(?:[\w+#.-]+\n)?/g, "");
}

/** Without white space and without the signs that Markdown may take away. */
function bare(text: string): string {
  return text.replace(/[\s*_`~|>#\\›-]/g, "");
}

async function drawnRows(page: Page): Promise<DrawnRow[]> {
  const rows = await page.locator("#messages > li").evaluateAll((items) =>
    items.map((item) => {
      const within = (selector: string) => [...item.querySelectorAll(`:scope > ${selector}`)];
      const texts = (selector: string) =>
        [...item.querySelectorAll(selector)].map((e) => e.textContent ?? "");
      const body = within(".content").map((element) => {
        const copy = element.cloneNode(true) as Element;
        for (const own of copy.querySelectorAll(".edited, time")) own.remove();
        return copy.textContent ?? "";
      });
      const parts = [".message-head", ".content", ".embeds", ".files", ".controls", ".reactions", ".tools"];
      const box = item.getBoundingClientRect();
      return {
        id: (item as HTMLElement).dataset["id"] ?? "",
        text: body.join(""),
        author: item.querySelector(":scope > .message-head .author")?.textContent ?? undefined,
        buttons: texts(":scope > .controls .button:not(.choose)"),
        files: texts(":scope > .files .file-name").concat(
          [...item.querySelectorAll(":scope > .files img")].map((image) => image.getAttribute("alt") ?? ""),
        ),
        embeds: item.querySelectorAll(":scope > .embeds > .embed").length,
        reactions: texts(":scope > .reactions > .reaction"),
        isThinking: item.querySelector(":scope > .content .thinking") !== null,
        isEphemeral: item.classList.contains("ephemeral"),
        isEdited: item.querySelector(":scope > .content > .edited") !== null,
        doubled: parts.filter((part) => within(part).length > 1),
        top: box.top,
        bottom: box.bottom,
      };
    }),
  );
  return rows.map((row) => ({ ...row, text: bare(row.text) }));
}

function findDifferences(held: readonly Row[], drawn: readonly DrawnRow[]): string[] {
  const found: string[] = [];
  const ids = (rows: readonly { id: string }[]) => rows.map((row) => row.id).join(" ");
  if (ids(held) !== ids(drawn)) found.push(`Discord holds ${ids(held)}; the page shows ${ids(drawn)}`);
  let above: { author: string; bottom: number } | undefined;
  for (const row of drawn) {
    const wanted = held.find((entry) => entry.id === row.id);
    if (!wanted) continue;
    if (row.doubled.length > 0) found.push(`${row.id} shows twice: ${row.doubled.join(", ")}`);
    const { author, doubled: _, top, bottom, ...shown } = row;
    const { author: wantedAuthor, ...expected } = wanted;
    for (const [field, value] of Object.entries(expected)) {
      const is = JSON.stringify(Reflect.get(shown, field));
      if (is !== JSON.stringify(value)) found.push(`${row.id} ${field}: ${is}, not ${JSON.stringify(value)}`);
    }
    const isSystem = author === undefined && wanted.text.startsWith(wantedAuthor);
    const seenAuthor = author ?? (isSystem ? wantedAuthor : above?.author);
    if (seenAuthor !== wantedAuthor) found.push(`${row.id} stands below ${seenAuthor}, not ${wantedAuthor}`);
    if (bottom <= top) found.push(`${row.id} takes no room`);
    if (above && top < above.bottom - 1) found.push(`${row.id} lies over the message above it`);
    above = { author: wantedAuthor, bottom };
  }
  return found;
}

async function threadDifferences(page: Page, discord: LocalDiscord, channelId: string): Promise<string[]> {
  const found: string[] = [];
  const names = (selector: string) =>
    page.locator(`#channel-tree ${selector} a[data-channel] .channel-name`).allTextContents();
  for (const [what, selector, isArchived] of [
    ["active", "> .threads", false],
    ["archived", "details .threads", true],
  ] as const) {
    const shown = (await names(selector)).sort().join(" | ");
    const held = discord.driver
      .threads({ archived: isArchived })
      .map((thread) => thread.name)
      .sort()
      .join(" | ");
    if (shown !== held) found.push(`${what} threads shown: ${shown}; held: ${held}`);
  }
  const title = await page.locator("#channel-title .channel-name").textContent();
  const wanted = discord.driver.findThread(channelId)?.name ?? "terminals";
  if (title !== wanted) found.push(`the title is ${title}, not ${wanted}`);
  return found;
}
