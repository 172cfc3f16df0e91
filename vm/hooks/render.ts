/** Renders text from outside with pauses: a large body holds up nothing else. */
import { setImmediate as turn } from "node:timers/promises";
import { type Part, renderPieces } from "../../shared/outside-text.ts";

/** How long is worked in one go. */
const SLICE_MS = 10;

/** As `renderParts`. */
export async function renderInTurns(parts: readonly Part[], mark: string): Promise<string> {
  const pieces: string[] = [];
  let since = performance.now();
  for (const piece of renderPieces(parts, mark)) {
    pieces.push(piece);
    if (performance.now() - since < SLICE_MS) continue;
    await turn();
    since = performance.now();
  }
  return pieces.join("");
}
