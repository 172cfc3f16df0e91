import { pause } from "./lifecycle.ts";

export interface Patience {
  /** The wait after the first failure; after each further one it is twice as long. */
  firstMs: number;
  longestMs: number;
  /** Ends the tries. */
  signal: AbortSignal;
}

/**
 * Does `work` until it works.
 * @param onFailure is told each failure with the wait before the next try, and throws if there is to be none
 * @returns what `work` returned; undefined if the signal fired before it worked
 */
export async function retry<T>(
  { firstMs, longestMs, signal }: Patience,
  work: () => Promise<T>,
  onFailure: (error: unknown, waitMs: number) => void,
): Promise<T | undefined> {
  for (let waitMs = firstMs; !signal.aborted; waitMs = Math.min(waitMs * 2, longestMs)) {
    try {
      return await work();
    } catch (error) {
      onFailure(error, waitMs);
      await pause(waitMs, signal);
    }
  }
  return undefined;
}
