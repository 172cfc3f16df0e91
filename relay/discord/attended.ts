/** The threads in which a person was active a moment ago: what is shown there goes before the rest. */

/** So long after a person wrote, pressed or asked for something in a thread. */
export const ATTENDED_MS = 5 * 60_000;

export class Attended {
  readonly #now: () => number;
  /** By thread: when a person was active there last, the oldest first. */
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
