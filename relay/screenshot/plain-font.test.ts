import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeFolder } from "../../test/support/folders.ts";
import { findFont } from "./font-file.ts";
import { FONT_FILES } from "./fonts.ts";
import { rasterise } from "./glyphs.ts";
import { plainFontFile, subsetFont } from "./plain-font.ts";

const [FILE = ""] = FONT_FILES;
const codesOf = (text: string) => [...text].map((character) => character.codePointAt(0) ?? 0);

function draw(path: string, text: string): Buffer {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="60" height="20"><text y="16" font-family="DejaVu Sans Mono">${text}</text></svg>`;
  return Buffer.from(rasterise(svg, { files: [path], findFamily: () => undefined }, 1).pixels);
}

/** Two fonts in one file, as Noto CJK comes; their tables are the same. */
function collectionOf(font: Buffer): Buffer {
  const start = 20;
  const head = Buffer.alloc(start);
  head.write("ttcf");
  head.writeUInt32BE(0x10000, 4);
  head.writeUInt32BE(2, 8);
  head.writeUInt32BE(start, 12);
  head.writeUInt32BE(start, 16);
  const moved = Buffer.from(font);
  for (let i = 0; i < moved.readUInt16BE(4); i++) {
    moved.writeUInt32BE(moved.readUInt32BE(20 + i * 16) + start, 20 + i * 16);
  }
  return Buffer.concat([head, moved]);
}

test.each(["a font", "a collection"])("of %s the characters that are asked for stay, drawn alike", (kind) => {
  const folder = makeFolder();
  onTestFinished(() => folder.remove());
  const font = readFileSync(FILE);
  const whole = kind === "a font" ? font : collectionOf(font);
  const text = "A\u0416e\u0301";
  const plain = subsetFont(whole, codesOf(text));
  expect(plain.length).toBeLessThan(whole.length / 5);
  const file = join(folder.path, "plain.ttf");
  writeFileSync(file, plain);
  const [before, after] = [findFont(FILE), findFont(file)];
  expect(after?.family).toBe(before?.family);
  expect(codesOf("A\u0416B").map((code) => after?.has(code))).toEqual([true, true, false]);
  expect(Buffer.compare(draw(file, text), draw(FILE, text))).toBe(0);
  expect(draw(FILE, text).some((byte) => byte !== 0)).toBe(true);
});

test("what is small, no font or gone stays as it is", () => {
  for (const file of [FILE, import.meta.filename, "/nonexistent"])
    expect(plainFontFile(file, [65])).toBe(file);
});

test("what is no font, cut off or empty is refused", () => {
  for (const font of [
    readFileSync(import.meta.filename),
    readFileSync(FILE).subarray(0, 200),
    Buffer.alloc(0),
  ])
    expect(() => subsetFont(font, [65])).toThrow("no font, or damaged");
});
