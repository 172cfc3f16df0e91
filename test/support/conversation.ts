/** An agent's page in a browser: opening it, reading all of it, pressing what it asks. */
import type { BrowserContext, Page } from "playwright-core";
import type { ThreadEvent } from "../../shared/agent/events.ts";
import { untilValue } from "./wait.ts";

export interface ShownRow {
  seq: number;
  /** Of the event that says what became of it. */
  ending: number | undefined;
  text: string;
}

export interface OpenedPage {
  page: Page;
  /** Errors of the page and breaches of its policy. */
  problems: string[];
  /** Addresses that it asked for elsewhere. */
  strangers: string[];
}

export async function openConversation(
  context: BrowserContext,
  { url, token }: { url: string; token: string },
  threadId: string,
): Promise<OpenedPage> {
  const page = await context.newPage();
  const problems: string[] = [];
  const strangers: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error.stack ?? error)));
  page.on("console", (message) => {
    if (/Content Security Policy/.test(message.text())) problems.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(url)) strangers.push(request.url());
  });
  await page.goto(`${url}/console#/${threadId}`);
  await page.waitForSelector("#token:visible, #transcript:visible");
  if (await page.isVisible("#token")) {
    await page.fill("#token", token);
    await page.keyboard.press("Enter");
  }
  await page.waitForSelector("#transcript:visible");
  return { page, problems, strangers };
}

/** The rows that are drawn now, from top to bottom. */
export function drawnRows(page: Page): Promise<ShownRow[]> {
  return page.locator("#rows .row").evaluateAll((elements) =>
    elements.map((element) => {
      const { seq = "", ending } = (element as HTMLElement).dataset;
      const text = (element as HTMLElement).innerText;
      return { seq: Number(seq), ending: ending === undefined ? undefined : Number(ending), text };
    }),
  );
}

/** All rows, as somebody reads them who scrolls from the first to the last. */
export async function allRows(page: Page): Promise<ShownRow[]> {
  const rows = new Map<number, ShownRow>();
  await page.locator("#transcript").evaluate((scroller) => scroller.scrollTo(0, 0));
  for (;;) {
    await untilValue(
      "what is in sight to be loaded",
      () => page.locator(".waiting-rows").count(),
      (n) => n === 0,
    );
    for (const row of await drawnRows(page)) rows.set(row.seq, row);
    const isEnd = await page.locator("#transcript").evaluate(async (scroller) => {
      const isAtEnd = scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - 2;
      scroller.scrollBy(0, scroller.clientHeight);
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      return isAtEnd;
    });
    if (isEnd) return [...rows.values()].sort((a, b) => a.seq - b.seq);
  }
}

/** What of a transcript a page must show: every word of everybody, and every call and ask with its ending. */
export function expectedRows(events: readonly ThreadEvent[]): Omit<ShownRow, "text">[] {
  return events.flatMap((event) => {
    const { seq } = event;
    switch (event.type) {
      case "initial_message":
      case "user_message":
      case "agent_message":
      case "turn_end":
      case "failure":
      case "notice":
        return [{ seq, ending: undefined }];
      case "tool_call": {
        const end = events.findLast(
          (other) =>
            other.type === "tool_call_update" &&
            other.toolCallId === event.toolCallId &&
            other.status !== "in_progress",
        );
        return [{ seq, ending: end?.seq }];
      }
      case "permission_request":
      case "elicitation_request": {
        const end = events.find(
          (other) =>
            (other.type === "permission_response" || other.type === "elicitation_response") &&
            other.requestId === event.requestId,
        );
        return [{ seq, ending: end?.seq }];
      }
      default:
        return [];
    }
  });
}

export async function untilText(page: Page, selector: string, expected: RegExp): Promise<string> {
  const read = async () => (await page.locator(selector).allInnerTexts()).join("\n");
  return untilValue(`${expected} in ${selector}`, read, (text) => expected.test(text), { timeoutMs: 20_000 });
}

/** Waits for the agent's own words: the message that brings the stand-in its script shows the same words earlier. */
export async function untilSaid(page: Page, expected: RegExp): Promise<string> {
  return untilText(page, "#rows .agent_message", expected);
}
