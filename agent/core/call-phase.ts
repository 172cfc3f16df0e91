/** Whether a call of the model runs, or is about to be let begin. Pure. */
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { nextStep } from "../../shared/agent/rescue.ts";
import { isSomethingOpen } from "./closing.ts";
import { findBetween, isCostDue, type Running, wantsModel } from "./decide.ts";

export type CallPhase =
  /** No call runs: all that was used is counted. */
  | { is: "none" }
  | { is: "runs" }
  /** A call begins as soon as it is let; `key` is the same for as long as it is the same one. */
  | { is: "due"; key: string };

export function callPhase(fold: ThreadFold, running: Running | undefined, nowMs: number): CallPhase {
  const first: CallPhase = { is: "due", key: `turn ${fold.turnCount}` };
  if (!running) {
    if (isSomethingOpen(fold)) return { is: "runs" };
    return nextStep(fold, nowMs) === "engine" && !fold.usageLimit ? first : { is: "none" };
  }
  if (running.isEnding) return { is: "runs" };
  const between = findBetween(running);
  if (between !== undefined) {
    return isCostDue(running, between, nowMs) ? { is: "runs" } : { is: "due", key: `after ${between}` };
  }
  if (fold.turn !== null || running.state.isBusy) {
    // Its tools run, or a person is asked: what the call has used is told, and the next one has not begun.
    const isInTools = fold.toolCalls.length > 0 && !fold.steps.some(({ kind }) => kind === "chat");
    return isInTools ? { is: "none" } : { is: "runs" };
  }
  const isSent = fold.deliveries.some(({ deliveryId }) => running.sent.has(`delivery ${deliveryId}`));
  if (isSent) return { is: "runs" };
  return wantsModel(fold) ? first : { is: "none" };
}
