/** Bounds how fast callers may type into one thread. Pure but for the clock that it is given. */
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";

const INPUTS_PER_SECOND = 1_000;
const BYTES_PER_SECOND = 1024 * 1024;
/** A thread that was quiet may get this many seconds' worth at once. */
const BURST_SECONDS = 4;

/** Each thread has a bucket. No person types so fast, but a program that runs away would fill tmux's memory. */
export class InputLimit {
  readonly #buckets = new Map<string, { inputs: number; bytes: number; at: number }>();
  readonly #now: () => number;

  get size(): number {
    return this.#buckets.size;
  }

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Takes one input of so many bytes from the thread's bucket. A refused input takes nothing.
   * @throws AppError `rate_limited` that says when to come back.
   */
  take(threadId: ThreadId, bytes: number): void {
    const now = this.#now();
    const full = { inputs: INPUTS_PER_SECOND * BURST_SECONDS, bytes: BYTES_PER_SECOND * BURST_SECONDS };
    const before = this.#buckets.get(threadId) ?? { ...full, at: now };
    const seconds = Math.max(0, now - before.at) / 1_000;
    const bucket = {
      inputs: Math.min(full.inputs, before.inputs + seconds * INPUTS_PER_SECOND) - 1,
      bytes: Math.min(full.bytes, before.bytes + seconds * BYTES_PER_SECOND) - bytes,
      at: now,
    };
    if (bucket.inputs < 0 || bucket.bytes < 0) {
      const wait = Math.max(-bucket.inputs / INPUTS_PER_SECOND, -bucket.bytes / BYTES_PER_SECOND);
      throw new AppError(
        "rate_limited",
        `Input for this thread comes too fast; try again in ${Math.max(0.1, wait).toFixed(1)} s.`,
      );
    }
    // The map keeps buckets by their last use, oldest first. A bucket that has had time to fill again is dropped: no
    // bucket means a full one.
    this.#buckets.delete(threadId);
    this.#buckets.set(threadId, bucket);
    for (const [id, { at }] of this.#buckets) {
      if (now - at < BURST_SECONDS * 1_000) break;
      this.#buckets.delete(id);
    }
  }
}
