/** What an agent does, as the lines of one message. Pure. */
import type { Live } from "../../../shared/agent/files.ts";
import { formatAgo } from "../texts.ts";
import type { ActivityLine, ActivityLines } from "./activity-lines.ts";
import { inline, inlineTitle } from "./inline.ts";
import { MAX_MESSAGE_UNITS } from "./split.ts";

const MAX_PREVIEW_LINES = 3;
/** A line takes two units at least, with its end. */
const MAX_LINES = MAX_MESSAGE_UNITS / 2;

/** Older lines make room for newer ones, and are counted. */
export function activityText(lines: ActivityLines, preview: readonly string[], now: Live["step"]): string {
  const rendered: string[] = [];
  let units = preview.reduce((sum, line) => sum + line.length + 1, 60);
  let shownSteps = 0;
  const newest = lines.newest(MAX_LINES);
  for (const line of newest) {
    const text = renderLine(line, now);
    units += text.length + 1;
    if (units > MAX_MESSAGE_UNITS) break;
    rendered.push(text);
    if (line.kind === "step") shownSteps += 1;
  }
  const folded = lines.stepCount - shownSteps;
  const isWhole = rendered.length === lines.count;
  const head = isWhole ? [] : [`-# … ${folded} earlier ${folded === 1 ? "step" : "steps"}`];
  rendered.reverse();
  return [...head, ...rendered, ...preview].join("\n");
}

/** @param now the newest step: how many come before who waits without a process, the transcript can't tell */
function renderLine(line: ActivityLine, now: Live["step"]): string {
  switch (line.kind) {
    case "narration":
      return line.text
        .split("\n")
        .map((row) => inline(row, 300))
        .join("\n");
    case "remark":
      return `-# ${inline(line.text, 200)}`;
    case "step": {
      const title = now && line.id === `step:${now.stepId}` ? now.title : line.title;
      if (line.state === "running")
        return `◌ ${inlineTitle(title, 120, line.name)} · ${formatAgo(line.startedAt)}`;
      const outcome = line.outcome === "" ? "" : ` · ${inline(line.outcome, 120)}`;
      return `${line.state === "done" ? "✓" : "✗"} ${inlineTitle(line.title, 120, line.name)}${outcome}`;
    }
  }
}

/** The last lines of what is being written: a preview that nothing depends on. */
export function previewLines(live: Live | undefined): string[] {
  if (!live?.text || live.text.thought) return [];
  const lines = live.text.text.split("\n").filter((line) => line.trim() !== "");
  return lines.slice(-MAX_PREVIEW_LINES).map((line) => `> ${inline(line, 200)}`);
}
