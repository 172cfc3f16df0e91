import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeFolder } from "../../test/support/folders.ts";
import { subsetCff } from "./cff-subset.ts";
import { findGlyphs } from "./font-file.ts";
import { FONT_FILES } from "./fonts.ts";
import { rasterise } from "./glyphs.ts";
import { makePlain } from "./plain-font.ts";

// No package brings a font with such outlines: this is DejaVu with a table of squares in place of its own.
const [FILE = ""] = FONT_FILES;
const DEJAVU = readFileSync(FILE);
const TABLES = new Map(
  Array.from({ length: DEJAVU.readUInt16BE(4) }, (_, i) => {
    const entry = DEJAVU.subarray(12 + i * 16, 28 + i * 16);
    const [offset, length] = [entry.readUInt32BE(8), entry.readUInt32BE(12)];
    return [entry.toString("latin1", 0, 4), DEJAVU.subarray(offset, offset + length)] as const;
  }),
);
const GLYPHS = TABLES.get("maxp")?.readUInt16BE(4) ?? 0;

const number = (value: number) => [28, (value >> 8) & 0xff, value & 0xff];
const long = (value: number) => [29, ...[24, 16, 8, 0].map((bits) => (value >> bits) & 0xff)];
const index = (items: readonly (readonly number[])[]) => {
  if (items.length === 0) return [0, 0];
  const ends = [1];
  for (const { length } of items) ends.push((ends.at(-1) ?? 1) + length);
  const offsets = ends.flatMap((end) => [(end >> 16) & 0xff, (end >> 8) & 0xff, end & 0xff]);
  return [items.length >> 8, items.length & 0xff, 3, ...offsets, ...items.flat()];
};
/** A square whose sides a subroutine of the font's private part draws. */
const SQUARE = [...number(200), ...number(0), 21, ...number(-107), 10, 14];
const SIDES = [...number(900), 6, ...number(900), 7, ...number(-900), 6, 11];

/** Whose parts lie in another order than they are written again. */
function squares(isCid: boolean): Buffer {
  const privateDict = (subrs: number) => [...long(subrs), 19];
  const top = (at: Record<string, number>) => {
    const { charset = 0, glyphs = 0, own = 0, dicts = 0, select = 0 } = at;
    const cid = [...number(391), ...number(392), ...number(0), 12, 30];
    const font = isCid
      ? [...long(dicts), 12, 36, ...long(select), 12, 37]
      : [...long(privateDict(0).length), ...long(own), 18];
    return [...(isCid ? cid : []), ...long(charset), 15, ...long(glyphs), 17, ...font];
  };
  const head = (at: Record<string, number>) => [
    ...[1, 0, 4, 3],
    ...index([[...Buffer.from("Squares")]]),
    ...index([top(at)]),
    ...index([[...Buffer.from("Adobe")], [...Buffer.from("Identity")]]),
    ...index([]),
  ];
  const places: Record<string, number> = {};
  const bytes = head({});
  const add = (name: string, part: readonly number[]) => {
    places[name] = bytes.length;
    for (const byte of part) bytes.push(byte);
  };
  add("own", privateDict(privateDict(0).length + 3));
  add("gap", [9, 9, 9]);
  add("subrs", index([SIDES]));
  add("glyphs", index(Array.from({ length: GLYPHS }, () => SQUARE)));
  add("dicts", index([[...long(privateDict(0).length), ...long(places["own"] ?? 0), 18]]));
  add("charset", [2, 0, 1, (GLYPHS - 2) >> 8, (GLYPHS - 2) & 0xff]);
  add("select", [3, 0, 1, 0, 0, 0, GLYPHS >> 8, GLYPHS & 0xff]);
  return Buffer.from([...head(places), ...bytes.slice(head({}).length)]);
}

function fontOf(cff: Buffer): Buffer {
  const tables = [...TABLES].filter(([tag]) => !["glyf", "loca", "GSUB", "GPOS", "kern"].includes(tag));
  const all = [["CFF ", cff] as const, ...tables];
  const head = Buffer.alloc(12 + all.length * 16);
  head.write("OTTO", 0, "latin1");
  head.writeUInt16BE(all.length, 4);
  const parts: Buffer[] = [head];
  for (const [i, [tag, body]] of all.entries()) {
    head.write(tag, 12 + i * 16, "latin1");
    head.writeUInt32BE(
      parts.reduce((sum, part) => sum + part.length, 0),
      20 + i * 16,
    );
    head.writeUInt32BE(body.length, 24 + i * 16);
    parts.push(body);
  }
  return Buffer.concat(parts);
}

test.each([
  ["of one kind", false],
  ["of several", true],
])("a font %s draws what is kept as before, and nothing of the rest", (_, isCid) => {
  const folder = makeFolder();
  onTestFinished(() => folder.remove());
  const whole = fontOf(squares(isCid));
  const plain = makePlain(whole, new Set([0x41]));
  expect(plain.length).toBeLessThan(whole.length - GLYPHS * (SQUARE.length - 2));
  const draw = (name: string, font: Buffer, text: string) => {
    const file = join(folder.path, name);
    writeFileSync(file, font);
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><text y="16" font-family="DejaVu Sans Mono">${text}</text></svg>`;
    return rasterise(svg, { files: [file], findFamily: () => undefined }, 1).pixels;
  };
  const before = draw("whole.otf", whole, "A");
  expect(before.some((byte) => byte !== 0)).toBe(true);
  expect(Buffer.compare(draw("plain.otf", plain, "A"), before)).toBe(0);
  expect(draw("whole.otf", whole, "B").some((byte) => byte !== 0)).toBe(true);
  expect(draw("plain.otf", plain, "B").every((byte) => byte === 0)).toBe(true);
});

test("what is damaged or cut off ends in a RangeError, wherever that is", () => {
  const cff = squares(true);
  for (let at = 0; at < 200; at++) {
    const damaged = Buffer.from(cff);
    damaged.fill(0xff, at, at + 2);
    for (const input of [damaged, cff.subarray(0, at)]) {
      try {
        subsetCff(input, new Set([1]));
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
      }
    }
  }
});

test("glyphs are found by their characters", () => {
  const cmap = TABLES.get("cmap") ?? Buffer.alloc(0);
  const [one, both] = [findGlyphs(cmap, [0x41]), findGlyphs(cmap, [0x41, 0x42, 0x10fff0])];
  expect([one.size, both.size]).toEqual([1, 2]);
  expect(() => findGlyphs(cmap.subarray(0, 40), [0x41])).toThrow(RangeError);
});
