/** Bytes to lines, as a log's reader shows them. */
import { replaceHarmful } from "../shared/clean-text.ts";

/** A longer line is shown in parts. */
const MAX_LINE_BYTES = 16 * 1024;
/** A line whose end has not come by then is shown without it. */
const PARTIAL_MS = 1_000;
const NEWLINE = 10;

/** Puts the lines of one stream together. */
export class Lines {
  #rest = Buffer.alloc(0);
  #restSince = 0;

  /** The lines that end in `chunk`. */
  push(chunk: Buffer, now: number): string[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const lines: string[] = [];
    let start = 0;
    while (start < bytes.length) {
      const end = bytes.indexOf(NEWLINE, start);
      const isWhole = end >= 0 && end - start <= MAX_LINE_BYTES;
      if (!isWhole && bytes.length - start <= MAX_LINE_BYTES) break;
      const stop = isWhole ? end : cutBefore(bytes, start + MAX_LINE_BYTES);
      lines.push(bytes.toString("utf8", start, stop));
      start = isWhole ? stop + 1 : stop;
    }
    // A copy: the rest may stay for long, and would keep all of the chunk.
    this.#rest = Buffer.from(bytes.subarray(start));
    this.#restSince = now;
    return lines;
  }

  /** A line without its end that has been there for a while, or any if nothing more will come. */
  flush(now: number, isOver = false): string[] {
    if (this.#rest.length === 0 || (!isOver && now - this.#restSince < PARTIAL_MS)) return [];
    const line = this.#rest.toString("utf8");
    this.#rest = Buffer.alloc(0);
    return [line];
  }
}

/** The last place up to `end` at which a cut goes through no character. */
function cutBefore(bytes: Buffer, end: number): number {
  let cut = end;
  while (cut > end - 4 && ((bytes[cut] ?? 0) & 0xc0) === 0x80) cut--;
  return cut;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a colour begins with one
const SGR = /(\u001b\[[\d;:]{0,60}m)/g;
const SEQUENCE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what this finds
  /\u001b(?:\[[0-?]{0,60}[ -/]{0,10}[@-~]|\][^\u0007\u001b]{0,4096}(?:\u0007|\u001b\\)|[ -/]{0,10}[0-~])/g;

/** A line without colours and without all that acts on a terminal: the text that is searched. */
export function plainLine(line: string): string {
  return clean(line.replaceAll(SGR, ""));
}

/** The same with its colours, which end with it. */
export function shownLine(line: string): string {
  if (PLAIN.test(line)) return line;
  const parts = line.split(SGR);
  if (parts.length === 1) return clean(line);
  return `${parts.map((part, i) => (i % 2 === 0 ? clean(part) : part)).join("")}\u001b[0m`;
}

const PLAIN = /^[\x20-\x7e]*$/;

/** Anybody may have written the line: nothing of it may move the cursor, hide what stands there or ask the terminal. */
function clean(text: string): string {
  if (PLAIN.test(text)) return text;
  const words = text.replace(/\r$/, "").replace(SEQUENCE, "").split("\t");
  return words.map((word) => replaceHarmful(word, "\ufffd")).join("\t");
}
