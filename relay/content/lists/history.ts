/** `/thread history`: an agent's steps as people read them, a page or a file of them. Pure. */

import type { Step } from "../../../shared/agent/api.ts";
import { writeOutHidden } from "../../../shared/clean-text.ts";
import { formatCount } from "../../../shared/format-count.ts";
import type { ThreadName } from "../../../shared/ids.ts";
import { formatDuration } from "../texts.ts";
import { clipEnd, clipMarkdown, inline } from "../transcript/inline.ts";

/** How many steps stand on a page. */
export const HISTORY_PAGE = 15;
/** With these a page of the longest lines fits into a message. */
const MAX_TITLE = 50;
const MAX_REASON = 24;

const MARKS: Record<string, string> = { running: "◌", completed: "✓", failed: "✗", cancelled: "⊘" };

export interface HistoryPage {
  threadId: ThreadName;
  number: number | null;
  /** In the order in which they began. */
  steps: readonly Step[];
  now: number;
}

export function historyText({ threadId, number, steps, now }: HistoryPage): string {
  const head = `🕘 Steps of **#${number ?? "?"}** <#${threadId}>`;
  if (steps.length === 0) return `${head}\nNothing has happened yet.`;
  return [head, ...steps.map((step) => historyLine(step, now))].join("\n");
}

function historyLine(step: Step, now: number): string {
  const { kind, status, title, startedAt, reason, tokens } = step;
  const at = startedAt === null ? "" : ` · <t:${Math.floor(Date.parse(startedAt) / 1_000)}:f>`;
  const took = durationOf(step, now);
  const how = [
    ...(took === undefined ? [] : [took]),
    ...(tokens === null || kind !== "turn" ? [] : [`${formatCount(tokens)} tokens`]),
    ...(reason === null || kind === "turn" ? [] : [short(reason, MAX_REASON)]),
  ].map((part) => ` · ${part}`);
  const mark = MARKS[status] ?? "·";
  if (kind === "turn") return `${mark} **Turn**${at}${how.join("")}`;
  return `${mark} ${WORDS[kind] ?? ""}${short(title ?? kind, MAX_TITLE)}${how.join("")}`;
}

/** At most `max` units, whatever has to be escaped in it. */
function short(text: string, max: number): string {
  return clipMarkdown(inline(clipEnd(text, 4 * max), max), max);
}

const WORDS: Record<string, string> = { permission: "Asked: ", elicitation: "Asked: ", lock: "Waited: " };

function durationOf({ durationMs, startedAt, endedAt, status }: Step, now: number): string | undefined {
  if (durationMs !== null) return formatDuration(durationMs / 1_000);
  if (startedAt === null) return undefined;
  const end = endedAt === null ? (status === "running" ? now : undefined) : Date.parse(endedAt);
  return end === undefined ? undefined : formatDuration(Math.max(0, end - Date.parse(startedAt)) / 1_000);
}

/** All of them as plain text, a line each; invisible characters are written out. */
export function historyFile(steps: readonly Step[], now: number): string {
  const lines = steps.map((step) => {
    const { startedAt, kind, status, title, reason, tokens, model } = step;
    const text = writeOutHidden((title ?? "").replace(/\s+/g, " ").trim());
    const more = [
      durationOf(step, now),
      tokens === null ? undefined : `${tokens} tokens`,
      model ?? undefined,
      reason === null ? undefined : writeOutHidden(reason.replace(/\s+/g, " ")),
    ].filter((part) => part !== undefined);
    return `${startedAt ?? ""}\t${kind}\t${status}\t${more.join(", ")}\t${text}`;
  });
  return `${["started\tkind\tstatus\tdetails\ttitle", ...lines].join("\n")}\n`;
}
