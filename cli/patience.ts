import { AppError } from "../shared/errors.ts";
import { pause } from "../shared/lifecycle.ts";

/** A sidecar that restarts is away for a second or two; a longer silence is worth a failure. */
const MAX_SILENCE_MS = 60_000;

/** Calls again while no sidecar answers, once one has answered or has at least taken a request. */
export class Patience {
  readonly #onSilence: () => Promise<void>;
  #isThere = false;

  constructor(onSilence: () => Promise<void>) {
    this.#onSilence = onSilence;
  }

  /**
   * @param signal ends the waiting: then the last error is thrown.
   * @throws what `request` throws, if it is not `unavailable`, or has been for {@link MAX_SILENCE_MS}.
   */
  async call<T>(request: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const deadline = performance.now() + MAX_SILENCE_MS;
    for (let waitMs = 100, isFirst = true; ; waitMs = Math.min(waitMs * 2, 2_000), isFirst = false) {
      try {
        const result = await request();
        this.#isThere = true;
        return result;
      } catch (error) {
        const isSilent = error instanceof AppError && error.code === "unavailable";
        if (isSilent && isSlow(error)) this.#isThere = true;
        if (!isSilent || !this.#isThere || performance.now() >= deadline) throw error;
        if (isFirst) await this.#onSilence();
        await pause(waitMs, signal);
        if (signal?.aborted) throw error;
      }
    }
  }
}

/** Somebody listens, and took longer than we wait; if nobody does, `fetch` itself fails, with a TypeError. */
function isSlow({ cause }: AppError): boolean {
  return cause instanceof Error && !(cause instanceof TypeError);
}
