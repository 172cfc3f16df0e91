/** Requests to Discord, each tried until it is answered: deadlines, back-off, rate limits. */
import type * as z from "zod";
import { pause, withTimeout } from "../../shared/lifecycle.ts";
import { findRetryAfterMs, isTransient } from "./refusals.ts";

/** discord.js' own timer ends with the headers; a body that stalls would hang for minutes. */
const DEADLINE_MS = 10_000;
const RETRIES = 4;

export interface RequestOptions {
  /** False if a request that failed half-way may have taken effect and must not be made again. */
  isRepeatable?: boolean;
  /** Is told each time how long Discord makes this request wait. May throw to give up. */
  onWait?: (ms: number) => void;
}

export class Requests {
  readonly #signal: AbortSignal;
  readonly #gate: () => Promise<void>;
  readonly #leaving = new AbortController();

  /**
   * @param signal ends every request.
   * @param gate is passed before every request, also before one that is tried again.
   */
  constructor(signal: AbortSignal, gate: () => Promise<void>) {
    this.#signal = signal;
    this.#gate = gate;
  }

  /** From now on nothing is waited for and nothing tried again; requests under way may end well. */
  leave(): void {
    this.#leaving.abort();
  }

  /**
   * Tries again after 5xx, timeouts and broken connections: discord.js does so at once or not at all. A rate limit
   * is waited for here, outside of the deadline: it delays this request alone and is no failed try.
   */
  async call<S extends z.ZodType>(
    schema: S,
    request: (signal: AbortSignal) => Promise<unknown>,
    { isRepeatable = true, onWait }: RequestOptions = {},
  ): Promise<z.output<S>> {
    for (let failures = 0; ; ) {
      await this.#gate();
      try {
        return schema.parse(await withTimeout(DEADLINE_MS, [this.#signal], request));
      } catch (error) {
        const retryAfterMs = findRetryAfterMs(error);
        if (retryAfterMs === undefined) {
          if (!isRepeatable || failures >= RETRIES || !isTransient(error)) throw error;
          failures += 1;
        } else {
          onWait?.(retryAfterMs);
        }
        await pause(retryAfterMs ?? 125 * 2 ** failures, this.#leaving.signal);
        if (this.#signal.aborted || this.#leaving.signal.aborted) throw error;
      }
    }
  }
}
