import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeFolder } from "../../test/support/folders.ts";
import { findFont } from "./font-file.ts";
import { FONT_FILES } from "./fonts.ts";
import { rasterise } from "./glyphs.ts";
import { isEnoughFor, makePlain, plainFontFile } from "./plain-font.ts";

const [FILE = ""] = FONT_FILES;

test("a plain font has the same characters and draws them alike, without what joins letters", () => {
  const folder = makeFolder();
  onTestFinished(() => folder.remove());
  const whole = readFileSync(FILE);
  const plain = makePlain(whole, new Set());
  expect(whole.includes("GSUB")).toBe(true);
  expect(plain.includes("GSUB")).toBe(false);
  const file = join(folder.path, "plain.ttf");
  writeFileSync(file, plain);
  const [before, after] = [findFont(FILE), findFont(file)];
  expect(after?.family).toBe(before?.family);
  for (const code of [0x41, 0x416, 0x4e00]) expect(after?.has(code)).toBe(before?.has(code));
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><text y="16" font-family="DejaVu Sans Mono">A\u0416</text></svg>`;
  const draw = (path: string) => rasterise(svg, { files: [path], findFamily: () => undefined }, 1).pixels;
  expect(Buffer.compare(draw(file), draw(FILE))).toBe(0);
  expect(draw(FILE).some((byte) => byte !== 0)).toBe(true);
});

test("it is taken for characters that are one glyph each, and for no others", () => {
  expect(isEnoughFor(["\u4e2d", "\u3042", "\u30ab", "\ud55c", "\u3002", "\u{20000}"])).toBe(true);
  for (const text of ["\u304b\u3099", "\u0e01\u0e34", "\u0628", "\u0915\u094d", "a"]) {
    expect(isEnoughFor(["\u4e2d", text])).toBe(false);
  }
});

test("what is small, no font or gone stays as it is", () => {
  for (const file of [FILE, import.meta.filename, "/nonexistent"])
    expect(plainFontFile(file, [65])).toBe(file);
  expect(() => makePlain(readFileSync(FILE).subarray(0, 5_000), new Set())).toThrow(RangeError);
});
