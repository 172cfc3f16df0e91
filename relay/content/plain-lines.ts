/** Finds long runs of lines that need no terminal emulator. Pure. */
import { copyAscii, trimEndSpaces } from "./text.ts";

/** Lines at the start of a text that every terminal shows alike. */
export interface PlainBlock {
  /** All but the last lines: printable ASCII, each ended by CR LF. */
  readonly settled: string;
  /** Each of these lines is exactly one row that needs no care: no backtick, no space at the end, not too long. */
  readonly isOneRowEach: boolean;
  /** The last lines: enough of them to fill the screen. */
  readonly tail: string;
  /** Where the block ends in the text. */
  readonly end: number;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with a control character
const SGR = /\x1b\[[0-9;:]*m/g;
const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const ESCAPE = 0x1b;
const SPACE = 0x20;
const BACKTICK = 0x60;
const BRACKET = 0x5b;

/**
 * The longest run of whole lines (printable ASCII and colours, each ended by CR LF) from `from` on, when there
 * are more of them than the screen has rows; otherwise undefined. One pass: this is where a flood goes through.
 */
export function findPlainBlock(
  text: string,
  from: number,
  cols: number,
  rows: number,
): PlainBlock | undefined {
  let end = from;
  let lines = 0;
  let isOneRowEach = true;
  let hasEscape = false;
  for (let index = from; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit === CARRIAGE_RETURN) {
      if (text.charCodeAt(index + 1) !== NEWLINE) break;
      if (index - end > cols || (index > end && text.charCodeAt(index - 1) === SPACE)) isOneRowEach = false;
      lines++;
      index++;
      end = index + 1;
    } else if (unit === BACKTICK) isOneRowEach = false;
    else if (unit === ESCAPE) {
      index = skipSgr(text, index);
      if (index < 0) break;
      hasEscape = true;
    } else if (unit < 0x20 || unit > 0x7e) break;
  }
  if (lines <= rows) return undefined;
  // The screen shows `rows - 1` lines and the empty one below: so many lines must go through the emulator.
  let tail = end;
  for (let count = 0; count < rows; count++) tail = text.lastIndexOf("\r\n", tail - 3) + 2;
  const settled = text.slice(from, tail);
  return {
    settled: hasEscape ? settled.replace(SGR, "") : settled,
    isOneRowEach: isOneRowEach && !hasEscape,
    tail: text.slice(tail, end),
    end,
  };
}

/** Where the run of text that {@link findPlainBlock} would look at ends, at `end` at the latest. */
export function findPlainEnd(text: string, from: number, end: number): number {
  for (let index = from; index < end; index++) {
    const unit = text.charCodeAt(index);
    if ((unit >= SPACE && unit <= 0x7e) || unit === CARRIAGE_RETURN || unit === NEWLINE) continue;
    if (unit !== ESCAPE) return index;
    const last = skipSgr(text, index);
    if (last < 0) return index;
    index = last;
  }
  return end;
}

/** The place of the `m` that ends the SGR sequence at `index`; -1 when it is another sequence or cut. */
function skipSgr(text: string, index: number): number {
  if (text.charCodeAt(index + 1) !== BRACKET) return -1;
  for (let place = index + 2; place < text.length; place++) {
    const unit = text.charCodeAt(place);
    if (unit === 0x6d) return place;
    if (unit < 0x30 || unit > 0x3b) return -1;
  }
  return -1;
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
    if (text.length <= cols) emit(copyAscii(trimEndSpaces(text)), false);
    else {
      for (let column = 0; column < text.length; column += cols) {
        emit(copyAscii(trimEndSpaces(text.slice(column, column + cols))), column > 0);
      }
    }
  }
}
