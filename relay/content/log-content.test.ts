import { expect, test } from "vitest";
import type { OutputReply } from "../../shared/api.ts";
import { aThreadId } from "../../test/support/ids.ts";
import type { Thread } from "../sidecar/names.ts";
import { LogContent, SCREEN_PREFIX } from "./log-content.ts";
import { joinPages } from "./pages.ts";

const NOW = 1_800_000_000_000;
const never = new AbortController().signal;

const threadAt = (offset: number, more: Partial<Thread> = {}): Thread => ({
  threadId: aThreadId("1000"),
  ownId: aThreadId("1000"),
  type: "terminal",
  dir: ".",
  command: "true",
  title: "true",
  number: 1,
  awaiting: null,
  problem: null,
  doing: null,
  activeAt: null,
  status: "running",
  createdBy: "discord:300000000000000000",
  createdAt: new Date(NOW).toISOString(),
  endedAt: null,
  processRunning: true,
  exitCode: null,
  signal: null,
  offset,
  logBytes: offset,
  cols: 80,
  rows: 24,
  heldSmallUntil: null,
  origin: null,
  waiting: 0,
  delivery: null,
  ...more,
});

/** A log that grows, and what a sidecar answers of it. */
class LogOf {
  text = "";
  thread = threadAt(0);
  firstOffset = 0;

  open(mark?: ReturnType<LogContent["mark"]>, keys: string[] = []): LogContent {
    const getThread = async () => ({ ...this.thread, offset: this.text.length });
    const thread = { ...this.thread, offset: this.text.length };
    return new LogContent({ thread, isAnsi: false, mark, keys, getThread });
  }

  reply(content: LogContent, end = this.text.length): OutputReply {
    const since = Math.max(content.offset, this.firstOffset);
    const { processRunning, status, exitCode, signal, cols, rows } = this.thread;
    return {
      output: this.text.slice(since, end),
      start: since,
      offset: Math.max(end, since),
      status,
      processRunning,
      exitCode,
      signal,
      firstOffset: this.firstOffset,
      gone: since - content.offset,
      more: end < this.text.length,
      cols,
      rows,
    };
  }
}

const rows = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => `row ${from + i}\r\n`).join("");
const shown = (content: LogContent, now = NOW) =>
  content
    .pages(now)
    .map(({ key, presence, text }) => `${key} ${presence} ${joinPages([text]).split("\n")[0]}`);

async function opened(text: string): Promise<{ log: LogOf; content: LogContent }> {
  const log = new LogOf();
  const content = log.open();
  log.text = text;
  await content.accept(log.reply(content), NOW, never);
  return { log, content };
}

test("the newest live page has the keys, as long as the process runs; its key stays its own", async () => {
  const { log, content } = await opened(rows(1, 300));
  const pages = content.pages(NOW);
  expect(pages.map(({ key }) => key)).toEqual(["page.0", "page.1"]);
  expect(pages.map(({ buttons }) => buttons.length)).toEqual([0, 3]);
  log.thread = {
    ...log.thread,
    processRunning: false,
    status: "exited",
    exitCode: 0,
    endedAt: new Date(NOW + 9_000).toISOString(),
  };
  await content.accept(log.reply(content), NOW, never);
  expect(content.pages(NOW).map(({ buttons }) => buttons.length)).toEqual([0, 0]);
  const [end] = content.notices(NOW);
  expect(end).toMatchObject({
    text: "⏹ The process ended with exit code 0 after 9.0 s. /done ends this thread.",
  });
  if (end) content.told(end, NOW);
  expect(content.notices(NOW)).toEqual([]);
});

test("pages that shrank away stay as blank ones, and go once a person has written", async () => {
  const { content, log } = await opened(`${`${"x".repeat(79)}\r\n`.repeat(23)}`);
  log.thread = { ...log.thread, rows: 60 };
  log.text += `${"y".repeat(79)}\r\n`.repeat(20);
  await content.accept(log.reply(content), NOW, never);
  log.text += `${"y".repeat(79)}\r\n`.repeat(20);
  await content.accept(log.reply(content), NOW, never);
  for (const { key } of content.pages(NOW)) content.begin(key);
  const count = content.pages(NOW).length;
  log.text += "\x1b[5;1H\x1b[J";
  await content.accept(log.reply(content), NOW, never);
  expect(content.pages(NOW)).toHaveLength(count);
  expect(content.pages(NOW).at(-1)).toMatchObject({ key: `page.${count - 1}`, presence: "kept" });
  content.breakPage();
  expect(content.pages(NOW).at(-1)).toMatchObject({ key: `page.${count - 1}`, presence: "unwanted" });
  content.settle();
  expect(content.pages(NOW).at(-1)?.presence).toBe("kept");
});

test("a full-screen program's picture is an aside with the keys", async () => {
  const { content } = await opened("before\r\n\x1b[?1049h\x1b[Hvim");
  const [log, picture] = content.pages(NOW);
  expect(log?.buttons).toEqual([]);
  expect(picture).toMatchObject({ key: "screen.0", isAside: true });
  expect(picture?.text.startsWith(SCREEN_PREFIX)).toBe(true);
  expect(picture?.buttons).toHaveLength(3);
});

