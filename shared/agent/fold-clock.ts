/** The part of the fold that knows how long turns have run. */
import type { ThreadEvent } from "./events.ts";
import { hasAskOfWork } from "./fold-held.ts";
import type { ThreadFold } from "./fold-types.ts";
import { isQueued, onlyAwaits } from "./waits.ts";

/**
 * The clock stands while the turn waits for a person, a place, or nothing but children, whose own clocks run then.
 *
 * Only what the engine prints is a sign of its life: what closes a dead one's turn may be written long after. So of a
 * turn that was killed the time up to its last line counts.
 */
export function foldClock(
  before: ThreadFold,
  after: ThreadFold,
  { id, ts }: ThreadEvent,
): ThreadFold["clock"] {
  const { since } = before.clock;
  const isSign = id.startsWith("e");
  const ranMs = since !== null && isSign ? Math.max(0, Date.parse(ts) - Date.parse(since)) : 0;
  const isWaiting = hasAskOfWork(after) || isQueued(after) || onlyAwaits(after);
  const isRunning = after.turn !== null && !isWaiting;
  return { ms: before.clock.ms + ranMs, since: isRunning ? (isSign ? ts : (since ?? ts)) : null };
}
