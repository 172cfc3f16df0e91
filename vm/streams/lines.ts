/** Reading the whole lines of a file that grows. */
import { closeSync, openSync, readSync } from "node:fs";
import { type Line, splitLines } from "../../shared/agent/jsonl.ts";
import { READ } from "./growing-file.ts";

const READ_BYTES = 256 * 1024;

/** The whole lines from byte `from` on, in groups of what one read gave; nothing if there is no file. */
export function* readLines(file: string, from: number, readBytes = READ_BYTES): Generator<Line[]> {
  const fd = openIfThere(file);
  if (fd === undefined) return;
  try {
    const chunk = Buffer.alloc(readBytes);
    let pending = Buffer.alloc(0);
    for (let start = from; ; ) {
      const length = readSync(fd, chunk, 0, chunk.length, start + pending.length);
      if (length === 0) return;
      pending = Buffer.concat([pending, chunk.subarray(0, length)]);
      const { lines, next } = splitLines(pending, start);
      if (lines.length > 0) yield lines;
      pending = pending.subarray(next - start);
      start = next;
    }
  } finally {
    closeSync(fd);
  }
}

function openIfThere(file: string): number | undefined {
  try {
    return openSync(file, READ);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
