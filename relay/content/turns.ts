/** The event loop's time, shared by all documents: whatever they are fed, none of them and not all together hold it. */

/** After so long the others' turn has come. */
const MAX_TURN_MS = 8;

export class Turns {
  readonly #waiting: (() => void)[] = [];
  #startedMs = performance.now();
  #isArmed = false;

  /** Whether whoever works now has worked long enough, together with all that worked before it. */
  get isOver(): boolean {
    return this.#waiting.length > 0 || performance.now() - this.#startedMs > MAX_TURN_MS;
  }

  /** Resolves when the event loop has run once for each of those that wait already: one works at a time. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#arm();
    });
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    setImmediate(() => {
      this.#isArmed = false;
      this.#startedMs = performance.now();
      this.#waiting.shift()?.();
      // An immediate that is made within another one runs after the loop has looked at everything else.
      if (this.#waiting.length > 0) this.#arm();
    });
  }
}

/** Those of this process: there is one event loop. */
export const turns = new Turns();
