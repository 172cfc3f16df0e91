/** Any bytes that a program may print, on their way from the log's file to the pages. */
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { Document, type PageView } from "../../relay/content/document.ts";
import { readLog } from "../../vm/streams/log-file.ts";
import { makeFolder } from "../support/folders.ts";

const folder = makeFolder();
afterAll(folder.remove);
const file = join(folder.path, "log");

const anyByte = fc.integer({ min: 0, max: 255 });
/** Starts, middles and ends of characters, whole and broken. */
const brokenByte = fc.constantFrom(
  0x41,
  0x80,
  0xbf,
  0xc0,
  0xc3,
  0xe2,
  0x82,
  0xac,
  0xed,
  0xf0,
  0x9f,
  0x98,
  0xff,
);
const bytes = fc.oneof(
  fc.array(fc.oneof(anyByte, brokenByte, fc.constantFrom(10, 13, 27)), { maxLength: 60, size: "max" }),
  fc.array(brokenByte, { minLength: 5, maxLength: 60, size: "max" }),
  fc.string({ unit: "binary", maxLength: 40 }).map((text) => [...Buffer.from(text)]),
  fc.constant([0xef, 0xbf, 0xbd, 0x41]),
);
/** Enough lines for several pages. */
const lines = fc
  .record({ bytes, times: fc.integer({ min: 20, max: 150 }), hasEnds: fc.boolean() })
  .map((line) =>
    Buffer.from(
      Array(line.times)
        .fill(line.hasEnds ? [...line.bytes, 13, 10] : line.bytes)
        .flat(),
    ),
  );
const size = { cols: fc.integer({ min: 20, max: 60 }), rows: fc.integer({ min: 5, max: 12 }) };
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("write" as const), bytes: lines }) },
  fc.record({ kind: fc.constant("resize" as const), ...size }),
  fc.record({ kind: fc.constantFrom("cursor" as const, "screen" as const) }),
);
const life = fc.array(
  fc.record({
    step,
    limit: fc.integer({ min: 50, max: 4_000 }),
    confirm: fc.nat(3),
    isKilled: fc.boolean(),
  }),
  { minLength: 4, maxLength: 10, size: "max" },
);
const noise = Buffer.from(
  Array(120)
    .fill([...Array(50).fill(0xff), 13, 10])
    .flat(),
);
const quiet = { limit: 1_000_000, confirm: 1, isKilled: false };
/** Killed with nothing confirmed: all is read again in one piece, with the resize in its middle. */
const REPLAYED = [
  { ...quiet, step: { kind: "write" as const, bytes: noise } },
  { ...quiet, step: { kind: "resize" as const, cols: 20, rows: 5 } },
  { ...quiet, step: { kind: "write" as const, bytes: noise }, isKilled: true },
];
const SIZE = { cols: 30, rows: 6 };
const OPTIONS = { maxBacklogPages: Number.POSITIVE_INFINITY };

async function catchUp(document: Document, limit: number, isComplete = false): Promise<void> {
  for (let hasMore = true; hasMore; ) {
    const slice = await readLog(file, { since: document.offset, limit, isComplete });
    if (slice.chunk.text !== "") document.feed(slice.chunk);
    hasMore = slice.hasMore;
  }
}

test("pages are the same however the log was cut, and wherever the relay was killed", async () => {
  let kills = 0;
  await fc.assert(
    fc.asyncProperty(life, async (steps) => {
      writeFileSync(file, "");
      const whole = new Document({ ...SIZE, ...OPTIONS });
      let document = new Document({ ...SIZE, ...OPTIONS });
      for (const { step: one, limit, confirm, isKilled } of steps) {
        if (one.kind === "write") appendFileSync(file, one.bytes);
        await catchUp(whole, 1_000_000);
        await catchUp(document, limit);
        expect(document.offset).toBe(whole.offset);
        for (const each of [whole, document]) {
          if (one.kind === "resize") each.resize(one.cols, one.rows);
          else if (one.kind !== "write") each.breakPage(one.kind);
        }
        if (confirm === 0) document.confirm(document.pages().find((page) => !page.isSealed)?.index ?? 0);
        const mark = isKilled ? document.mark(Number.POSITIVE_INFINITY) : undefined;
        if (!mark) continue;
        kills += 1;
        document = Document.restore(JSON.parse(JSON.stringify(mark)), OPTIONS);
        await catchUp(document, limit);
      }
      for (const each of [whole, document]) await catchUp(each, 1_000, true);
      const pages = document.pages();
      const isThere = ({ kind, index }: PageView) =>
        pages.some((page) => page.kind === kind && page.index === index);
      // All that it was not told to be delivered, sealed or not; the other one was never told.
      expect(pages).toEqual(whole.pages().filter(isThere));
    }),
    { numRuns: 60, examples: [[REPLAYED]] },
  );
  expect(kills).toBeGreaterThan(0);
});
