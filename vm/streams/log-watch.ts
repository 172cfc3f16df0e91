/** Wakes readers who wait for output: by file notification, and by a slow look where that fails. */
import { onAbort } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { FolderWatch } from "./folder-watch.ts";

/** A waiting reader looks by itself this often, whatever the file system's notifications do. */
const FALLBACK_INTERVAL_MS = 1_000;

/**
 * After so many notices in a row that came while nobody waited for anything, the watch rests until somebody waits again.
 * Each notice wakes the process: a flood that nobody reads cost it a seventh of a core.
 */
const UNHEARD = 64;

/** A watch that has failed, since the system gives no more of them, is tried again so long after by whoever waits then. */
const RETRY_MS = 10_000;

/** One watch of the logs' folder for all threads: nothing is polled for a thread that nobody waits for. */
export class LogWatch {
  readonly #waiters = new Map<string, Set<() => void>>();
  readonly #logsDir: string;
  readonly #log: Log;
  readonly #now: () => number;
  /** Undefined while it rests. A watch that has failed stays until the next try, and tells nothing. */
  #watch: FolderWatch | undefined;
  /** The first of the failures in a row is told, the last one says when to try again. */
  #failedAt: number | undefined;
  #unheard = 0;
  #isClosed = false;

  /** @param now in milliseconds, of a clock that nobody sets. */
  constructor(logsDir: string, log: Log, now: () => number = () => performance.now()) {
    this.#logsDir = logsDir;
    this.#log = log;
    this.#now = now;
    this.#watchAgain();
  }

  /** If it does not watch, and has not failed to a moment ago. */
  #watchAgain(): void {
    if (this.#watch?.isWorking) return;
    if (this.#watch && this.#now() - (this.#failedAt ?? 0) < RETRY_MS) return;
    this.#watch = this.#newWatch();
    if (this.#watch.isWorking) this.#failedAt = undefined;
  }

  #newWatch(): FolderWatch {
    this.#unheard = 0;
    return new FolderWatch(
      this.#logsDir,
      (name) => {
        if (this.#waiters.size === 0) this.#noteUnheard();
        else if (name.endsWith(".log")) this.notify(name.slice(0, -".log".length));
      },
      (error) => {
        const isTold = this.#failedAt !== undefined;
        this.#failedAt = this.#now();
        if (isTold) return;
        this.#log.warn(
          { err: error },
          "the logs' folder can't be watched; readers look once a second instead",
        );
      },
    );
  }

  #noteUnheard(): void {
    this.#unheard++;
    if (this.#unheard < UNHEARD) return;
    this.#watch?.close();
    this.#watch = undefined;
  }

  /** Something about the thread has changed: its log, its status. */
  notify(threadId: string): void {
    for (const wake of [...(this.#waiters.get(threadId) ?? [])]) wake();
  }

  /**
   * Begins to listen for changes of any of the threads; `wait` resolves at the first one since then, at the latest
   * after `ms`, when `signal` fires, or after a second so that the caller looks again. `end` must be called.
   */
  listen(threadIds: readonly string[]): {
    wait: (ms: number, signal: AbortSignal) => Promise<void>;
    end: () => void;
  } {
    if (!this.#isClosed) this.#watchAgain();
    this.#unheard = 0;
    let hasChanged = false;
    let resolveWait: (() => void) | undefined;
    const wake = () => {
      hasChanged = true;
      resolveWait?.();
    };
    for (const threadId of threadIds) {
      const waiters = this.#waiters.get(threadId) ?? new Set();
      this.#waiters.set(threadId, waiters.add(wake));
    }
    return {
      wait: async (ms, signal) => {
        if (!hasChanged && !signal.aborted && !this.#isClosed) {
          await new Promise<void>((resolve) => {
            const done = () => {
              clearTimeout(timer);
              signal.removeEventListener("abort", done);
              resolve();
            };
            const timer = setTimeout(done, Math.min(ms, FALLBACK_INTERVAL_MS));
            onAbort(signal, done);
            resolveWait = done;
          });
        }
        hasChanged = false;
        resolveWait = undefined;
      },
      end: () => {
        for (const threadId of threadIds) {
          const waiters = this.#waiters.get(threadId);
          waiters?.delete(wake);
          if (waiters?.size === 0) this.#waiters.delete(threadId);
        }
      },
    };
  }

  /** Wakes everybody for the last time. */
  close(): void {
    this.#isClosed = true;
    this.#watch?.close();
    for (const threadId of [...this.#waiters.keys()]) this.notify(threadId);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }
}
