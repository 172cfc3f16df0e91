/** Which waiting messages go to the engine together. Pure. */
import { expandsNothing, isCommand, isForeign } from "../../shared/agent/fold-messages.ts";
import type { ThreadFold, WaitingMessage } from "../../shared/agent/fold-types.ts";

/** One message of the engine's holds so many of ours. */
const MAX_BATCH = 50;

/**
 * The next delivery's messages, in order; none if none may go in now. A command, and a text that
 * expands nothing, go alone: what they are holds for the whole of a delivery.
 */
export function nextBatch(fold: ThreadFold): WaitingMessage[] {
  if (fold.deliveries.some(({ status }) => status === "noted")) return [];
  const isWorking = fold.turn !== null || fold.deliveries.length > 0;
  const ready = fold.messages.filter(({ when }) => when === "now" || !isWorking);
  const [first] = ready;
  if (!first) return [];
  if (first.handle !== undefined) return nextBySource(ready);
  if (isAlone(first)) return [first];
  const end = ready.findIndex(isAlone);
  return ready.slice(0, Math.min(end < 0 ? ready.length : end, MAX_BATCH));
}

/** People go first, and no other's words go in under the same mark. What waits for a turn's end goes alone. */
function nextBySource(ready: readonly WaitingMessage[]): WaitingMessage[] {
  const people = ready.filter((message) => !isForeign(message));
  if (people.length > 0) return people.slice(0, MAX_BATCH);
  const others = ready.filter(({ when }) => when === "now");
  return others.length > 0 ? others.slice(0, MAX_BATCH) : ready.slice(0, 1);
}

function isAlone(message: WaitingMessage): boolean {
  return expandsNothing(message) || isCommand(message);
}
