/** An ask that a restarted engine repeats. Pure. */
import type { RecordedAnswer, ThreadFold } from "../../shared/agent/fold-types.ts";

/**
 * Finds the ask about the same call that an earlier process left, with its answer if a person has given one.
 * @param callKey names the call, see callKeyOf
 * @param generation of the process that asks now
 */
export function findEarlierAsk(
  fold: ThreadFold,
  callKey: string,
  generation: number,
): { requestId: string; response?: RecordedAnswer["response"] } | undefined {
  const isEarlier = (one: { callKey: string; generation: number }) =>
    one.callKey === callKey && one.generation < generation;
  return fold.recordedAnswers.find(isEarlier) ?? fold.asks.find(isEarlier);
}
