import fc from "fast-check";
import { expect, test } from "vitest";
import { cpuMsOf } from "../../test/support/measure.ts";
import { plainText } from "./plain-text.ts";

const CHUNK_BYTES = 256 * 1024;
/** Each takes a fraction of a second; what grows with the square of the input takes minutes. */
const MAX_CPU_MS = 10_000;

async function* cut(bytes: Buffer, size: number) {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
}

async function clean(text: string, chunkBytes = CHUNK_BYTES): Promise<string> {
  let cleaned = "";
  for await (const piece of plainText(cut(Buffer.from(text), chunkBytes))) cleaned += piece;
  return cleaned;
}

const WRAPPED = "\x1b]8;;https://a.example\x07on";
const REPEATED = "\x1b]8;;https://a.example\x07a\x1b]8;;\x07";

test.each([
  ["colours and titles", "\x1b[1;31mred\x1b[0m \x1b]0;title\x07\x1b]8;;x\x1b\\link", "red link"],
  [
    "a link",
    "\x1b]8;id=1;https://a.example/é;b\x1b\\\x1b[1mdocs\x1b[m\x1b]8;;\x1b\\!",
    "docs (https://a.example/%C3%A9;b)!",
  ],
  ["an 8-bit link, never over", "\x9d8;;mailto:a@b.example\x9cme\r\n", "me\n (mailto:a@b.example)"],
  [
    "a link to what it says",
    "\x1b]8;;http://a.example/\x07http://a.example\x1b]8;;\x07.",
    "http://a.example.",
  ],
  ["a link to a file by its name", "\x1b]8;;file://host/a%20b\x07a b\x1b]8;;\x07", "a b"],
  ["a link that goes on", `${WRAPPED}${WRAPPED.replace("on", "ly")}\x1b]8;;\x07`, "only (https://a.example)"],
  ["a link that runs something", "\x1b]8;;javascript:x\x07a\x1b]8;;\x07", "a"],
  ["an empty link", "\x1b]8;;https://a.example\x07\x1b]8;;\x07a", "a"],
  [
    "a link in another sequence",
    "\x1b]0;a\x1b]8;;https://a.example\x07b\x1b]8;;\x07",
    "\x1b]0;ab (https://a.example)",
  ],
  ["a link again and again", `${REPEATED.repeat(50)}.`, `a (https://a.example)${"a".repeat(49)}.`],
  ["8-bit forms", "\x9b31mred\x9d0;title\x9c", "red"],
  ["line ends", "a\r\nb\r\r\r\nc\nd", "a\nb\nc\nd"],
  ["a line that is written over", "10%\r\r20%\r", "10%\r\r20%\r"],
  ["a sequence within a line's end", "a\r\x1b[K\r\x1b[0m\nb", "a\nb"],
  ["a bell within a title that only ST ends", "\x1bk\x07t\x9cx", "x"],
  ["a sequence that is never over", "a\x1b]0;b", "a\x1b]0;b"],
])("%s", async (_name, text, expected) => {
  for (const chunkBytes of [CHUNK_BYTES, 3, 2, 1]) expect(await clean(text, chunkBytes)).toBe(expected);
});

test("wherever it is cut, the text is the same", async () => {
  const parts = ["\r", "\r", "\n", "\x1b", "[", "]", "P", "k", "\\", "\x07", "\x9b", "\x9c", "\x9d", "\x18"];
  const links = ["\x1b]8;;https://a.example\x07", "\x1b]8;;http://b\x07", "\x1b]8;;\x07"];
  const part = fc.constantFrom(...parts, ...links, "0;1", "?2026$p", "m", "R", " ", "x", "é", "漢");
  const pieces = fc.array(part, { maxLength: 40 }).map((all) => all.join(""));
  await fc.assert(
    fc.asyncProperty(pieces, fc.integer({ min: 1, max: 9 }), async (text, chunkBytes) => {
      expect(await clean(text, chunkBytes)).toBe(await clean(text));
    }),
    { numRuns: 2_000 },
  );
});

/** Several megabytes of one thing, and what comes out where that is known to the last character. */
const LONG: [string, string, string, string | undefined][] = [
  ["carriage returns", "\r", "", "\r".repeat(4_000_000)],
  ["carriage returns, then a line's end", "\r", "\n", "\n"],
  ["carriage returns, then a sequence", "\r", "\x1b[0mx", `${"\r".repeat(4_000_000)}x`],
  ["carriage returns in long runs", `${"\r".repeat(99_999)}x`, "", undefined],
  ["8-bit introducers of nothing", "\x9b]", "", undefined],
  ["introducers of strings", "\x1b]", "\x07", undefined],
  ["8-bit introducers of strings", "\x9d", "x", undefined],
  ["strings that are never over", "\x1b]0;".padEnd(100_000, "x"), "", undefined],
  ["links", "\x1b]8;;https://a.example\x07a", "", undefined],
  ["links that are never over", "\x1b]8;;https://a", "", undefined],
  ["parameters", "\x1b[".padEnd(50_000, "0;"), "", undefined],
  ["spaces in an escape", "\x1b".padEnd(50_000, " "), "\n", undefined],
];
test.each(LONG)("4 MB of %s take no time, in any pieces", async (_name, unit, end, expected) => {
  const text = unit.repeat(4_000_000 / unit.length) + end;
  const cpuMs = await cpuMsOf(async () => {
    for (const chunkBytes of [CHUNK_BYTES, CHUNK_BYTES - 1, 10_007]) {
      const cleaned = await clean(text, chunkBytes);
      // Not `toBe`: it would print both.
      if (expected !== undefined) expect(cleaned === expected, "the text").toBe(true);
    }
  });
  expect(cpuMs).toBeLessThan(MAX_CPU_MS);
});

test("carriage returns are counted, not kept: they come in small pieces", async () => {
  const bytes = Buffer.alloc(4_000_000, "\r");
  for await (const piece of plainText(cut(bytes, CHUNK_BYTES))) {
    expect(piece.length).toBeLessThanOrEqual(CHUNK_BYTES);
  }
});
