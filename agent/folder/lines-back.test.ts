import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { makeFolder } from "../../test/support/folders.ts";
import { LineFile } from "./line-file.ts";
import { linesBack } from "./lines-back.ts";

const folder = makeFolder();
afterAll(() => folder.remove());
const file = join(folder.path, "lines");
const MAX = 3 * 1024 * 1024;

test.each([
  ["no line", ""],
  ["one that is not whole", "torn"],
  ["one", "a\n"],
  ["empty ones, and others", "\n\na\n\nbé\u2028c\n"],
  ["some and a torn one", "a\nb\nc"],
  ["lines that end where a chunk does", `${"x".repeat(1024 * 1024 - 1)}\n${"y".repeat(1024 * 1024 - 1)}\n`],
  ["lines over several chunks", `a\n${"x".repeat(2_500_000)}\nb\n${"é".repeat(1_100_000)}\nc\n`],
  ["many", Array.from({ length: 50_000 }, (_, i) => `line ${i} ${"z".repeat(i % 97)}\n`).join("")],
])("the lines of a file with %s are those that are read from its beginning", (_, text) => {
  writeFileSync(file, text);
  const reader = new LineFile(file, 0, MAX, true);
  const forth = [];
  for (let lines = reader.read(); lines.length > 0; lines = reader.read()) forth.push(...lines);
  reader.close();
  expect([...linesBack(file, MAX)].reverse()).toEqual(forth);
});

test("a line that is too long is left out, and a file that is not there has none", () => {
  writeFileSync(file, `a\n${"x".repeat(3 * 1024 * 1024)}\nb\n`);
  expect([...linesBack(file, 1024 * 1024)].map(({ byte, text }) => [byte, text])).toEqual([
    [3 * 1024 * 1024 + 3, "b"],
    [0, "a"],
  ]);
  expect([...linesBack(join(folder.path, "none"), MAX)]).toEqual([]);
});
