/** Which jobs led to what a thread does: a job that is among them is not started by it. Pure. */
import type { ThreadFold, WaitingMessage } from "./fold-types.ts";

const MAX_KEPT = 20;

type Caused = Pick<WaitingMessage, "causes">;

/** After these messages went to the engine: a new turn has theirs alone, one that runs has them too. */
export function causesAfter(fold: ThreadFold, messages: readonly Caused[]): Pick<ThreadFold, "causes"> {
  const before = fold.turn === null ? [] : (fold.causes ?? []);
  const causes = joinCauses(before, ...messages.map((message) => message.causes ?? []));
  return causes.length > 0 || fold.causes ? { causes } : {};
}

/** The causes of what the thread does now. Between two turns it is about to do what waits. */
export function causesNow({ turn, causes = [], messages }: ThreadFold): string[] {
  return turn === null ? joinCauses(causes, ...messages.map((message) => message.causes ?? [])) : [...causes];
}

/** Each job once. The first few are enough: a chain as long as that starts nothing more. */
export function joinCauses(...chains: readonly (readonly string[])[]): string[] {
  return [...new Set(chains.flat())].slice(0, MAX_KEPT);
}
