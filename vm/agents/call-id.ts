/** The id by which a call that is made again is known as the same one. */
import { createHash } from "node:crypto";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";

/**
 * @param named the engine's own id of the call. If the engine names none, equal calls of one turn are one call; a turn
 * that takes up a cut-off one is the same turn.
 */
export function callIdOf(
  named: string | undefined,
  { totals }: ThreadFold,
  tool: string,
  input: object,
): string {
  if (named !== undefined) return named;
  const hash = createHash("sha256")
    .update(JSON.stringify([tool, input]))
    .digest("hex");
  return `turn ${totals.begun} ${hash}`;
}
