/** Tries until it works: Discord and the sidecar may be away when the relay starts, and come back. */
import { pause } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";

const MAX_BACKOFF_MS = 5_000;

export interface UntilItWorksOptions {
  /** As in "could not … ; trying again". */
  what: string;
  log: Log;
  /** Ends the tries. */
  signal: AbortSignal;
  /** @returns why no try will ever work, in words for a person; undefined if one may. */
  findProblem?: (error: unknown) => string | undefined;
}

/**
 * @returns what `work` returned; undefined if `signal` fired before it worked.
 * @throws Error with the problem's words.
 */
export async function untilItWorks<T>(
  { what, log, signal, findProblem }: UntilItWorksOptions,
  work: () => Promise<T>,
): Promise<T | undefined> {
  for (let waitMs = 500; !signal.aborted; waitMs = Math.min(waitMs * 2, MAX_BACKOFF_MS)) {
    try {
      return await work();
    } catch (error) {
      const problem = findProblem?.(error);
      if (problem !== undefined) throw new Error(problem, { cause: error });
      log.warn({ err: error, waitMs }, `could not ${what}; trying again`);
      await pause(waitMs, signal);
    }
  }
  return undefined;
}
