/** A font without what only scripts with joined or stacked letters need: the rasteriser reads it anew for each text. */
import { randomBytes } from "node:crypto";
import { closeSync, openSync, readFileSync, statSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Of a smaller one the rasteriser makes no trouble. */
const MIN_BYTES = 2 * 1024 * 1024;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_TABLES = 200;
/** What names a font, and finds, measures and draws a glyph. */
const TABLES = [
  "cmap",
  "CFF ",
  "CFF2",
  "glyf",
  "loca",
  "head",
  "hhea",
  "hmtx",
  "maxp",
  "name",
  "OS/2",
  "post",
];
/** Chinese, Japanese and Korean: each character is one glyph, whatever stands beside it. */
const ONE_GLYPH =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u{ac00}-\u{d7a3}\u{3000}-\u{303f}]$/u;

/** @param texts what is to be drawn with it, a character each with its marks. */
export function isEnoughFor(texts: readonly string[]): boolean {
  return texts.every((text) => ONE_GLYPH.test(text));
}

const made = new Map<string, string>();

/** The path of such a font; the file itself if it is small, or can't be made plain. It lives as long as this process. */
export function plainFontFile(file: string): string {
  const known = made.get(file);
  if (known !== undefined) return known;
  let path = file;
  try {
    const { size } = statSync(file);
    if (process.platform === "linux" && size >= MIN_BYTES && size <= MAX_BYTES)
      path = keepUnnamed(makePlain(readFileSync(file)));
  } catch {
    // Damaged, or no room for it: the rasteriser takes the file as it is.
  }
  made.set(file, path);
  return path;
}

/** Of a collection, its first font. @throws RangeError if it is cut off */
export function makePlain(font: Buffer): Buffer {
  const start = font.toString("latin1", 0, 4) === "ttcf" ? font.readUInt32BE(12) : 0;
  const count = Math.min(MAX_TABLES, font.readUInt16BE(start + 4));
  const entries = Array.from({ length: count }, (_, i) =>
    font.subarray(start + 12 + i * 16, start + 28 + i * 16),
  );
  const kept = entries.filter((entry) => TABLES.includes(entry.toString("latin1", 0, 4)));
  const head = Buffer.alloc(12 + kept.length * 16);
  font.copy(head, 0, start, start + 4);
  head.writeUInt16BE(kept.length, 4);
  const parts = [head];
  let position = head.length;
  for (const [i, entry] of kept.entries()) {
    const [offset, length] = [entry.readUInt32BE(8), entry.readUInt32BE(12)];
    if (offset + length > font.length || position > MAX_BYTES) throw new RangeError("the file is cut off");
    const at = 12 + i * 16;
    entry.copy(head, at);
    head.writeUInt32BE(position, at + 8);
    const table = Buffer.alloc(Math.ceil(length / 4) * 4);
    font.copy(table, 0, offset, offset + length);
    parts.push(table);
    position += table.length;
  }
  return Buffer.concat(parts);
}

/** A file that has no name any more: it goes with this process, however that ends. */
function keepUnnamed(bytes: Buffer): string {
  const file = join(tmpdir(), `threadmux-font-${randomBytes(12).toString("hex")}`);
  const fd = openSync(file, "wx+", 0o600);
  try {
    unlinkSync(file);
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return `/proc/self/fd/${fd}`;
}
