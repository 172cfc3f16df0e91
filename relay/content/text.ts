/** What a row of terminal text may hold when it is shown in Discord, and how it is cut. Pure. */
import { replaceHarmful } from "../../shared/clean-text.ts";

/** Inserted by us to break runs of backticks and to hold blank lines open; never left in a program's text. */
export const ZERO_WIDTH_SPACE = "\u200b";
/** Ends a piece of a row that goes on in the next piece; never left in a program's text. */
export const CONTINUATION = "\u2060";

/** Printable ASCII needs no care, apart from the backtick. */
const PLAIN = /^[\x20-\x5f\x61-\x7e]*$/;
const PLAIN_WITH_BACKTICKS = /^[\x20-\x7e]*$/;

const GRAPHEMES = new Intl.Segmenter("en", { granularity: "grapheme" });

/** True when `text` is what {@link cleanRow} and {@link breakBackticks} would leave alone. */
export function isPlain(text: string): boolean {
  return PLAIN.test(text);
}

/**
 * One row without anything that a message must not hold: control, bidi and invisible characters are removed,
 * separators become spaces, broken surrogates U+FFFD; trailing spaces go. Cleaning twice changes nothing.
 */
export function cleanRow(text: string): string {
  if (PLAIN_WITH_BACKTICKS.test(text)) return trimEndSpaces(text);
  return trimEndSpaces(replaceHarmful(text, ""));
}

/** No two backticks stay neighbours and none ends the row: nothing inside can close a fence. */
export function breakBackticks(text: string): string {
  return text.includes("`") ? text.replace(/`(?=`|$)/g, `\`${ZERO_WIDTH_SPACE}`) : text;
}

/** Without the spaces at the end: a terminal's row does not tell them from empty cells. */
export function trimEndSpaces(text: string): string {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === 32) end--;
  return end === text.length ? text : text.slice(0, end);
}

/**
 * Cuts `text` into pieces of at most `max` UTF-16 units, never inside a grapheme cluster unless that cluster
 * alone is longer than `max`, and never inside a surrogate pair (`max` ≥ 2).
 */
export function splitText(text: string, max: number): string[] {
  const pieces: string[] = [];
  let rest = text;
  while (rest.length > max) {
    // Looks at what is around the cut only: a row of marks can be long, and to take it apart as a whole is slow.
    const cluster = GRAPHEMES.segment(rest).containing(max);
    let end = cluster?.index ?? max;
    if (end === 0) end = isLowSurrogate(rest.charCodeAt(max)) ? max - 1 : max;
    pieces.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  if (rest !== "") pieces.push(rest);
  return pieces;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** `2100000` → `2.1 MB`: decimal units, one digit after the point. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  for (const [unit, size] of [
    ["kB", 1e3],
    ["MB", 1e6],
    ["GB", 1e9],
  ] as const) {
    if (bytes < size * 999.95 || unit === "GB") return `${(bytes / size).toFixed(1)} ${unit}`;
  }
  return `${bytes} B`;
}

/** The same text with memory of its own: V8 makes a slice that holds all of the text it was cut from. */
export function copyAscii(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1");
}
