/** Pages: what one Discord message shows of a terminal. Pure. */
import { formatCount } from "../../shared/format-count.ts";
import type { Line } from "./screen.ts";
import {
  breakBackticks,
  CONTINUATION,
  cleanRow,
  formatBytes,
  isPlain,
  splitText,
  ZERO_WIDTH_SPACE,
} from "./text.ts";

/** A page's text is never longer, in UTF-16 units, fence included. Discord takes 2,000 code points. */
export const PAGE_UNITS = 1900;
const OPEN = "```\n";
const OPEN_ANSI = "```ansi\n";
const CLOSE = "\n```";
/** Left for rows: the longer fence and a mark on a blank first and last row come off. */
export const BODY_UNITS = PAGE_UNITS - OPEN_ANSI.length - CLOSE.length - 2;

/** What a gap shows of a flood that goes on: so many rows and units at most. */
const OPEN_GAP_ROWS = 12;
/** A row shows this many addresses; the rest is counted. */
const MAX_LINKS = 5;
const OPEN_GAP_UNITS = 1_200;

/** A message that shows an empty terminal: what a page becomes that has nothing to show any more. */
export const BLANK_PAGE = fence([]);

/**
 * A code block of these rows in which nothing can do harm: no run of backticks, no control or bidi character, no
 * blank edge that Discord would trim away, never an empty message. Mentions, links and markdown are text in it;
 * the sender still switches mentions off. Cut rows with {@link toRows} first: this does not limit the length.
 */
export function fence(lines: readonly string[]): string {
  return wrapRows(lines.map((line) => breakBackticks(cleanRow(line))));
}

/** {@link fence} for rows that {@link toRows} made; one string may hold several, parted by CR LF. */
export function wrapRows(rows: readonly string[], isAnsi = false): string {
  let body = rows.join("\n").replaceAll("\r\n", "\n");
  // Discord drops blank rows at both ends, and an all-blank block is no block at all.
  if (body === "" || body.startsWith("\n")) body = ZERO_WIDTH_SPACE + body;
  if (body.endsWith("\n")) body += ZERO_WIDTH_SPACE;
  return `${isAnsi ? OPEN_ANSI : OPEN}${body}${CLOSE}`;
}

/** Each row in a string of its own. */
export function splitRows(rows: readonly string[]): string[] {
  return rows.flatMap((row) => row.split("\r\n"));
}

/**
 * A line as rows of a page: harmless, and in pieces where it alone is longer than a page. All pieces but the last
 * end with an invisible mark, so that {@link joinPages} can put them together again.
 */
export function toRows(row: Line, isAnsi = false): string[] {
  const line = withAddresses(row);
  if (isPlain(line.text) && line.text.length <= BODY_UNITS && (!isAnsi || line.runs === undefined))
    return [line.text];
  if (isAnsi && line.runs !== undefined) {
    const painted = paint(line);
    if (painted.length <= BODY_UNITS) return [painted];
  }
  const clean = cleanRow(line.text);
  const broken = breakBackticks(clean);
  if (broken.length <= BODY_UNITS) return [broken];
  // Backticks can double in length when broken; the continuation mark needs one more.
  const pieces = splitText(clean, Math.floor(BODY_UNITS / 2) - 1).map(breakBackticks);
  return pieces.map((piece, index) => (index < pieces.length - 1 ? piece + CONTINUATION : piece));
}

/** With the addresses of its links behind the text, so that no column moves. */
export function withAddresses(row: Line): Line {
  const { text, runs, links, ...line } = row;
  if (links === undefined) return row;
  const more = links.length - MAX_LINKS;
  const shown = links.slice(0, MAX_LINKS).map((address) => `(${address})`);
  if (more > 0) shown.push(`(and ${formatCount(more)} more links)`);
  const whole = { ...line, text: `${text} ${shown.join(" ")}` };
  return runs === undefined ? whole : { ...whole, runs: [...runs, { start: text.length, sgr: "" }] };
}

/** The row with Discord's colours, ended by a reset. */
function paint(line: Line): string {
  let row = "";
  const runs = line.runs ?? [];
  for (const [index, run] of [{ start: 0, sgr: "" }, ...runs].entries()) {
    const part = breakBackticks(
      cleanPart(line.text.slice(run.start, runs[index]?.start ?? line.text.length)),
    );
    if (part !== "") row += run.sgr === "" ? part : `\x1b[${run.sgr}m${part}\x1b[0m`;
  }
  return row;
}

