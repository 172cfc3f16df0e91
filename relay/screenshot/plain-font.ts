/** A font without what only scripts with joined or stacked letters need: the rasteriser reads it anew for each text. */
import { randomBytes } from "node:crypto";
import { closeSync, openSync, readFileSync, statSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { subsetCff } from "./cff-subset.ts";
import { findGlyphs } from "./font-file.ts";

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

/** More than one picture has: then the next one's font has its own characters alone. */
const MAX_CODES = 4_000;
interface Made {
  path: string;
  /** Undefined if it is the file itself. */
  fd?: number;
  codes: ReadonlySet<number>;
}
const made = new Map<string, Made>();

/**
 * The path of such a font; the file itself if it is small, or can't be made plain. It lives until one with more
 * characters is made, or as long as this process.
 * @param codes the characters that are drawn with it
 */
export function plainFontFile(file: string, codes: readonly number[]): string {
  const known = made.get(file);
  if (known && (known.fd === undefined || codes.every((code) => known.codes.has(code)))) return known.path;
  const all = new Set([...(known?.codes ?? []), ...codes]);
  const fresh = make(file, all.size <= MAX_CODES ? all : new Set(codes));
  if (known?.fd !== undefined) closeSync(known.fd);
  made.set(file, fresh);
  return fresh.path;
}

function make(file: string, codes: ReadonlySet<number>): Made {
  try {
    const { size } = statSync(file);
    if (process.platform !== "linux" || size < MIN_BYTES || size > MAX_BYTES) return { path: file, codes };
    const fd = keepUnnamed(makePlain(readFileSync(file), codes));
    return { path: `/proc/self/fd/${fd}`, fd, codes };
  } catch {
    return { path: file, codes }; // damaged, or no room for it: the rasteriser takes the file as it is
  }
}

/**
 * Of a collection, its first font.
 * @param codes of a font whose outlines are a `CFF ` table only those of these characters are kept
 * @throws RangeError if it is cut off
 */
export function makePlain(font: Buffer, codes: ReadonlySet<number>): Buffer {
  const start = font.toString("latin1", 0, 4) === "ttcf" ? font.readUInt32BE(12) : 0;
  const count = Math.min(MAX_TABLES, font.readUInt16BE(start + 4));
  const tables = Array.from({ length: count }, (_, i) => {
    const entry = font.subarray(start + 12 + i * 16, start + 28 + i * 16);
    const [offset, length] = [entry.readUInt32BE(8), entry.readUInt32BE(12)];
    if (offset + length > font.length) throw new RangeError("the file is cut off");
    return { tag: entry.toString("latin1", 0, 4), entry, body: font.subarray(offset, offset + length) };
  });
  const kept = tables.filter(({ tag }) => TABLES.includes(tag));
  const cmap = kept.find(({ tag }) => tag === "cmap")?.body;
  const head = Buffer.alloc(12 + kept.length * 16);
  font.copy(head, 0, start, start + 4);
  head.writeUInt16BE(kept.length, 4);
  const parts = [head];
  let position = head.length;
  for (const [i, { tag, entry, body: whole }] of kept.entries()) {
    const body = tag === "CFF " && cmap ? outlinesOf(whole, cmap, codes) : whole;
    if (position > MAX_BYTES) throw new RangeError("too large");
    const at = 12 + i * 16;
    entry.copy(head, at);
    head.writeUInt32BE(position, at + 8);
    head.writeUInt32BE(body.length, at + 12);
    const table = Buffer.alloc(Math.ceil(body.length / 4) * 4);
    body.copy(table);
    parts.push(table);
    position += table.length;
  }
  return Buffer.concat(parts);
}

/** All of them if it is of a kind that is not known. */
function outlinesOf(cff: Buffer, cmap: Buffer, codes: ReadonlySet<number>): Buffer {
  try {
    return subsetCff(cff, findGlyphs(cmap, codes));
  } catch (error) {
    if (error instanceof RangeError) return cff;
    throw error;
  }
}

/** A file that has no name any more: it goes with this process, however that ends. */
function keepUnnamed(bytes: Buffer): number {
  const file = join(tmpdir(), `threadmux-font-${randomBytes(12).toString("hex")}`);
  const fd = openSync(file, "wx+", 0o600);
  try {
    unlinkSync(file);
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return fd;
}
