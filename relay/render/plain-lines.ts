/** Finds long runs of lines that need no terminal emulator. Pure. */
import type { Line } from "./screen.ts";
import { trimEndSpaces } from "./text.ts";

/** Lines at the start of a text that every terminal shows alike. */
export interface PlainBlock {
  /** The rows of all but the last lines, in order. */
  readonly settled: Line[];
  /** The last lines: enough of them to fill the screen. */
  readonly tail: string;
  /** Where the block ends in the text. */
  readonly end: number;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with a control character
const SGR = /\x1b\[[0-9;:]*m/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: what is not printable ASCII, a line end or SGR
const NOT_PLAIN = /[^\x20-\x7e\r\n\x1b]|\x1b(?!\[[0-9;:]*m)|\r(?!\n)|(?<!\r)\n/g;

/**
 * The longest run of whole lines (printable ASCII and colours, each ended by CR LF) from `from` on, when it is
 * much longer than the screen; otherwise undefined.
 */
export function readPlainBlock(
  text: string,
  from: number,
  cols: number,
  rows: number,
): PlainBlock | undefined {
  if (text.length - from < rows * 4) return undefined;
  NOT_PLAIN.lastIndex = from;
  const limit = NOT_PLAIN.exec(text)?.index ?? text.length;
  const end = text.lastIndexOf("\r\n", limit - 2) + 2;
  if (end - from < rows * 4) return undefined;
  // The screen shows `rows - 1` lines and the empty one below: so many lines must go through the emulator.
  let tail = end;
  for (let count = 0; count < rows; count++) {
    tail = text.lastIndexOf("\r\n", tail - 3) + 2;
    if (tail < from + 2) return undefined;
  }
  const block = text.slice(from, tail);
  const plain = block.includes("\x1b") ? block.replace(SGR, "") : block;
  const settled: Line[] = [];
  for (let start = 0; start < plain.length; ) {
    const stop = plain.indexOf("\r\n", start);
    pushRows(settled, plain.slice(start, stop), cols);
    start = stop + 2;
  }
  return { settled, tail: text.slice(tail, end), end };
}

function pushRows(rows: Line[], line: string, cols: number): void {
  if (line.length <= cols) {
    rows.push({ text: trimEndSpaces(line), wrapped: false });
    return;
  }
  for (let column = 0; column < line.length; column += cols) {
    rows.push({ text: trimEndSpaces(line.slice(column, column + cols)), wrapped: column > 0 });
  }
}
