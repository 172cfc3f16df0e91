/** Files of one JSON value a line, read by bytes: what is not ended by a newline is not there yet. */

/** Longest line that we write. */
export const MAX_LINE_BYTES = 64 * 1024;

export interface Line {
  /** Where it begins in the file. */
  byte: number;
  /** Its length with the newline. */
  bytes: number;
  text: string;
}

const NEWLINE = 0x0a;

/**
 * The whole lines of `chunk`, which begins at `byte` of its file.
 * @returns also where the first line that is not whole begins.
 */
export function splitLines(chunk: Buffer, byte: number): { lines: Line[]; next: number } {
  const lines: Line[] = [];
  let start = 0;
  for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
    lines.push({ byte: byte + start, bytes: end + 1 - start, text: chunk.toString("utf8", start, end) });
    start = end + 1;
  }
  return { lines, next: byte + start };
}
