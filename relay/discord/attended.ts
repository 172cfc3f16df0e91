/** The threads in which a person was active a moment ago; their updates go before those of other threads. */

/** Time for which a thread is attended after a person wrote, pressed or asked for something there, in milliseconds. */
export const ATTENDED_MS = 5 * 60_000;

export class Attended {
  readonly #now: () => number;
  /** The time of a person's last activity in each thread, in milliseconds; the oldest comes first. */
  readonly #at = new Map<string, number>();

  /** @param now in milliseconds, of a clock that nobody sets */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  note(threadId: string): void {
    this.#at.delete(threadId);
    this.#at.set(threadId, this.#now());
    for (const [other] of this.#at) {
      if (this.has(other)) break;
      this.#at.delete(other);
    }
  }

  has(threadId: string): boolean {
    const at = this.#at.get(threadId);
    return at !== undefined && this.#now() - at < ATTENDED_MS;
  }
}
