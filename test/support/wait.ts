/** Waits for a condition with a deadline; tests never sleep a fixed time. */
import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";

export interface UntilOptions {
  timeoutMs?: number;
  intervalMs?: number;
}

/**
 * Polls `condition` until it gives something truthy, and returns that. A throwing condition counts as not yet.
 * @throws Error that says what was waited for and what the condition gave last.
 */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  { timeoutMs = 25_000, intervalMs = 20 }: UntilOptions = {},
): Promise<Exclude<Awaited<T>, undefined | null | false>> {
  const deadline = Date.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    let isMet = false;
    try {
      last = await condition();
      isMet = Boolean(last);
    } catch (error) {
      last = error;
    }
    if (isMet) return last as Exclude<Awaited<T>, undefined | null | false>;
    if (Date.now() >= deadline) {
      const seen = inspect(last, { depth: 4, maxStringLength: 1_000, breakLength: 120 });
      throw new Error(`waited ${timeoutMs} ms for ${what}; last seen: ${seen}`);
    }
    await sleep(intervalMs);
  }
}

/**
 * Polls `read` until `expected` holds for what it gives, and returns that: the failure shows the value.
 * @throws Error as {@link until}.
 */
export async function untilValue<T>(
  what: string,
  read: () => T | Promise<T>,
  expected: (value: T) => boolean,
  { timeoutMs = 25_000, intervalMs = 20 }: UntilOptions = {},
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await read();
    if (expected(value)) return value;
    if (Date.now() >= deadline) {
      const seen = inspect(value, { depth: 4, maxStringLength: 1_000, breakLength: 120 });
      throw new Error(`waited ${timeoutMs} ms for ${what}; last seen: ${seen}`);
    }
    await sleep(intervalMs);
  }
}
