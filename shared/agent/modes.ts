/** Which permission mode holds at the engine's next start, and for who comes from the thread. Pure. */
import { findEngine } from "./engines/engines.ts";
import type { ThreadEvent } from "./events.ts";

export interface ModeChoice {
  /** Null if nobody chose one. */
  modeId: string | null;
  /** The widest that a person has given. */
  most?: string;
}

/**
 * A line of the engine alone gives no right: something that it runs could have written it. It is believed if it tells
 * a mode that a person has given, or one that asks as much.
 * @param engine the one that runs, by its name
 */
export function foldMode(chosen: ModeChoice, event: ThreadEvent, engine: string | undefined): ModeChoice {
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
      const editing = findEngine(engine)?.capabilities.modes?.editing;
      if (!lets || editing === undefined) return chosen;
      return rank(engine, chosen.most) < rank(engine, editing) ? { ...chosen, most: editing } : chosen;
    }
    case "current_mode_update": {
      const { modeId } = event;
      const isKnown = findEngine(engine)?.capabilities.modes?.names.includes(modeId) === true;
      const isGiven =
        modeId === chosen.most || (isKnown && rank(engine, modeId) <= rank(engine, chosen.most));
      return isGiven ? { ...chosen, modeId } : chosen;
    }
    default:
      return chosen;
  }
}

/** The option that approves a plan, whose edits then need no asking. */
const LETS_EDIT = "edits";

/** The place of a mode among those of its engine. None counts as less than the one that asks. */
function rank(engine: string | undefined, mode: string | undefined): number {
  const modes = findEngine(engine)?.capabilities.modes;
  if (!modes) return 0;
  return Math.max(modes.names.indexOf(mode ?? modes.asking), modes.names.indexOf(modes.asking));
}
