import fc from "fast-check";
import { expect, test } from "vitest";
import { cleanLine } from "../shared/clean-text.ts";
import { formatDuration, formatTable, truncate, widthOf } from "./table.ts";

test("widths are a terminal's", () => {
  expect(widthOf("abc")).toBe(3);
  expect(widthOf("漢字🎉")).toBe(6);
  expect(widthOf("e\u0301")).toBe(1);
  expect(truncate("漢字漢字", 4)).toBe("漢…");
  expect(truncate("abc", 3)).toBe("abc");
});

test("the last columns shrink first; those without a minimum stay whole", () => {
  const columns = [{ title: "ID" }, { title: "DIR", minWidth: 3 }, { title: "COMMAND", minWidth: 7 }];
  const rows = [["thread-1", "a/long/directory", "a long command line"]];
  expect(formatTable(columns, rows, 40)).toEqual([
    "ID        DIR               COMMAND",
    "thread-1  a/long/directory  a long comm…",
  ]);
  expect(formatTable(columns, rows, 22)).toEqual(["ID        DIR  COMMAND", "thread-1  a/…  a long…"]);
});

test("no line is wider than it may be", () => {
  const cell = fc.string({ unit: "grapheme", maxLength: 40 }).map(cleanLine);
  fc.assert(
    fc.property(fc.array(fc.tuple(cell, cell, cell)), fc.integer({ min: 1, max: 100 }), (rows, width) => {
      const columns = [{ title: "A" }, { title: "B", minWidth: 4 }, { title: "C", minWidth: 2 }];
      for (const line of formatTable(columns, rows, width)) expect(widthOf(line)).toBeLessThanOrEqual(width);
    }),
  );
});

test.each([
  [-5, "0s"],
  [59_999, "59s"],
  [60_000, "1m"],
  [3_600_000 * 3 + 300_000, "3h05m"],
  [86_400_000 * 12, "12d"],
])("%i ms are %s", (ms, expected) => {
  expect(formatDuration(ms)).toBe(expected);
});
