/** A room's log: its lines, one after the other. Each line's place is known before it is written, so none is there twice. */
import { closeSync, openSync, writeSync } from "node:fs";
import type { RoomLineRow } from "../store/rooms.ts";
import { sizeOfLog } from "../streams/log-file.ts";
import { lineText } from "./line-text.ts";

const LINES_A_READ = 200;

/**
 * Writes what is missing: a sidecar that was killed may have written half a line.
 * @param base the offset of the file's first byte
 * @param linesBehind gives lines that end behind an offset, the oldest first
 * @returns whether anything was missing
 */
export function appendLog(
  file: string,
  base: number,
  linesBehind: (offset: number, limit: number) => readonly RoomLineRow[],
): boolean {
  for (let isNew = false; ; isNew = true) {
    const { end: size, isFile } = sizeOfLog(file);
    const end = base + size;
    const lines = isFile ? linesBehind(end, LINES_A_READ) : [];
    if (lines.length === 0) return isNew;
    const bytes = lines.map((line) => {
      const text = Buffer.from(lineText(line));
      return text.subarray(Math.max(0, end - (line.logEnd - text.length)));
    });
    const fd = openSync(file, "a");
    try {
      const all = Buffer.concat(bytes);
      for (let done = 0; done < all.length; ) done += writeSync(fd, all, done);
    } finally {
      closeSync(fd);
    }
  }
}
