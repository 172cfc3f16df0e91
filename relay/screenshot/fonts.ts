/** The fonts of a screenshot. They come with npm: containers have none. */
import { existsSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { lazy } from "../../shared/lazy.ts";
import { type Font, findFont } from "./font-file.ts";
import { plainFontFile } from "./plain-font.ts";

const { resolve } = createRequire(import.meta.url);

/** The first that has a character draws it. */
export const FONT_FILES: readonly string[] = [
  "dejavu-fonts-ttf/ttf/DejaVuSansMono.ttf",
  "dejavu-fonts-ttf/ttf/DejaVuSansMono-Bold.ttf",
  "dejavu-fonts-ttf/ttf/DejaVuSansMono-Oblique.ttf",
  "dejavu-fonts-ttf/ttf/DejaVuSansMono-BoldOblique.ttf",
  "dejavu-fonts-ttf/ttf/DejaVuSans.ttf",
  "@expo-google-fonts/noto-sans-symbols-2/400Regular/NotoSansSymbols2_400Regular.ttf",
  "@expo-google-fonts/noto-emoji/400Regular/NotoEmoji_400Regular.ttf",
].map((file) => resolve(file));

/** Where the system's fonts lie, on Linux and on macOS. */
const SYSTEM_FOLDERS = [
  "/usr/share/fonts",
  "/usr/local/share/fonts",
  join(homedir(), ".fonts"),
  join(homedir(), ".local/share/fonts"),
  "/Library/Fonts",
  "/System/Library/Fonts",
  join(homedir(), "Library/Fonts"),
];
const FONT_NAME = /\.(ttf|otf|ttc|otc)$/i;
const ODD_STYLE = /thin|light|medium|bold|black|heavy|italic|oblique|condensed|serif/i;
const MAX_SYSTEM_FILES = 1_000;
/** How many system fonts one picture uses at most: the rasteriser reads them whole. */
const MAX_SYSTEM_FONTS = 4;

const ownFonts = lazy(() => FONT_FILES.map(findFont).filter((font) => font !== undefined));
const systemFiles = lazy(listSystemFiles);
/** Each file of the system's is read once, when a character is looked for that none before it has. */
const read = new Map<string, Font | undefined>();

export interface Fonts {
  readonly files: readonly string[];
  /**
   * The family that draws this character; undefined if no font has it. The rasteriser must be asked for neither: it
   * would look through all fonts for each character by itself, which takes it a second for some hundreds.
   */
  findFamily(character: string): string | undefined;
}

/**
 * The fonts above, and those of the system's that these texts need besides (Chinese, Japanese, Korean, Thai, icons of
 * a patched font, …).
 */
export function chooseFonts(texts: Iterable<string>): Fonts {
  const fonts = [...ownFonts()];
  const files = fonts.map(({ file }) => file);
  const all = [...new Set(texts)];
  const isMissing = (code: number) => !fonts.some((font) => font.has(code));
  let missing = [...new Set(all.flatMap((text) => [...text].map(codeOf)))].filter(isMissing);
  for (const file of missing.length === 0 ? [] : systemFiles()) {
    if (missing.length === 0 || fonts.length >= ownFonts().length + MAX_SYSTEM_FONTS) break;
    const font = read.has(file) ? read.get(file) : findFont(file);
    read.set(file, font);
    if (!font || !missing.some((code) => font.has(code))) continue;
    fonts.push(font);
    // With the marks of its characters, which another font may have too.
    const codes = new Set(missing.filter((code) => font.has(code)));
    const drawn = all
      .map((text) => [...text].map(codeOf))
      .filter((text) => text.some((one) => codes.has(one)));
    files.push(plainFontFile(file, [...codes, ...drawn.flat()]));
    missing = missing.filter(isMissing);
  }
  return {
    files,
    findFamily: (character) => fonts.find((font) => font.has(codeOf(character)))?.family,
  };
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}

function listSystemFiles(): string[] {
  const files: string[] = [];
  for (const folder of SYSTEM_FOLDERS.filter((one) => existsSync(one))) {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (entry.isFile() && FONT_NAME.test(entry.name)) files.push(join(entry.parentPath, entry.name));
    }
  }
  return files.sort(compareFiles).slice(0, MAX_SYSTEM_FILES);
}

/** A text's own weight first: most families have a file for each. */
function compareFiles(a: string, b: string): number {
  const isOdd = (file: string) => Number(ODD_STYLE.test(basename(file)));
  return isOdd(a) - isOdd(b) || (a < b ? -1 : 1);
}
