import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { drawScreen } from "./canvas.ts";
import { findFont } from "./font-file.ts";
import { chooseFonts, FONT_FILES } from "./fonts.ts";
import { type Grid, parseGrid } from "./grid.ts";
import { fullestScreens } from "./testing/fullest.ts";

/** No font has these: they are kept for private use. */
const UNKNOWN = "\u{10fff0}\u{10fff1}";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "fonts-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

it("knows a font's family and which characters it has", () => {
  const [mono, , , , sans, , emoji] = FONT_FILES.map((file) => findFont(file));
  expect(mono?.family).toBe("DejaVu Sans Mono");
  expect(sans?.family).toBe("DejaVu Sans");
  expect(emoji?.family).toBe("Noto Emoji");
  const whichHave = (character: string) =>
    [mono, sans, emoji].map((font) => font?.has(character.codePointAt(0) ?? 0));
  expect(whichHave("a")).toEqual([true, true, false]);
  expect(whichHave("ა")).toEqual([true, true, false]);
  expect(whichHave("🎉")).toEqual([false, false, true]);
  expect(whichHave("א")).toEqual([false, true, false]);
  expect(whichHave("中")).toEqual([false, false, false]);
  expect(whichHave(UNKNOWN)).toEqual([false, false, false]);
});

it("takes what is damaged, cut off, or no font for none", () => {
  const file = join(folder, "font.ttf");
  const whole = readFileSync(FONT_FILES[0] ?? "");
  for (let length = 0; length < 3_000; length += 7) {
    writeFileSync(file, whole.subarray(0, length));
    expect(findFont(file)).toBeUndefined();
  }
  for (let at = 0; at < 400; at += 3) {
    const damaged = Buffer.from(whole);
    damaged.fill(0xff, at, at + 4);
    writeFileSync(file, damaged);
    findFont(file); // whatever it finds, it comes back
  }
  truncateSync(file, 0);
  expect([findFont(file), findFont(folder), findFont(join(folder, "none"))]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

it("waits for no FIFO, and takes no file that no memory holds", () => {
  const fifo = join(folder, "a.ttf");
  const loop = join(folder, "b.ttf");
  const odd = join(folder, "c\n.ttf");
  const large = join(folder, "d.ttf");
  execFileSync("mkfifo", [fifo]);
  symlinkSync(loop, loop);
  writeFileSync(odd, readFileSync(FONT_FILES[0] ?? ""));
  writeFileSync(large, readFileSync(FONT_FILES[0] ?? ""));
  truncateSync(large, 10 * 1024 ** 3);
  expect([fifo, loop, odd, large].map((file) => findFont(file)?.family)).toEqual([
    undefined,
    undefined,
    "DejaVu Sans Mono",
    undefined,
  ]);
});

it("names a font for each character, and none for what no font has", () => {
  const fonts = chooseFonts(["aé", "א🎉", UNKNOWN]);
  expect(fonts.files).toEqual(FONT_FILES);
  expect([..."aא🎉"].map((character) => fonts.findFamily(character))).toEqual([
    "DejaVu Sans Mono",
    "DejaVu Sans",
    "Noto Emoji",
  ]);
  expect(fonts.findFamily(UNKNOWN)).toBeUndefined();
});

// Promise: S22
it("is never left to search for what no font has: hundreds of such characters cost no more than letters", async () => {
  const screens = new Map(fullestScreens());
  const cpuMs = (grid: Grid) => {
    const before = process.cpuUsage();
    drawScreen(grid, "", 1);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  const [letters, unknown] = await Promise.all(
    ["letters", "unknown"].map(async (name) => {
      const screen = screens.get(name);
      if (!screen) throw new Error(`no screen ${name}`);
      const grid = await parseGrid(screen);
      cpuMs(grid); // what the first call of anything costs
      return Math.min(cpuMs(grid), cpuMs(grid));
    }),
  );
  expect(unknown ?? 0).toBeLessThan(3 * (letters ?? 0));
});
