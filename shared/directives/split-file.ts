/** Splits a directive's file into its head, which is YAML, and its text. Pure. */
import { formatCount } from "../format-count.ts";
import type { FaultAt } from "./fault.ts";

/** The trust question shows a longer text not at all. */
export const MAX_FILE_BYTES = 256 * 1024;
const MAX_HEAD_BYTES = 32 * 1024;

/** Controls except tab and line feed. */
const CONTROL = /(?![\t\n])\p{Cc}/gu;
const LINE_FEED = 0x0a;

export interface SplitFile {
  head: string;
  /** The line of the file on which the head begins. */
  headLine: number;
  /** Without blank lines around it. */
  text: string;
  textLine: number;
}

/** CRLF counts as one line end; a byte order mark is dropped. */
export function splitFile(bytes: Uint8Array): { split: SplitFile } | { faults: FaultAt[] } {
  if (bytes.length > MAX_FILE_BYTES)
    return fault(1, "file", `has ${formatCount(bytes.length)} bytes; at most ${formatCount(MAX_FILE_BYTES)}`);
  const wrong = findWrongLine(bytes);
  if (wrong !== undefined) return fault(wrong, "file", "is no UTF-8 text");
  const text = new TextDecoder().decode(bytes).replaceAll("\r\n", "\n");
  const controls = faultsOfControls(text);
  return controls.length > 0 ? { faults: controls } : splitText(text);
}

function splitText(text: string): { split: SplitFile } | { faults: FaultAt[] } {
  const lines = text.split("\n");
  if (!isRule(lines[0])) return fault(1, "head", 'is missing: the first line must be "---"');
  const end = lines.findIndex((line, at) => at > 0 && isRule(line));
  if (end < 0) return fault(1, "head", 'is not closed: no later line is "---"');
  const headLines = lines.slice(1, end);
  // Claude Code ends the head at the first three hyphens, wherever they stand.
  const early = headLines.findIndex((line) => line.includes("---"));
  if (early >= 0) return fault(early + 2, "head", 'holds "---" within a line, at which Claude Code ends it');
  const head = headLines.join("\n");
  if (Buffer.byteLength(head) > MAX_HEAD_BYTES)
    return fault(1, "head", `is too long: at most ${formatCount(MAX_HEAD_BYTES)} bytes`);
  const body = lines.slice(end + 1);
  const blank = body.findIndex((line) => line.trim() !== "");
  return {
    split: {
      head,
      headLine: 2,
      text: body.slice(Math.max(0, blank)).join("\n").trimEnd(),
      textLine: end + 2 + Math.max(0, blank),
    },
  };
}

const isRule = (line: string | undefined) => line !== undefined && /^---[ \t]*$/.test(line);

/** The first line that is no UTF-8. */
function findWrongLine(bytes: Uint8Array): number | undefined {
  if (isUtf8(bytes)) return undefined;
  let line = 1;
  for (let from = 0; from <= bytes.length; line++) {
    const feed = bytes.indexOf(LINE_FEED, from);
    const end = feed < 0 ? bytes.length : feed;
    if (!isUtf8(bytes.subarray(from, end))) return line;
    from = end + 1;
  }
  return 1;
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false; // its one way to say so
  }
}

/** One a line, at most ten. */
function faultsOfControls(text: string): FaultAt[] {
  const faults = new Map<number, FaultAt>();
  for (const { 0: char, index } of text.matchAll(CONTROL)) {
    if (faults.size === 10) break;
    const line = text.slice(0, index).split("\n").length;
    const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    faults.set(line, { line, field: "file", problem: `holds the control character U+${code}` });
    if (faults.size === 1 && char === "\0") break; // it is no text
  }
  return [...faults.values()];
}

function fault(line: number, field: string, problem: string): { faults: FaultAt[] } {
  return { faults: [{ line, field, problem }] };
}