test("after a restart nothing is shown before the log is read again, and a break stands where the log ends", async () => {
  const { log, content } = await opened(rows(1, 300));
  for (const { key } of content.pages(NOW)) content.begin(key);
  const mark = content.mark();
  expect(mark?.page).toBe(0);
  const again = log.open(mark, ["page.0", "page.1"]);
  expect(again.offset).toBeLessThan(log.text.length);
  expect(again.pages(NOW)).toEqual([]);
  again.breakPage();
  again.settle();
  await again.accept(log.reply(again, again.offset + 100), NOW, never);
  expect(again.pages(NOW)).toEqual([]);
  await again.accept(log.reply(again), NOW, never);
  log.text += rows(301, 310);
  await again.accept(log.reply(again), NOW, never);
  expect(shown(again)).toEqual(["page.0 wanted row 1", "page.1 wanted row 250", "page.2 wanted row 301"]);
  // Once more, from a mark that knows of the break.
  const third = log.open(again.mark(), ["page.0", "page.1"]);
  await third.accept(log.reply(third), NOW, never);
  expect(shown(third)).toEqual(shown(again));
});

test("what is gone from the log is a gap at its place; the mark knows of it until it is delivered", async () => {
  const { log, content } = await opened(rows(1, 3));
  for (const { key } of content.pages(NOW)) content.begin(key);
  log.text += rows(4, 400);
  log.firstOffset = log.text.indexOf("row 395");
  const events = content.eventCount;
  await content.accept(log.reply(content), NOW, never);
  expect(content.eventCount).toBe(events + 1);
  const expected = [
    /^page\.0 wanted row 1$/,
    /^page\.1 wanted ⚠️ [\d.]+ kB of output came/,
    /^page\.2 wanted row 395$/,
  ];
  expect(shown(content)).toEqual(expected.map((line) => expect.stringMatching(line)));
  const again = log.open(content.mark(), ["page.0"]);
  await again.accept(log.reply(again), NOW, never);
  expect(shown(again)).toEqual(shown(content));
  // Delivered, it is not told again.
  for (const { key } of again.pages(NOW)) again.begin(key);
  again.confirm(["page.0", "page.1"]);
  await again.accept(log.reply(again), NOW, never);
  const last = log.open(again.mark(), ["page.0", "page.1", "page.2"]);
  await last.accept(log.reply(last), NOW, never);
  expect(shown(last)).toEqual(["page.2 wanted row 395"]);
});

test("while a flood goes on, what stands behind its gap waits", async () => {
  const { log, content } = await opened(rows(1, 20_000));
  const gap = content.pages(NOW).find(({ text }) => text.startsWith("… "));
  const behind = content.pages(NOW).slice(1);
  expect(gap).toMatchObject({ key: "page.0", isSealed: false });
  expect(behind.length).toBeGreaterThan(2);
  for (const page of behind) expect(page.notBefore).toBeGreaterThan(NOW);
  const later = NOW + 600;
  await content.accept(log.reply(content), later, never);
  for (const page of content.pages(later)) expect(page.notBefore).toBe(0);
  content.begin("page.1");
  expect(content.pages(later)[0]?.isSealed).toBe(true);
});

test("several pages at once wait for a moment: they may be the start of a flood", async () => {
  const { log, content } = await opened(rows(1, 600));
  const times = (now: number) => content.pages(now).map(({ notBefore }) => notBefore);
  expect(times(NOW)).toEqual([NOW + 400, NOW + 400, NOW + 400]);
  for (let i = 1; i <= 20; i++) {
    log.text += `more ${i}\r\n`;
    await content.accept(log.reply(content), NOW + i * 100, never);
    expect(times(NOW + i * 100)[0]).toBe(Math.min(NOW + i * 100 + 400, NOW + 1_000));
  }
  content.begin("page.0");
  content.begin("page.1");
  expect(Math.max(...times(NOW + 2_000))).toBe(0);
});

test("a terminal that was made small is told once, also after a restart", async () => {
  const { log, content } = await opened("one\r\n");
  expect(content.notices(NOW)).toEqual([]);
  const until = new Date(NOW + 600_000).toISOString();
  log.thread = { ...log.thread, cols: 40, rows: 12, heldSmallUntil: until };
  await content.accept({ ...log.reply(content), cols: 40, rows: 12 }, NOW, never);
  const [notice, ...others] = content.notices(NOW);
  expect(others).toEqual([]);
  expect(notice?.text).toMatch(/kept all threads waiting.* 40 columns and 12 rows .*\/resize.*<t:\d+:R>/);
  if (!notice) throw new Error("nothing is told");
  expect(log.open(content.mark()).notices(NOW)).toEqual([notice]);
  content.told(notice, NOW);
  expect(content.notices(NOW)).toEqual([]);
  expect(log.open(content.mark()).notices(NOW)).toEqual([]);
});

test("a bell that a person's own key caused is told to nobody, and every other one is", async () => {
  const { log, content } = await opened("one\r\n");
  const ring = async (now: number) => {
    log.text += "\x07";
    await content.accept(log.reply(content), now, never);
    return content.notices(now).map(({ text }) => text);
  };
  content.noteKey(NOW);
  expect(await ring(NOW + 500)).toEqual([]);
  // It stays untold, also after a restart.
  expect(content.notices(NOW + 60_000)).toEqual([]);
  expect(log.open(content.mark()).notices(NOW)).toEqual([]);
  const [told, ...others] = await ring(NOW + 10_000);
  expect([told, others]).toEqual([expect.stringContaining("The terminal bell rang"), []]);
  // One that waits to be told is told, whatever is pressed meanwhile.
  content.noteKey(NOW + 10_100);
  expect(await ring(NOW + 10_200)).toHaveLength(1);
});
