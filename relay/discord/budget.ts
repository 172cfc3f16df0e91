/** The bot's request budget: Discord allows 50 requests a second in all, shared fairly by people, then by threads. */
import pThrottle from "p-throttle";
import { onAbort, pause } from "../../shared/lifecycle.ts";
import { FairQueue } from "./fair-queue.ts";

export interface Budget {
  /**
   * Runs `task`, one step of streaming, when its turn has come. People take turns over all channels, and each person's
   * threads do: forty floods of one person leave every other person as large a share as one flood would.
   * @returns undefined if it was never run, because the signal came before
   */
  run: <T>(task: () => Promise<T>, share?: Share) => Promise<T | undefined>;
  /** Whether steps wait for their turn: what is mere comfort is left out then. */
  isBusy: () => boolean;
  /** Resolves when one more request may be made; what people wait for passes ahead of the streams. */
  pass: () => Promise<void>;
  /**
   * Discord said that the bot as a whole is too fast (a `global` 429). No stream starts for so long, and then the
   * streams go at half the speed for a while. A limit of one route or channel must not come here: it holds up
   * only what runs into it (see `requests.ts`).
   */
  slowDown: (retryAfterMs: number) => void;
}

/** The person and the thread whose part of the budget a step takes. */
export interface Share {
  /** The person whose thread it is. */
  owner?: string;
  /** The thread of the step; a thread has one step at a time. */
  threadId?: string;
  /** Ends the wait. */
  signal?: AbortSignal;
}

export interface BudgetOptions {
  /** For everything. */
  requestsPerSecond?: number;
  /** For streams, of those: the difference is kept for people. */
  streamsPerSecond?: number;
  /** In milliseconds, of a clock that nobody sets. */
  now?: () => number;
  /**
   * Tells whether a person is in that thread now: its steps go before the rest of its owner's, and its owner before
   * others.
   */
  isAttended?: (threadId: string) => boolean;
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
  now = () => performance.now(),
  isAttended = () => false,
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
  const waiting = new FairQueue<() => void>(isAttended);
  let pausedUntil = 0;
  let slowUntil = 0;
  /** Makes one place, and gives it to whoever's turn it is by then. */
  const makePlace = async () => {
    // Both are buckets of their own: while slow, a place passes through both.
    if (now() < slowUntil) await slow();
    await normal();
    for (let waitMs = pausedUntil - now(); waitMs > 0; waitMs = pausedUntil - now()) await pause(waitMs);
    waiting.shift()?.();
  };
  return {
    run: async (task, { owner = "", threadId = "", signal } = {}) => {
      if (signal?.aborted) return undefined;
      // As many places are made as tasks wait, so every task gets one; the place of one that has left stays empty.
      await new Promise<void>((resolve) => {
        const done = () => {
          signal?.removeEventListener("abort", done);
          resolve();
        };
        waiting.push(owner, done, threadId);
        onAbort(signal, done);
        void makePlace();
      });
      return signal?.aborted ? undefined : task();
    },
    isBusy: () => !waiting.isEmpty || pausedUntil > now(),
    pass,
    slowDown: (retryAfterMs) => {
      pausedUntil = Math.max(pausedUntil, now() + retryAfterMs);
      slowUntil = now() + retryAfterMs + SLOW_MS;
    },
  };
}
