/** Tries until it works: Discord and the sidecar may be away when the relay starts, and come back. */
import type { Log } from "../../shared/log.ts";
import { retry } from "../../shared/retry.ts";

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
  return retry({ firstMs: 500, longestMs: MAX_BACKOFF_MS, signal }, work, (error, waitMs) => {
    const problem = findProblem?.(error);
    if (problem !== undefined) throw new Error(problem, { cause: error });
    log.warn({ err: error, waitMs }, `could not ${what}; trying again`);
  });
}
