/** Finds long runs of lines that need no terminal emulator. Pure. */
import { trimEndSpaces } from "./text.ts";

/** Lines at the start of a text that every terminal shows alike. */
export interface PlainBlock {
  /** All but the last lines: printable ASCII, each ended by CR LF. */
  readonly settled: string;
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
 * The longest run of whole lines (printable ASCII and colours, each ended by CR LF) from `from` on, when there
 * are more of them than the screen has rows; otherwise undefined.
 */
export function findPlainBlock(text: string, from: number, rows: number): PlainBlock | undefined {
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
  const settled = text.slice(from, tail);
  return {
    settled: settled.includes("\x1b") ? settled.replace(SGR, "") : settled,
    tail: text.slice(tail, end),
    end,
  };
}

/** The rows that these lines make on a terminal. */
export function forEachRow(
  lines: string,
  cols: number,
  emit: (text: string, wrapped: boolean) => void,
): void {
  const texts = lines.split("\r\n");
  texts.pop();
  for (const text of texts) {
    if (text.length <= cols) emit(trimEndSpaces(text), false);
    else {
      for (let column = 0; column < text.length; column += cols) {
        emit(trimEndSpaces(text.slice(column, column + cols)), column > 0);
      }
    }
  }
}
