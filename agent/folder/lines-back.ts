/** Reads the lines of a file from its end, so that what is new is found without a look at all that is old. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { Line } from "../../shared/agent/jsonl.ts";

const CHUNK_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

/**
 * The whole lines of a file, the last one first. One that is longer than `maxLineBytes` is left out.
 * @param path of a file that may not be there
 */
export function* linesBack(path: string, maxLineBytes: number): Iterable<Line> {
  const fd = open(path);
  if (fd === undefined) return;
  try {
    // From `start` on all lines were given. Behind the last newline is no whole line.
    let start = fstatSync(fd).size;
    let rest = Buffer.alloc(0);
    let end: number | undefined;
    while (start > 0) {
      const length = Math.min(CHUNK_BYTES, start);
      start -= length;
      const chunk = Buffer.alloc(length);
      readSync(fd, chunk, 0, length, start);
      // Only the place of a line that is too long is kept.
      rest = Buffer.concat([chunk, rest.length > maxLineBytes ? Buffer.alloc(0) : rest]);
      let stop = rest.length;
      for (
        let at = chunk.lastIndexOf(NEWLINE);
        at >= 0;
        at = at === 0 ? -1 : chunk.lastIndexOf(NEWLINE, at - 1)
      ) {
        const line = lineIn(rest.subarray(at + 1, stop), start + at + 1, end, maxLineBytes);
        if (line) yield line;
        end = start + at + 1;
        stop = at;
      }
      rest = rest.subarray(0, stop);
    }
    const first = lineIn(rest, 0, end, maxLineBytes);
    if (first) yield first;
  } finally {
    closeSync(fd);
  }
}

/** @param end where the next line begins; undefined if no newline was found yet, and the line is not whole */
function lineIn(text: Buffer, byte: number, end: number | undefined, maxLineBytes: number): Line | undefined {
  if (end === undefined || end - byte > maxLineBytes) return undefined;
  return { byte, bytes: end - byte, text: text.toString("utf8") };
}

function open(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
