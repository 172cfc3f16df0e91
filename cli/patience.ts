import { AppError } from "../shared/errors.ts";
import { pause } from "../shared/lifecycle.ts";
import { SlowAnswer } from "../shared/whole-answer.ts";

/** A sidecar that restarts is away for a second or two; a longer silence is worth a failure. */
const MAX_SILENCE_MS = 60_000;
/** One that takes requests and is slow to answer is at work: on a machine that is busy enough, for minutes. */
const MAX_SLOWNESS_MS = 10 * 60_000;

/** Calls again while no sidecar answers, once one has answered or has at least taken a request. */
export class Patience {
  readonly #onSilence: () => Promise<void>;
  #isThere = false;

  constructor(onSilence: () => Promise<void>) {
    this.#onSilence = onSilence;
  }

  /**
   * @param signal ends the waiting: then the last error is thrown.
   * @throws what `request` throws, if it is not `unavailable`, or has been for {@link MAX_SILENCE_MS}, or for
   * {@link MAX_SLOWNESS_MS} while somebody listens.
   */
  async call<T>(request: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const startedAt = performance.now();
    for (let waitMs = 100, isFirst = true; ; waitMs = Math.min(waitMs * 2, 2_000), isFirst = false) {
      try {
        const result = await request();
        this.#isThere = true;
        return result;
      } catch (error) {
        const isSilent = error instanceof AppError && error.code === "unavailable";
        const isListening = isSilent && error.cause instanceof SlowAnswer;
        if (isListening) this.#isThere = true;
        const patienceMs = isListening ? MAX_SLOWNESS_MS : MAX_SILENCE_MS;
        if (!isSilent || !this.#isThere || performance.now() - startedAt >= patienceMs) throw error;
        if (isFirst) await this.#onSilence();
        await pause(waitMs, signal);
        if (signal?.aborted) throw error;
      }
    }
  }
}
