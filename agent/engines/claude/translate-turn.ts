/** Where a turn of claude's begins. */
import type { EventBody } from "../../../shared/agent/events.ts";
import type { Line } from "../../../shared/agent/jsonl.ts";
import { turnIdOf } from "../../../shared/agent/turn-id.ts";
import type { TranslateContext } from "../../engine.ts";
import type { ClaudeState } from "./state.ts";

export interface Translated {
  state: ClaudeState;
  events: EventBody[];
}

/** Begins a turn at this line if none runs: claude has no line of its own for it. */
export function startTurn(
  state: ClaudeState,
  line: Line,
  { fold, launch, nowMs }: TranslateContext,
): Translated {
  if (state.turn) return { state, events: [] };
  const turnId = turnIdOf(launch, line.byte);
  const deliveryIds = fold.deliveries.map((delivery) => delivery.deliveryId);
  const cause = state.takesUp ? "resume" : deliveryIds.length > 0 ? "message" : "task";
  return {
    state: {
      ...state,
      turn: { turnId, startedMs: nowMs },
      beginsWith: null,
      takesUp: false,
      takesUpNothing: false,
    },
    events: [{ type: "turn_start", turnId, cause, deliveryIds }],
  };
}
