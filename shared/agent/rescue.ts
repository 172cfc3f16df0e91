/** Whether a thread goes on by itself: the one rule by which runners start engines and the sidecar starts runners. */
import { hasDecision } from "./fold-gates.ts";
import { asksOfWork } from "./fold-held.ts";
import type { ThreadFold } from "./fold-types.ts";

/** A cut-off turn is taken up by itself so often, */
export const MAX_RESCUES = 3;
/** and so long after it was cut off. After that a person presses *Go on*. */
export const RESCUE_WINDOW_MS = 10 * 60_000;

export type NextStep =
  /** Nothing is to be done, or nothing before a person does something. */
  | "rest"
  /** The engine is to run. */
  | "engine"
  /** A cut-off turn was taken up too often, or was cut off too long ago: the thread fails. */
  | "give_up";

/**
 * What a thread wants without a further inbox line.
 * @param nowMs since the epoch
 */
export function nextStep(fold: ThreadFold, nowMs: number): NextStep {
  if (fold.isKilled || fold.isPaused || fold.failure || fold.stoppedAt) return "rest";
  if (fold.goOnAt !== undefined && nowMs < Date.parse(fold.goOnAt)) return "rest";
  if (fold.usageLimit) return "engine"; // it is asked about in its place
  const isNew =
    fold.messages.length > 0 ||
    fold.pending.compact !== null ||
    fold.recordedAnswers.length > 0 ||
    hasDecision(fold) ||
    fold.deliveries.some((delivery) => delivery.status === "noted");
  const isCutOff = fold.cutOffs.at !== null || fold.turn !== null || fold.deliveries.length > 0;
  if (!isNew && !isCutOff) return "rest";
  // Nothing of the directory runs, and nothing more is used up, before the answer.
  if (fold.asks.some(({ trust, limit }) => trust || limit)) return "rest";
  if (fold.engine?.isUp) return "engine";
  if (fold.cutOffs.count > MAX_RESCUES) return "give_up";
  if (isNew || fold.trust || fold.goOnAt !== undefined) return "engine";
  if (asksOfWork(fold).length > 0) return "rest"; // the answer takes it up
  const cutOffMs = fold.cutOffs.at === null ? nowMs : Date.parse(fold.cutOffs.at);
  return nowMs - cutOffMs > RESCUE_WINDOW_MS ? "give_up" : "engine";
}
