/** The bot's request budget for streaming, shared fairly by all threads. */
import pThrottle from "p-throttle";

export interface Budget {
  /** Runs `task` when its turn has come. First come, first served: with one task a thread that is round robin. */
  run: <T>(task: () => Promise<T>) => Promise<T>;
}

/**
 * Discord allows a bot 50 requests a second in all. `perSecond` of them are for streaming; what is left is for
 * answers to people, which do not wait here.
 */
export function createBudget(perSecond = 40): Budget {
  const throttle = pThrottle({ limit: perSecond, interval: 1_000, strict: true });
  const throttled = throttle((task: () => Promise<unknown>) => task());
  return { run: async <T>(task: () => Promise<T>) => (await throttled(task)) as T };
}
