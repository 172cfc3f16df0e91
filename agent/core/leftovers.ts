/** Closes what is still open though no turn runs. The engine says that its work is over; no time stands for that. */
import type { EventBody } from "../../shared/agent/events.ts";
import { asksOfWork } from "../../shared/agent/fold-held.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { endedTurnIdOf } from "../../shared/agent/turn-id.ts";
import type { EngineState, Launch } from "../engine.ts";
import { cancelAsk } from "./closing.ts";

interface Resumed {
  state: EngineState;
  launch: Launch;
}

/** A resumed engine does nothing, though a turn was cut off: it had come to its end before, or the engine is slow. */
export function isSilent(fold: ThreadFold, { state, launch }: Resumed): boolean {
  if (fold.turn !== null || state.isBusy || !launch.resumed) return false;
  const isTaken = fold.deliveries.every(({ status }) => status === "started");
  return isTaken && (fold.cutOffs.at !== null || fold.deliveries.length > 0);
}

/**
 * Cancels the asks that a turn's end has left open. Ends a cut-off turn that had come to its end before the engine could
 * say so: only once the engine has answered a question (`hasSettled`) and still does nothing.
 */
export function leftovers(fold: ThreadFold, running: Resumed): EventBody[] {
  const { state, launch } = running;
  if (fold.turn !== null || state.isBusy) return [];
  if (fold.cutOffs.at === null && fold.deliveries.length === 0) {
    return asksOfWork(fold)
      .filter(({ limit }) => !limit)
      .map((ask) => cancelAsk(ask, "turn_ended"));
  }
  if (!isSilent(fold, running) || !state.hasSettled) return [];
  const turnId = endedTurnIdOf(launch, fold.seq);
  const deliveryIds = fold.deliveries.map(({ deliveryId }) => deliveryId);
  return [
    { type: "turn_start", turnId, cause: "resume", deliveryIds },
    { type: "turn_end", turnId, stopReason: "end_turn" },
    ...deliveryIds.map(
      (deliveryId): EventBody => ({ type: "delivery_update", deliveryId, status: "completed" }),
    ),
  ];
}