/** Cleaning drops the spaces at the end, which inside a row belong to it. */
function cleanPart(text: string): string {
  return cleanRow(`${text}|`).slice(0, -1);
}

/** The terminal's rows that these pages show: their texts without fences and marks, joined by newlines. */
export function joinPages(texts: readonly string[]): string {
  return texts
    .map((text) => (text.startsWith(OPEN_ANSI) ? unwrap(text, OPEN_ANSI) : unwrap(text, OPEN)))
    .join("\n")
    .replaceAll(`${CONTINUATION}\n`, "");
}

function unwrap(text: string, open: string): string {
  const body = text.startsWith(open) && text.endsWith(CLOSE) ? text.slice(open.length, -CLOSE.length) : text;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours that `paint` put in
  return body.replaceAll(ZERO_WIDTH_SPACE, "").replace(/\x1b\[[0-9;]*m/g, "");
}

/** What is not shown at a place. */
export interface Gap {
  /** Rows of the terminal that a flood pushed out, and the bytes of their text. */
  readonly lines: number;
  readonly bytes: number;
  /** Bytes that were gone from the VM's log before anybody read them: nobody knows how many lines they were. */
  readonly gone?: number;
}

/** The honest lines in place of what is missing. */
export function gapNotice({ lines, bytes, gone = 0 }: Gap): string {
  const notices: string[] = [];
  if (gone > 0) {
    notices.push(
      `⚠️ ${formatBytes(gone)} of output came while nobody could show it, and are gone from the VM's log (LOG_MAX_BYTES).`,
    );
  }
  if (lines > 0 || gone === 0) {
    const count = `${formatCount(lines)} ${lines === 1 ? "line" : "lines"}`;
    notices.push(`… ${count} (${formatBytes(bytes)}) not shown, /export has them`);
  }
  return notices.join("\n");
}

/** {@link gapNotice} while the flood goes on, with the last rows that it printed. */
export function openGapNotice(gap: Gap, newest: readonly Line[], isAnsi = false): string {
  const rows = newest.flatMap((line) => toRows(line, isAnsi)).slice(-OPEN_GAP_ROWS);
  while (rows.reduce((sum, row) => sum + row.length + 1, 0) > OPEN_GAP_UNITS) rows.shift();
  return rows.length === 0 ? gapNotice(gap) : `${gapNotice(gap)}\n${wrapRows(rows, isAnsi)}`;
}

/**
 * Which pages of a backlog are left out: nothing while at most `maxPages` wait, otherwise all but the newest
 * `keepPages`. Pages below `firstFree` have a message already and stay.
 */
export function collapse(
  waiting: readonly { readonly index: number }[],
  firstFree: number,
  maxPages = 10,
  keepPages = 3,
): { readonly from: number; readonly to: number } | undefined {
  const from = waiting.findIndex((page) => page.index >= firstFree);
  if (from < 0 || waiting.length - from <= maxPages) return undefined;
  return { from, to: waiting.length - keepPages };
}

/**
 * The rows of a full screen that fit one page, the row with the cursor among them. What had to go is said in the
 * first or last row.
 */
export function fitScreen(lines: readonly Line[], cursorRow: number, isAnsi = false): string[] {
  const rows = lines.map((line) => toRows(line, isAnsi).join("").replaceAll(CONTINUATION, ""));
  const fits = (from: number, to: number): boolean =>
    rows.slice(from, to).reduce((sum, row) => sum + row.length + 1, 0) <=
    BODY_UNITS - (from > 0 || to < rows.length ? 120 : 0);
  let from = 0;
  let to = rows.length;
  // Give up the end that is farther from the cursor, row by row.
  while (to - from > 1 && !fits(from, to)) {
    if (cursorRow - from > to - 1 - cursorRow) from++;
    else to--;
  }
  const shown = rows.slice(from, to).map((row) => splitText(row, BODY_UNITS - 120)[0] ?? "");
  if (from > 0) shown.unshift(`… ${formatCount(from)} rows above, /screenshot has them`);
  if (to < rows.length) shown.push(`… ${formatCount(rows.length - to)} rows below, /screenshot has them`);
  return shown;
}
