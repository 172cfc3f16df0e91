/** A file of ours that grows, copied as it grows into a place where agents work. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { ProjectionFolder } from "./projection-folder.ts";

/** In one look. No line of a transcript is as long. */
const MAX_STEP_BYTES = 2 * 1024 * 1024;
/** A copy that would be larger is begun anew with what comes next. */
export const MAX_COPY_BYTES = 16 * 1024 * 1024;
const NEWLINE = 0x0a;

export interface Grown {
  /** How far the source was read. */
  source: number;
  /** The size of the copy. */
  size: number;
}

export interface CopyOptions {
  source: string;
  /** The end of the part of the source that counts; without it all of it counts. */
  end?: number;
  /** How far the copy had come before. */
  before: Grown | undefined;
  /** Changes a line, which it is given without its end. */
  change?: (line: string) => string;
}

/** @returns how far it is now, whether that is all, and how many bytes were written */
export function copyGrown(
  place: ProjectionFolder,
  name: string,
  { source, end, before, change }: CopyOptions,
): { now: Grown; isWhole: boolean; bytes: number } {
  const fd = openIfThere(source);
  if (fd === undefined) return { now: { source: 0, size: 0 }, isWhole: true, bytes: 0 };
  try {
    const until = Math.min(end ?? Number.MAX_SAFE_INTEGER, fstatSync(fd).size);
    // A runner that was killed writes the newest part of transcript.md anew.
    const isSame = before !== undefined && before.source <= until;
    const from = isSame ? before.source : Math.max(0, until - MAX_COPY_BYTES / 2);
    const read = readLines(fd, { from, until, isMidLine: !isSame && from > 0 });
    const data = change ? Buffer.from(changed(read.bytes, change)) : read.bytes;
    const isWhole = read.position >= until || read.bytes.length === 0;
    const isFull = isSame && before.size + data.length > MAX_COPY_BYTES;
    if (isSame && !isFull && data.length === 0) return { now: before, isWhole, bytes: 0 };
    if (isSame && !isFull && place.append(name, data, before.size))
      return { now: { source: read.position, size: before.size + data.length }, isWhole, bytes: data.length };
    // Another file lies there: the copy is begun anew, with all that it may hold.
    if (isSame && !isFull) return copyGrown(place, name, { source, before: undefined, ...more(end, change) });
    place.write(name, data);
    return { now: { source: read.position, size: data.length }, isWhole, bytes: data.length };
  } finally {
    closeSync(fd);
  }
}

function more(end: number | undefined, change: CopyOptions["change"]) {
  return { ...(end !== undefined && { end }), ...(change && { change }) };
}

/** Whole lines alone. */
function readLines(
  fd: number,
  { from, until, isMidLine }: { from: number; until: number; isMidLine: boolean },
): { bytes: Buffer; position: number } {
  const bytes = Buffer.alloc(Math.min(MAX_STEP_BYTES, until - from));
  const length = readSync(fd, bytes, 0, bytes.length, from);
  const last = bytes.lastIndexOf(NEWLINE, length - 1) + 1;
  if (last === 0)
    return { bytes: bytes.subarray(0, 0), position: length === MAX_STEP_BYTES ? from + length : from };
  const first = isMidLine ? bytes.indexOf(NEWLINE) + 1 : 0;
  return { bytes: bytes.subarray(first, last), position: from + last };
}

function changed(bytes: Buffer, change: (line: string) => string): string {
  const lines = bytes.toString("utf8").split("\n");
  return lines.map((line) => (line === "" ? line : change(line))).join("\n");
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
