/** Which permission mode holds at the engine's next start, and for who comes from the thread. Pure. */
import type { ThreadEvent } from "./events.ts";

/** What may be done in them without asking: the least first. */
export const MODES = ["plan", "dontAsk", "default", "acceptEdits", "auto", "bypassPermissions"];

export interface ModeChoice {
  /** Null if nobody chose one. */
  modeId: string | null;
  /** The widest that a person has given. */
  most?: string;
}

/**
 * A line of the engine alone gives no right: something that it runs could have written it. It is believed if it tells
 * a mode that a person has given, or one that asks as much.
 */
export function foldMode(chosen: ModeChoice, event: ThreadEvent): ModeChoice {
  switch (event.type) {
    case "engine_start":
      // The first one has what the person's own settings say.
      return chosen.most === undefined ? { ...chosen, most: chosen.modeId ?? event.modeId } : chosen;
    case "control": {
      if (event.op !== "mode") return chosen;
      const { most: _, ...rest } = chosen;
      return {
        ...rest,
        modeId: event.modeId,
        most: event.modeId,
      };
    }
    case "permission_response": {
      const lets = event.outcome === "selected" && event.optionId === LETS_EDIT;
      return lets && rank(chosen.most) < rank("acceptEdits") ? { ...chosen, most: "acceptEdits" } : chosen;
    }
    case "current_mode_update": {
      const { modeId, by } = event;
      if (by !== undefined) return { ...chosen, modeId, most: modeId };
      const isGiven = modeId === chosen.most || (MODES.includes(modeId) && rank(modeId) <= rank(chosen.most));
      return isGiven ? { ...chosen, modeId } : chosen;
    }
    default:
      return chosen;
  }
}

/** Of a plan: it is approved, and its edits need no asking. */
const LETS_EDIT = "edits";

function rank(mode = "default"): number {
  return Math.max(MODES.indexOf(mode), MODES.indexOf("default"));
}
