import { beforeEach, expect, test } from "vitest";
import { aThreadId } from "../../test/support/ids.ts";
import type { EventRow } from "../store/events.ts";
import { Pages } from "./pages.ts";

let rows: EventRow[] = [];
let made = 0;
beforeEach(() => {
  rows = [];
  made = 0;
});

const row = (eventId: number, threadId = "t"): EventRow => {
  const place = { byte: 0, bytes: 100, body: null };
  return { eventId, threadId: aThreadId(threadId), type: "plan", ...place, causes: [] };
};

function makePages(limits: { sliceBytes?: number; maxBytes?: number } = {}): Pages {
  return new Pages({
    list: (after, limit) => rows.filter(({ eventId }) => eventId > after).slice(0, limit),
    newest: () => rows.at(-1)?.eventId ?? 0,
    framesOf: (wanted) => {
      made += wanted.length;
      return wanted.map(({ eventId: id, threadId, type }) => ({
        id,
        threadId,
        type,
        bytes: Buffer.alloc(100),
      }));
    },
    sliceBytes: 5_000,
    maxBytes: 1_000_000,
    ...limits,
  });
}

/** All ids after one, and in how many goes. */
function readAll(pages: Pages, after: number, isWanted: (row: EventRow) => boolean = () => true) {
  const ids: number[] = [];
  const newest = rows.at(-1)?.eventId ?? 0;
  let goes = 0;
  for (let cursor = after; cursor < newest; goes++) {
    const { frames, end } = pages.next(cursor, isWanted);
    ids.push(...frames.map(({ id }) => id));
    expect(end).toBeGreaterThan(cursor);
    cursor = end;
  }
  return { ids, goes };
}

test("each event is made once for all who come to it, from wherever they come", () => {
  rows = Array.from({ length: 3_000 }, (_, i) => row(10_001 + i));
  const pages = makePages();
  for (const after of [10_000, 10_000, 10_300, 12_999])
    expect(readAll(pages, after).ids).toEqual(rows.map(({ eventId }) => eventId).filter((id) => id > after));
  // The last page is not kept: more may come to it.
  expect(made).toBeLessThan(3_000 + 3 * 256);
});

test("only what somebody wants is made", () => {
  rows = Array.from({ length: 1_000 }, (_, i) => row(1 + i, i % 10 === 0 ? "rare" : "t"));
  const { ids } = readAll(makePages(), 0, ({ threadId }) => threadId === "rare");
  expect([ids.length, made]).toEqual([100, 100]);
});

test("ids that leap, and rows that went, cost nothing", () => {
  rows = [row(5), row(1_700_000_000_000), row(1_800_000_000_000)];
  expect(readAll(makePages(), 0)).toEqual({ ids: [5, 1_700_000_000_000, 1_800_000_000_000], goes: 3 });
  rows = [row(5), row(7), row(600)];
  const pages = makePages();
  readAll(pages, 0);
  rows = [row(5)];
  pages.clear();
  expect(pages.next(5, () => true)).toEqual({ frames: [], end: 5 });
});

test("what is kept is bounded", () => {
  rows = Array.from({ length: 3_000 }, (_, i) => row(1 + i));
  const pages = makePages({ maxBytes: 30_000 });
  readAll(pages, 0);
  expect(made).toBe(3_000);
  readAll(pages, 2_600); // the newest are still there
  expect(made).toBeLessThan(3_300);
  readAll(pages, 0);
  expect(made).toBeGreaterThan(5_500);
});
