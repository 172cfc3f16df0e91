/** Waiting for something to become true of the world, with a deadline. */
import type { World } from "./state.ts";

const DEFAULT_TIMEOUT_MS = 25_000;
const POLL_MS = 25;

/** `what` goes into the error of a wait that was in vain. */
export type WaitOptions = { what: string; timeoutMs?: number };

/**
 * The first value of `check` that is neither undefined, null nor false; looked at again after every change.
 * @throws Error naming `what` after `timeoutMs` (25 s); whatever `check` throws
 */
export function untilWorld<T>(
  world: World,
  check: () => T,
  { what, timeoutMs = DEFAULT_TIMEOUT_MS }: WaitOptions,
): Promise<Exclude<T, undefined | null | false>> {
  return new Promise((resolve, reject) => {
    const finish = (act: () => void) => {
      clearInterval(poll);
      clearTimeout(deadline);
      unsubscribe();
      act();
    };
    const look = () => {
      try {
        const value = check();
        if (value === undefined || value === null || value === false) return;
        finish(() => resolve(value as Exclude<T, undefined | null | false>));
      } catch (error) {
        finish(() => reject(error));
      }
    };
    const unsubscribe = world.onEvent(() => queueMicrotask(look));
    const poll = setInterval(look, POLL_MS);
    const deadline = setTimeout(
      () => finish(() => reject(new Error(`did not happen within ${timeoutMs} ms: ${what}`))),
      timeoutMs,
    );
    look();
  });
}
