/** What a turn changed, and what was put back, in a line of plain text. Pure. */
import { cleanLine } from "../clean-text.ts";
import type { EventOf } from "./events.ts";

const MAX_NAMED = 8;

export function changesText({
  files,
  added,
  removed,
  problem,
  others = [],
  othersCount = 0,
}: EventOf<"turn_changes">): string {
  if (problem !== undefined) return `no undo: ${cleanLine(problem)}`;
  const own = `${countOf(files)} changed +${added} −${removed}`;
  return othersCount === 0 ? own : `${own} · others may have changed ${list(others, othersCount)}`;
}

export function undoText(event: EventOf<"undo">): string {
  const { status, message = "", files, restored, left, leftCount } = event;
  if (status === "refused") return `nothing was undone: ${cleanLine(message)}`;
  const back =
    files === 0 ? "nothing was undone" : `undone: ${countOf(files)} as before, ${list(restored, files)}`;
  const named = left.map(({ path, reason }) => `${path} (${reason})`);
  return leftCount === 0 ? back : `${back}; left as they are: ${list(named, leftCount)}`;
}

function countOf(files: number): string {
  return `${files} ${files === 1 ? "file" : "files"}`;
}

function list(names: readonly string[], count: number): string {
  const named = names.slice(0, MAX_NAMED).map(cleanLine);
  return named.join(", ") + (count > named.length ? ` and ${count - named.length} more` : "");
}
