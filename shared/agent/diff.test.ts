import fc from "fast-check";
import { expect, test } from "vitest";
import { cpuMsOf } from "../../test/support/measure.ts";
import { diffLines } from "./diff.ts";

const show = (before: string, after: string) =>
  diffLines(before, after).map(({ sign, text }) => `${sign}${text}`);

function changesIn(before: string, after: string): { added: number; removed: number } {
  const signs = diffLines(before, after).map(({ sign }) => sign);
  const count = (wanted: string) => signs.filter((sign) => sign === wanted).length;
  return { added: count("+"), removed: count("-") };
}

test.each([
  ["", "a\nb\n", ["+a", "+b"]],
  ["a\nb\nc", "a\nX\nc", [" a", "-b", "+X", " c"]],
  ["1\n2\n3\n4\n5\n6\n7\n8\n9", "1\n2\n3\n4\n5\n6\n7\n8\nX", ["…5 lines", " 6", " 7", " 8", "-9", "+X"]],
  ["same", "same", ["…1 line"]],
])("%j → %j", (before, after, expected) => {
  expect(show(before, after)).toEqual(expected);
});

test("taking the lines that went and adding those that came gives the new text", () => {
  const text = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 12 }).map((lines) => lines.join("\n"));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const { added, removed } = changesIn(before, after);
      const count = (lines: string) => (lines === "" ? 0 : lines.replace(/\n$/, "").split("\n").length);
      expect(count(before) - removed + added).toBe(count(after));
    }),
  );
});

test("two texts of 60,000 lines that have nothing in common cost little", async () => {
  const lines = (mark: string) => Array.from({ length: 60_000 }, (_, i) => `${mark}${i}`).join("\n");
  const [before, after] = [lines("a"), lines("b")];
  const compare = () => expect(changesIn(before, after)).toEqual({ added: 60_000, removed: 60_000 });
  expect(await cpuMsOf(compare)).toBeLessThan(2_000);
});
