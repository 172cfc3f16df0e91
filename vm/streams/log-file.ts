/** A thread's log: the raw bytes that its pane printed, read by offset. tmux's sink is the only writer. */
import { closeSync, fsyncSync, openSync, readSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { basename } from "node:path";
import { type Chunk, decodeChunk } from "../../shared/chunk.ts";
import { AppError } from "../../shared/errors.ts";
import { READ, readBytes } from "./growing-file.ts";

const COPY_BYTES = 1024 * 1024;

export interface LogSlice {
  /** Whole characters, with their place in the file. */
  chunk: Chunk;
  /** The log's end at the time of reading. */
  end: number;
  /** Whether another read would give more at once; the start of a character alone is not more. */
  hasMore: boolean;
}

/** Makes the empty file that the sink appends to, readable by nobody else. */
export function makeLog(file: string): void {
  clearPlace(file);
  closeSync(openSync(file, "w", 0o600));
}

/**
 * What stands in a log's place and is no file is moved aside, never deleted: somebody has put it there.
 */
export function clearPlace(file: string): void {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat && !stat.isFile()) renameSync(file, `${file}.aside.${stat.ino}`);
}

export function removeLog(file: string): void {
  clearPlace(file);
  rmSync(file, { force: true });
}

export interface LogSize {
  end: number;
  diskBytes: number;
  /** 0 if there is nothing. */
  inode: number;
  isFile: boolean;
  /** When it was written last, in milliseconds since 1970; 0 if it is no file. */
  modifiedAt: number;
}

/** Its length and what it takes on disk; a log that is not there, or is no file, is empty. */
export function sizeOfLog(file: string): LogSize {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) return { end: 0, diskBytes: 0, inode: 0, isFile: false, modifiedAt: 0 };
  if (!stat.isFile()) return { end: 0, diskBytes: 0, inode: stat.ino, isFile: false, modifiedAt: 0 };
  return {
    end: stat.size,
    diskBytes: stat.blocks * 512,
    inode: stat.ino,
    isFile: true,
    modifiedAt: stat.mtimeMs,
  };
}

/** @throws AppError `unavailable` if something else is in the log's place. */
export function sizeOfReadableLog(file: string): LogSize {
  const size = sizeOfLog(file);
  if (size.inode === 0 || size.isFile) return size;
  const name = `logs/${basename(file)}`;
  throw new AppError("unavailable", `${name} in the state folder is no file: move it away.`);
}

/**
 * Reads at most `limit` bytes from `since`, but at least one character. A character that is not whole yet is left
 * for later, unless `isComplete` says that nothing more will come. A log that is not there is empty.
 */
export async function readLog(
  file: string,
  { since, limit, isComplete }: { since: number; limit: number; isComplete: boolean },
): Promise<LogSlice> {
  const { end } = sizeOfReadableLog(file);
  const wanted = Math.max(0, Math.min(Math.max(limit, 4), end - since));
  const bytes = await readBytes(file, { position: since, length: wanted, end });
  const isTail = since + bytes.length === end;
  const ready = isTail && isComplete ? bytes.length : bytes.length - countUnfinished(bytes);
  const whole = ready <= limit ? ready : wholeWithin(bytes.subarray(0, ready), limit);
  const hasMore = whole < ready || !isTail;
  return { chunk: decodeChunk(bytes.subarray(0, whole), since), end, hasMore };
}

/** The last `bytes` of a log as text, for a summary. */
export function readLogTail(file: string, bytes: number): string {
  const { end } = sizeOfLog(file);
  const buffer = Buffer.alloc(Math.min(end, bytes));
  if (buffer.length === 0) return "";
  const fd = openSync(file, READ);
  try {
    const length = readSync(fd, buffer, 0, buffer.length, end - buffer.length);
    return buffer.toString("utf8", 0, length);
  } finally {
    closeSync(fd);
  }
}

/** Where a line begins at or soon after `offset`; if none does, the next whole character. */
export function findLineStart(file: string, offset: number): number {
  const buffer = Buffer.alloc(64 * 1024);
  const fd = openSync(file, READ);
  try {
    const length = readSync(fd, buffer, 0, buffer.length, offset);
    const newline = buffer.subarray(0, length).indexOf(10);
    if (newline !== -1) return offset + newline + 1;
    let skipped = 0;
    while (skipped < Math.min(3, length) && ((buffer[skipped] ?? 0) & 0b1100_0000) === 0b1000_0000) skipped++;
    return offset + skipped;
  } finally {
    closeSync(fd);
  }
}

/** The target is there once it is whole; a copy that was cut off has another name. */
export function copyWhole(source: string, start: number, target: string): void {
  const part = `${target}.part`;
  try {
    copyFrom(source, start, part);
    renameSync(part, target);
  } catch (error) {
    rmSync(part, { force: true }); // if the disk is full, it would stay so
    throw error;
  }
}

export function copyFrom(source: string, start: number, target: string, flags: "w" | "a" = "w"): void {
  const from = openSync(source, READ);
  const to = openSync(target, flags, 0o600);
  try {
    const buffer = Buffer.alloc(COPY_BYTES);
    for (let position = start; ; ) {
      const length = readSync(from, buffer, 0, buffer.length, position);
      if (length === 0) break;
      position += writeSync(to, buffer, 0, length); // fewer if the disk is about to be full
    }
    fsyncSync(to);
  } finally {
    closeSync(from);
    closeSync(to);
  }
}

/** How many of `bytes` are whole characters within `limit`; if the first is longer, it is taken whole. */
function wholeWithin(bytes: Uint8Array, limit: number): number {
  const whole = limit - countUnfinished(bytes.subarray(0, limit));
  if (whole > 0) return whole;
  let length = limit;
  while (length < bytes.length && countUnfinished(bytes.subarray(0, length)) > 0) length += 1;
  return length;
}

/** How many bytes at the end are the start of a UTF-8 character whose rest is missing: 0 to 3. */
export function countUnfinished(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue;
    const length =
      byte >= 0xf0 && byte <= 0xf4
        ? 4
        : byte >= 0xe0 && byte < 0xf0
          ? 3
          : byte >= 0xc2 && byte < 0xe0
            ? 2
            : 1;
    return length > back ? back : 0;
  }
  return 0;
}
