/** The bot's request budget for streaming, shared fairly by all threads. */
import pThrottle from "p-throttle";
import { pause } from "../shared/lifecycle.ts";

export interface Budget {
  /** Runs `task` when its turn has come. First come, first served: with one task a thread that is round robin. */
  run: <T>(task: () => Promise<T>) => Promise<T>;
  /** Discord said "too fast": nothing is started for so long, and then at half the speed for a while. */
  slowDown: (retryAfterMs: number) => void;
}

const SLOW_MS = 30_000;

/**
 * Discord allows a bot 50 requests a second in all. `perSecond` of them are for streaming; what is left is for
 * answers to people, which do not wait here.
 */
export function createBudget(perSecond = 40, now: () => number = Date.now): Budget {
  const start = (limit: number) =>
    pThrottle({ limit, interval: 1_000, strict: true })(() => Promise.resolve());
  const normal = start(perSecond);
  const slow = start(Math.ceil(perSecond / 2));
  let pausedUntil = 0;
  let slowUntil = 0;
  return {
    run: async (task) => {
      // Both are buckets of their own: while slow, a task passes through both.
      if (now() < slowUntil) await slow();
      await normal();
      const waitMs = pausedUntil - now();
      if (waitMs > 0) await pause(waitMs);
      return task();
    },
    slowDown: (retryAfterMs) => {
      pausedUntil = Math.max(pausedUntil, now() + retryAfterMs);
      slowUntil = now() + retryAfterMs + SLOW_MS;
    },
  };
}
