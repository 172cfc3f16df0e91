/** What a font file says of itself: its family, and which characters it has. TrueType and OpenType; no glyph is read. */
import { closeSync, fstatSync, readSync } from "node:fs";
import { openRegular, UnfitFile } from "../../shared/regular-file.ts";

export interface Font {
  readonly file: string;
  readonly family: string;
  has(code: number): boolean;
}

/** First and last of the characters without a gap, in rising order. */
type Range = readonly [first: number, last: number];

/** The rasteriser reads a font whole. The largest that people have are collections of 150 MB. */
const MAX_FILE_BYTES = 256 * 1024 * 1024;
const MAX_TABLE_BYTES = 4 * 1024 * 1024;
const MAX_TABLES = 200;
/** Platform and encoding of tables with characters beyond 16 bits, then of those without. */
const WIDE = ["3.10", "0.6", "0.4"];
const NARROW = ["3.1", "0.3", "0.2", "0.1", "0.0"];
const FAMILY = 1;
const TYPOGRAPHIC_FAMILY = 16;

/** Finds the file's font, in a collection the first one. Undefined if it is damaged, or none that we read. */
export function findFont(file: string): Font | undefined {
  let fd: number | undefined;
  try {
    fd = openRegular(file);
    if (fstatSync(fd).size > MAX_FILE_BYTES) return undefined;
    const tables = readTables(fd);
    const ranges = readRanges(tables("cmap"));
    const family = readFamily(tables("name"));
    return family === undefined || ranges.length === 0
      ? undefined
      : { file, family, has: (code) => isWithin(ranges, code) };
  } catch (error) {
    const isDamaged = error instanceof RangeError || error instanceof UnfitFile;
    if (isDamaged || (error as NodeJS.ErrnoException).code !== undefined) return undefined; // can't be read
    throw error;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function readTables(fd: number): (tag: string) => Buffer {
  const head = readAt(fd, 0, 16);
  const start = head.toString("latin1", 0, 4) === "ttcf" ? head.readUInt32BE(12) : 0;
  const count = Math.min(MAX_TABLES, readAt(fd, start, 6).readUInt16BE(4));
  const directory = readAt(fd, start + 12, count * 16);
  return (tag) => {
    for (let at = 0; at < directory.length; at += 16) {
      if (directory.toString("latin1", at, at + 4) !== tag) continue;
      return readAt(fd, directory.readUInt32BE(at + 8), directory.readUInt32BE(at + 12));
    }
    throw new RangeError(`no table ${tag}`);
  };
}

function readAt(fd: number, position: number, length: number): Buffer {
  if (length > MAX_TABLE_BYTES) throw new RangeError("too long");
  const buffer = Buffer.alloc(length);
  if (readSync(fd, buffer, 0, length, position) < length) throw new RangeError("the file is cut off");
  return buffer;
}

function readRanges(cmap: Buffer): Range[] {
  const offsets = new Map<string, number>();
  for (let i = 0; i < cmap.readUInt16BE(2); i++) {
    const at = 4 + i * 8;
    offsets.set(`${cmap.readUInt16BE(at)}.${cmap.readUInt16BE(at + 2)}`, cmap.readUInt32BE(at + 4));
  }
  for (const kind of [...WIDE, ...NARROW]) {
    const offset = offsets.get(kind);
    if (offset === undefined) continue;
    const format = cmap.readUInt16BE(offset);
    if (format === 12) return readGroups(cmap.subarray(offset));
    if (format === 4) return readSegments(cmap.subarray(offset));
  }
  return [];
}

/** Format 12. */
function readGroups(table: Buffer): Range[] {
  return Array.from({ length: table.readUInt32BE(12) }, (_, i) => {
    const at = 16 + i * 12;
    return [table.readUInt32BE(at), table.readUInt32BE(at + 4)] as const;
  });
}

/** Format 4. */
function readSegments(table: Buffer): Range[] {
  const ranges: Range[] = [];
  const size = table.readUInt16BE(6); // twice the count
  for (let i = 0; i < size; i += 2) {
    const last = table.readUInt16BE(14 + i);
    const first = table.readUInt16BE(16 + size + i);
    if (first > last || first === 0xffff) continue;
    const offsetAt = 16 + 3 * size + i;
    const offset = table.readUInt16BE(offsetAt);
    if (offset === 0) {
      ranges.push([first, last]);
      continue;
    }
    // A character may have no glyph although a segment holds it.
    for (let code = first; code <= last; code++) {
      if (table.readUInt16BE(offsetAt + offset + 2 * (code - first)) !== 0) ranges.push([code, code]);
    }
  }
  return ranges;
}

/** The name by which the rasteriser knows it. */
function readFamily(name: Buffer): string | undefined {
  const storage = name.readUInt16BE(4);
  const found = new Map<number, string>();
  for (let i = 0; i < name.readUInt16BE(2); i++) {
    const at = 6 + i * 12;
    const [platform, id] = [name.readUInt16BE(at), name.readUInt16BE(at + 6)];
    if (platform !== 3 || found.has(id)) continue;
    const start = storage + name.readUInt16BE(at + 10);
    const text = Buffer.from(name.subarray(start, start + name.readUInt16BE(at + 8)));
    found.set(id, text.swap16().toString("utf16le"));
  }
  return found.get(TYPOGRAPHIC_FAMILY) ?? found.get(FAMILY);
}

function isWithin(ranges: readonly Range[], code: number): boolean {
  let [low, high] = [0, ranges.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const [first, last] = ranges[middle] as Range;
    if (code < first) high = middle - 1;
    else if (code > last) low = middle + 1;
    else return true;
  }
  return false;
}
