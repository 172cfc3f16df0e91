/** What the state folder may hold: ended threads go by age, or sooner if all threads together take too much. */
import { isOpen } from "../../shared/api.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import type { Sizes } from "./sizes.ts";
import type { Threads } from "./threads.ts";

const HOUR_MS = 3_600_000;
/** No log is made smaller than this because of what other threads take. */
const KEPT_LOG_BYTES = 256 * 1024;

export interface RetentionOptions {
  store: Store;
  threads: Threads;
  sizes: Sizes;
  queue: KeyedQueue;
  /** Gives back all but the last bytes of a thread's log; the caller holds the thread's queue. */
  shrinkLog: (threadId: ThreadId, keepBytes: number) => Promise<void>;
  logRetentionHours: number;
  /** The most that all threads together take: their logs, and what their kinds keep in files. */
  stateMaxBytes: number;
  log: Log;
  now: () => number;
}

export class Retention {
  readonly #options: RetentionOptions;
  /** Said once, and again after there was room. */
  #isOverFull = false;

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  /** Removes what ended too long ago. */
  async removeOld(): Promise<void> {
    const { store, logRetentionHours, log, now } = this.#options;
    for (const row of store.threads.list("ended")) {
      if (now() - (row.endedAt ?? row.createdAt) < logRetentionHours * HOUR_MS) continue;
      if (await this.#remove(row)) log.info({ threadId: row.threadId }, "removed an old thread");
    }
  }

  /**
   * Holds all threads together to their bound. Ended ones go first, the oldest before the others, with everything
   * that is kept of them; then the largest log of an open one is halved. An open agent's folder is never touched: it
   * is the conversation.
   */
  async boundTotal(): Promise<void> {
    const { sizes, stateMaxBytes, queue, shrinkLog, log } = this.#options;
    const sized = await sizes.list();
    let total = sized.reduce((sum, { logBytes, kindBytes }) => sum + logBytes + kindBytes, 0);
    const ended = sized
      .filter(({ row }) => !isOpen(row.status))
      .sort((one, other) => (one.row.endedAt ?? 0) - (other.row.endedAt ?? 0));
    for (const { row, logBytes, kindBytes } of ended) {
      if (total <= stateMaxBytes) break;
      if (!(await this.#remove(row))) continue;
      total -= logBytes + kindBytes;
      log.warn({ threadId: row.threadId }, "removed an ended thread: all threads together are too large");
    }
    if (total <= stateMaxBytes) {
      this.#isOverFull = false;
      return;
    }
    const open = sized.filter(({ row }) => isOpen(row.status));
    const largest = open.sort((one, other) => other.logBytes - one.logBytes)[0];
    if (largest && largest.logBytes > KEPT_LOG_BYTES) {
      const { row, logBytes } = largest;
      return queue.run(row.threadId, () => shrinkLog(row.threadId, Math.floor(logBytes / 2)));
    }
    if (!this.#isOverFull) log.error({ total, stateMaxBytes }, "open threads take more than STATE_MAX_BYTES");
    this.#isOverFull = true;
  }

  /** In the thread's queue: its end may be under way, or a new thread of the same id. @returns whether it was there. */
  #remove({ threadId, marker }: StoredThread): Promise<boolean> {
    const { store, threads, queue } = this.#options;
    return queue.run(threadId, async () => {
      const row = store.threads.find(threadId);
      if (row?.marker !== marker || isOpen(row.status)) return false;
      threads.remove(threadId);
      return true;
    });
  }
}
