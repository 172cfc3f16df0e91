import fc from "fast-check";
import { expect, test } from "vitest";
import { type Chunk, decodeChunk, splitChunk, splitChunkAt, textChunk } from "./chunk.ts";

const broken = fc.constantFrom(
  0x41,
  0x80,
  0xbf,
  0xc2,
  0xe0,
  0xe2,
  0x82,
  0xa0,
  0xed,
  0xef,
  0xbd,
  0xf0,
  0x9f,
  0xf4,
  0x8f,
  0xff,
);
const anyBytes = fc
  .oneof(
    fc.uint8Array({ maxLength: 60 }).map((all) => [...all]),
    fc.array(broken, { maxLength: 60 }),
    fc.string({ unit: "binary", maxLength: 30 }).map((text) => [...Buffer.from(text)]),
    fc.constant([...Buffer.from("a\ufffdb"), 0xff]),
  )
  .map((bytes) => Uint8Array.from(bytes));

/** Where characters of the whole end, by bytes: from there both parts read as the whole does. */
function isWhole(chunk: Chunk, bytes: Uint8Array): void {
  expect(chunk.end - chunk.start).toBe(bytes.length);
  expect(chunk.text).toBe(Buffer.from(bytes).toString("utf8"));
}

test("a chunk's text split anywhere, by characters or by bytes: each part stands for its own bytes", () => {
  fc.assert(
    fc.property(anyBytes, fc.nat(80), fc.nat(1_000), (bytes, at, start) => {
      const chunk = decodeChunk(bytes, start);
      isWhole(chunk, bytes);
      const units = [...chunk.text].slice(0, at).join("").length;
      for (const [head, rest] of [splitChunk(chunk, units), splitChunkAt(chunk, start + at)]) {
        expect(head.text + rest.text).toBe(chunk.text);
        expect([head.start, rest.end]).toEqual([start, chunk.end]);
        expect(rest.start).toBe(head.end);
        isWhole(head, bytes.subarray(0, head.end - start));
        isWhole(rest, bytes.subarray(rest.start - start));
      }
      const [head] = splitChunkAt(chunk, start + at);
      expect(head.end).toBeGreaterThanOrEqual(Math.min(start + at, chunk.end));
      expect(head.end - (start + at)).toBeLessThan(4);
    }),
    { numRuns: 3_000 },
  );
});

test("only what is no UTF-8 needs digits", () => {
  expect(decodeChunk(Buffer.from("a\ufffd€\u{1f600}"), 5)).toEqual(textChunk("a\ufffd€\u{1f600}", 16));
  expect(decodeChunk(Uint8Array.of(0xe2, 0x82, 0x41, 0xff), 0)).toEqual({
    text: "\ufffdA\ufffd",
    start: 0,
    end: 4,
    replaced: "21",
  });
});
