/**
 * How the cost of a step over a text grows with the text. Times of one run are compared with each other, so a slow or
 * busy machine moves both sides.
 */

/** What grows by repeating a part of it. */
export interface Growing<T extends { readonly length: number }> {
  readonly name: string;
  readonly make: (count: number) => T;
}
export type GrowingText = Growing<string>;

const COUNTS = [400, 6_400, 51_200, 102_400];
/** No text of an agent is longer: an event has at most 64 KiB. */
const MAX_UNITS = 250_000;
/** So much more than the text may the time grow. A quadratic step's grows 16 times as much. */
const MAX_EXCESS = 3;
/** To compile and to collect garbage takes so long at any size. A quadratic step takes far longer at the last ones. */
const NOISE_MS = 15;
/**
 * Tried again for so long while it looks fast. What other threads of the process do counts too: V8 marks a large heap of
 * the tests before beside the step, for some hundred milliseconds, in which no try is quick.
 */
const TRY_MS = 2_000;

/**
 * Runs `step` over the text at growing sizes, and stops at the first at which its time grew faster than the text.
 * @returns a sentence about that, or undefined
 */
export function findFastGrowth<T extends { readonly length: number }>(
  { name, make }: Growing<T>,
  step: (text: T) => unknown,
  counts: readonly number[] = COUNTS,
): string | undefined {
  let [before, beforeMs] = [0, Number.POSITIVE_INFINITY];
  for (const count of counts) {
    const text = make(count);
    if (text.length > MAX_UNITS) break;
    const growth = text.length / Math.max(1, before);
    let ms = cpuMsOf(() => step(text));
    const isFast = () => ms > MAX_EXCESS * growth * beforeMs + NOISE_MS;
    // What else the process does only adds to a time.
    for (const end = performance.now() + TRY_MS; isFast() && performance.now() < end; )
      ms = Math.min(
        ms,
        cpuMsOf(() => step(text)),
      );
    if (isFast())
      return `${name}: ${before} → ${text.length} units, ${beforeMs.toFixed(1)} → ${ms.toFixed(1)} ms`;
    [before, beforeMs] = [text.length, ms];
  }
  return undefined;
}

function cpuMsOf(work: () => unknown): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}
