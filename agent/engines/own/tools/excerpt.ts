/** The part of a changed file that people are shown. Pure. */
import { diffLines } from "../../../../shared/agent/diff.ts";
import type { ToolResult } from "./tool.ts";

type Diff = NonNullable<ToolResult["diffs"]>[number];

const CONTEXT_LINES = 3;
/** The most of both texts together. If a change is longer, only its lines are counted. */
const MAX_BYTES = 64 * 1024;

/** @returns the part that differs, with a few lines around it, and how many lines that are */
export function excerptOf(
  path: string,
  old: Buffer | null,
  fresh: Buffer | null,
): { diffs: Diff[]; counts: string } {
  const before = linesOf(old);
  const after = linesOf(fresh);
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < most - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  const part = (lines: readonly string[]) =>
    lines
      .slice(Math.max(0, head - CONTEXT_LINES), lines.length - Math.max(0, tail - CONTEXT_LINES))
      .join("\n");
  const [oldText, newText] = [part(before), part(after)];
  const signs = diffLines(oldText, newText).map(({ sign }) => sign);
  const count = (wanted: string) => signs.filter((sign) => sign === wanted).length;
  const isShown = oldText.length + newText.length <= MAX_BYTES;
  return {
    diffs: isShown ? [{ path, oldText: old === null ? null : oldText, newText }] : [],
    counts: `+${count("+")} −${count("-")}`,
  };
}

function linesOf(data: Buffer | null): string[] {
  return data === null || data.length === 0 ? [] : data.toString("utf8").split("\n");
}
