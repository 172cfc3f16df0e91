import fc from "fast-check";
import { expect, test } from "vitest";
import { CommandOutput } from "./command-output.ts";

const HEAD = 16 * 1024;
const TAIL = 256 * 1024;

test("whatever the pieces, the ends and each offset give what was printed there", () => {
  const pieces = fc.array(fc.nat({ max: 200_000 }), { maxLength: 12 });
  fc.assert(
    fc.property(pieces, fc.array(fc.nat({ max: 1_500_000 }), { maxLength: 5 }), (lengths, offsets) => {
      const output = new CommandOutput();
      let all = "";
      for (const [at, length] of lengths.entries()) {
        const piece = String.fromCharCode(97 + at).repeat(length);
        all += piece;
        output.push(Buffer.from(piece));
      }
      expect(output.bytes).toBe(all.length);
      const { head, leftOut, tail } = output.ends(32 * 1024);
      expect(all.startsWith(head.toString()) && all.endsWith(tail.toString())).toBe(true);
      expect(head.length + leftOut + tail.length).toBe(all.length);
      expect(head.length + tail.length).toBeLessThanOrEqual(32 * 1024);
      for (const offset of offsets) {
        const { data, start, next } = output.from(offset, 1_000);
        expect(data.toString()).toBe(all.slice(start, next));
        if (start > offset) expect([offset >= HEAD, start]).toEqual([true, all.length - TAIL]);
        if (offset < all.length) expect(data.length).toBeGreaterThan(0);
      }
    }),
    { numRuns: 50 },
  );
});

test("a program that prints bytes one by one costs no more than its bytes", () => {
  const output = new CommandOutput();
  for (let at = 0; at < 300_000; at++) output.push(Buffer.from([97 + (at % 26)]));
  expect(output.from(299_990, 100).data.toString()).toHaveLength(10);
});

test("the ends are cut at lines if they have some, and never inside a character", () => {
  const output = new CommandOutput();
  output.push(Buffer.from("é".repeat(60_000)));
  const { head, tail } = output.ends(20_001);
  expect([head.toString(), tail.toString()].map((text) => text.replaceAll("é", ""))).toEqual(["", ""]);
});
