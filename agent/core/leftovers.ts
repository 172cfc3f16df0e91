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

/**
 * Cancels the asks that a turn's end has left open. Ends a cut-off turn that had come to its end before the engine could
 * say so: only once the resumed engine says that it takes nothing up, however long it is silent before.
 */
export function leftovers(fold: ThreadFold, { state, launch }: Resumed): EventBody[] {
  if (fold.turn !== null || state.isBusy) return [];
  if (fold.cutOffs.at === null && fold.deliveries.length === 0) {
    return asksOfWork(fold)
      .filter(({ limit, gate }) => !limit && gate !== "on_error")
      .map((ask) => cancelAsk(ask, "turn_ended"));
  }
  const isTaken = fold.deliveries.every(({ status }) => status === "started");
  // A conversation that was begun anew knows nothing of a turn that no message had begun.
  const isLeft = launch.anew !== undefined && fold.deliveries.length === 0 && state.isOpen;
  if (!isLeft && (!launch.resumed || !isTaken || !state.takesUpNothing)) return [];
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
