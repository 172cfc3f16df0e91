/** Whether the thread needs a place among those that may have a turn at once. Pure. */
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { type DayLimit, findReached } from "../../shared/agent/limits.ts";
import { nextStep } from "../../shared/agent/rescue.ts";
import { waitOf } from "../../shared/agent/waits.ts";
import { isSomethingOpen } from "./closing.ts";
import { type Running, wantsModel } from "./decide.ts";

/** @returns undefined while that can't be said: what it has stays as it is. */
export function wantsPlace(
  fold: ThreadFold,
  running: Pick<Running, "state" | "isEnding"> | undefined,
  nowMs: number,
  day?: DayLimit,
): boolean | undefined {
  if (fold.isKilled) return false;
  if (!running) {
    if (isSomethingOpen(fold)) return undefined;
    const goesOn = nextStep(fold, nowMs) === "engine" && fold.usageLimit === undefined;
    return goesOn && findReached(fold, nowMs, day) === undefined;
  }
  if (running.isEnding) return undefined;
  if (fold.asks.some(({ trust, limit }) => trust || limit) || fold.stoppedAt !== null) return false;
  if (fold.turn !== null || running.state.isBusy) return waitOf(fold, nowMs) === undefined;
  if (fold.isPaused || fold.usageLimit || !wantsModel(fold)) return false;
  return findReached(fold, nowMs, day) === undefined;
}
