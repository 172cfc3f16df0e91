/** What an answer leaves to do for nobody who waits: its log line, its figures. */

/** Long enough for what the answer set off to come in first; short beside anybody's look into the log. */
const DELAY_MS = 5;

const left: (() => void)[] = [];

/**
 * Does the work a few milliseconds later, in order, at the latest when the process exits. Right behind an answer it
 * would hold up what comes in just then: behind an input its echo, by a seventh of the time from a key to it.
 */
export function afterwards(work: () => void): void {
  if (left.push(work) === 1) setTimeout(doWhatIsLeft, DELAY_MS);
}

/**
 * Does what is left. A stop calls it before it closes what the work writes to. A request for the figures calls it before
 * it reads them.
 */
export function doWhatIsLeft(): void {
  for (const work of left.splice(0)) work();
}

process.once("exit", doWhatIsLeft); // of a stop that ran out of time
