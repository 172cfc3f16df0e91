/** The bot's request budget: Discord allows 50 requests a second in all, shared fairly by all threads. */
import pThrottle from "p-throttle";
import { pause } from "../../shared/lifecycle.ts";

export interface Budget {
  /**
   * Runs `task`, one step of streaming, when its turn has come. First come, first served: with one task a thread
   * that is round robin.
   */
  run: <T>(task: () => Promise<T>) => Promise<T>;
  /** Resolves when one more request may be made; what people wait for passes ahead of the streams. */
  pass: () => Promise<void>;
  /** Discord said "too fast": no stream starts for so long, and then at half the speed for a while. */
  slowDown: (retryAfterMs: number) => void;
}

export interface BudgetOptions {
  /** For everything. */
  requestsPerSecond?: number;
  /** For streams, of those: the difference is kept for people. */
  streamsPerSecond?: number;
  now?: () => number;
}

const SLOW_MS = 30_000;
/**
 * Requests are spread over the second, two at a time: what leaves in a bunch arrives in a bunch, and one that is
 * held up on the way would fall into the next second's. For the same reason each waits until the one before has
 * left: after a hold-up nothing is made up for.
 */
const BUNCH = 2;

export function createBudget({
  requestsPerSecond = 43,
  streamsPerSecond = 38,
  now = Date.now,
}: BudgetOptions = {}): Budget {
  const start = (perSecond: number) => {
    const leave = pThrottle({ limit: BUNCH, interval: (BUNCH * 1_000) / perSecond, strict: true })(
      () => undefined,
    );
    let last: Promise<void> = Promise.resolve();
    return () => {
      last = last.then(leave);
      return last;
    };
  };
  const pass = start(requestsPerSecond);
  const normal = start(streamsPerSecond);
  const slow = start(streamsPerSecond / 2);
  let pausedUntil = 0;
  let slowUntil = 0;
  return {
    run: async (task) => {
      // Both are buckets of their own: while slow, a task passes through both.
      if (now() < slowUntil) await slow();
      await normal();
      for (let waitMs = pausedUntil - now(); waitMs > 0; waitMs = pausedUntil - now()) await pause(waitMs);
      return task();
    },
    pass,
    slowDown: (retryAfterMs) => {
      pausedUntil = Math.max(pausedUntil, now() + retryAfterMs);
      slowUntil = now() + retryAfterMs + SLOW_MS;
    },
  };
}
