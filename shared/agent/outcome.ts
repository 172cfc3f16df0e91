/** What came of a tool's call, for one line of text. Pure. */
import type { EventOf } from "./events.ts";

const MAX_REASON_CHARACTERS = 80;

/**
 * How many lines its edits added and removed, `+12 −3`; empty if it edited nothing, or if a text is not whole: its lines
 * can't be counted here.
 */
export function changeOf({ content = [], blobs = {} }: EventOf<"tool_call_update">): string {
  let added = 0;
  let removed = 0;
  for (const [i, part] of content.entries()) {
    if (part.type !== "diff") continue;
    if (Object.keys(blobs).some((pointer) => pointer.startsWith(`/content/${i}/`))) return "";
    const [before, after] = [linesOf(part.oldText ?? ""), linesOf(part.newText)];
    added += countMissing(after, before);
    removed += countMissing(before, after);
  }
  return added + removed === 0 ? "" : `+${added} −${removed}`;
}

/** Why it failed: the reason, or the first line of what it put out; empty if it did not fail. */
export function failureOf({ status, reason, content = [] }: EventOf<"tool_call_update">): string {
  if (status !== "failed") return "";
  if (reason !== undefined) return reason;
  const text = content.flatMap((part) =>
    part.type === "content" && part.content.type === "text" ? [part.content.text] : [],
  );
  const [first = ""] = text.join("\n").trim().split("\n");
  return first.slice(0, MAX_REASON_CHARACTERS);
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** How many of `lines` have no equal among `others`, each equal counted once. */
function countMissing(lines: readonly string[], others: readonly string[]): number {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  let missing = 0;
  for (const line of lines) {
    const count = left.get(line) ?? 0;
    if (count === 0) missing += 1;
    else left.set(line, count - 1);
  }
  return missing;
}
