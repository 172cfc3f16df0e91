/** How far an agent's turn is, for a person. */
import type { Thread } from "../shared/api.ts";
import { formatDuration } from "./table.ts";

/** Undefined if none runs. */
export function describeTurn({ turn }: Pick<Thread, "turn">, nowMs: number): string | undefined {
  if (!turn) return undefined;
  return `step ${turn.step}, ${formatDuration(nowMs - Date.parse(turn.startedAt))}`;
}
