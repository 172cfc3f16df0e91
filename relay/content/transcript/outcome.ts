/** What came of a call, in a few words behind its line. Pure. */
import type { EventOf } from "../../../shared/agent/events.ts";
import { formatDuration } from "../../texts.ts";

const WORTH_TELLING_MS = 1_000;
const MAX_REASON_CHARACTERS = 80;

/** Such as `+12 −3`, `denied` or `exit code 1 · 2.4 s`; empty if there is nothing to add. */
export function outcomeOf(update: EventOf<"tool_call_update">): string {
  const parts = [changeOf(update), failureOf(update), durationOf(update)];
  return parts.filter((part) => part !== "").join(" · ");
}

/** Nothing if a text is not whole: its lines can't be counted here. */
function changeOf({ content = [], blobs = {} }: EventOf<"tool_call_update">): string {
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

function failureOf({ status, reason, content = [] }: EventOf<"tool_call_update">): string {
  if (status !== "failed") return "";
  if (reason !== undefined) return reason;
  const text = content.flatMap((part) =>
    part.type === "content" && part.content.type === "text" ? [part.content.text] : [],
  );
  const [first = ""] = text.join("\n").trim().split("\n");
  return first.slice(0, MAX_REASON_CHARACTERS);
}

function durationOf({ durationMs = 0 }: EventOf<"tool_call_update">): string {
  return durationMs < WORTH_TELLING_MS ? "" : formatDuration(durationMs / 1_000);
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
