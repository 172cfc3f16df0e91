import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { makeFolder } from "../../test/support/folders.ts";
import { countUnfinished, readLog, readLogTail, sizeOfLog } from "./log-file.ts";

const folder = makeFolder();
afterAll(folder.remove);
const file = join(folder.path, "log");
const write = (bytes: Uint8Array) => writeFileSync(file, bytes);

const text = fc.string({ unit: "binary", maxLength: 40 }).map((value) => Buffer.from(value));
const anyBytes = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));
/** Bytes in which broken characters are likely. */
const nasty = fc
  .array(
    fc.constantFrom(
      0x41,
      0x80,
      0xbf,
      0xc0,
      0xc3,
      0xe2,
      0x82,
      0xac,
      0xed,
      0xa0,
      0xf0,
      0x9f,
      0x98,
      0xf4,
      0xf8,
      0xff,
    ),
  )
  .map((bytes) => Buffer.from(bytes));

describe("countUnfinished", () => {
  test.each([
    [[], 0],
    [[0x61], 0],
    [[0x61, 0xc3], 1],
    [[0xc3, 0xbc], 0],
    [[0xe2, 0x82], 2],
    [[0xf0, 0x9f, 0x98], 3],
    [[0xf0, 0x9f, 0x98, 0x80], 0],
    [[0x80, 0x80, 0x80], 0],
    [[0xc0], 0], // never the start of a character
    [[0xf5], 0],
    [[0xff], 0],
  ])("%j: %i", (bytes, count) => expect(countUnfinished(Uint8Array.from(bytes))).toBe(count));

  test("cuts text at the last whole character, wherever it is cut", () => {
    fc.assert(
      fc.property(text, fc.nat(200), (bytes, at) => {
        const cut = bytes.subarray(0, at);
        const whole = cut.subarray(0, cut.length - countUnfinished(cut));
        expect(whole.toString()).not.toContain("\ufffd".repeat(bytes.includes("\ufffd") ? 1_000 : 1));
        expect(cut.length - whole.length).toBeLessThan(4);
        expect(bytes.toString().startsWith(whole.toString())).toBe(true);
      }),
    );
  });

  test("cuts any bytes so that both parts read as the whole does", () => {
    fc.assert(
      fc.property(fc.oneof(anyBytes, nasty), fc.nat(60), (bytes, at) => {
        const cut = Math.min(at, bytes.length);
        const end = cut - countUnfinished(bytes.subarray(0, cut));
        expect(bytes.toString("utf8", 0, end) + bytes.toString("utf8", end)).toBe(bytes.toString("utf8"));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("readLog", () => {
  test("pages of any size give the whole, and each one makes progress", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(text, anyBytes, nasty),
        fc.integer({ min: 1, max: 12 }),
        async (bytes, limit) => {
          write(bytes);
          let all = "";
          let since = 0;
          for (let hasMore = true; hasMore; ) {
            const slice = await readLog(file, { since, limit, isComplete: true });
            const { text, start, end } = slice.chunk;
            expect([slice.end, start]).toEqual([bytes.length, since]);
            if (bytes.length > since) expect(end).toBeGreaterThan(since);
            expect(end - since).toBeLessThanOrEqual(Math.max(limit, 4));
            all += text;
            since = end;
            hasMore = slice.hasMore;
          }
          expect(since).toBe(bytes.length);
          expect(all).toBe(bytes.toString("utf8"));
        },
      ),
      { numRuns: 300 },
    );
  });

  test("while more may come, says that there is more only where a read would give it", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(text, nasty), fc.integer({ min: 1, max: 12 }), async (bytes, limit) => {
        write(bytes);
        let since = 0;
        for (let hasMore = true; hasMore; ) {
          const slice = await readLog(file, { since, limit, isComplete: false });
          if (slice.hasMore) expect(slice.chunk.end).toBeGreaterThan(since);
          since = slice.chunk.end;
          hasMore = slice.hasMore;
        }
        expect(since).toBe(bytes.length - countUnfinished(bytes));
      }),
      { numRuns: 300 },
    );
  });

  test("beyond the end, and of no file, gives nothing", async () => {
    write(Buffer.from("abc"));
    expect(await readLog(file, { since: 5, limit: 9, isComplete: true })).toMatchObject({
      chunk: { text: "" },
      end: 3,
    });
    const none = join(folder.path, "none");
    expect(await readLog(none, { since: 0, limit: 9, isComplete: true })).toMatchObject({
      chunk: { text: "" },
      end: 0,
    });
    expect(sizeOfLog(none)).toEqual({ end: 0, diskBytes: 0, inode: 0, isFile: false, modifiedAt: 0 });
    expect(readLogTail(none, 5)).toBe("");
  });

  test("the tail is the last bytes", () => {
    write(Buffer.from("0123456789"));
    expect(readLogTail(file, 4)).toBe("6789");
    expect(readLogTail(file, 40)).toBe("0123456789");
  });
});
