/** Tells a flood from output that Discord can take. Pure: the time is a parameter. */

/** Discord takes one page of some 1,900 bytes a second. So much in so short a time is far more. */
const FLOOD_BYTES = 8 * 1024;
const WINDOW_MS = 500;

export class FloodGauge {
  #fed: { at: number; bytes: number }[] = [];
  #hasMore = false;

  /** @param hasMore the log holds more than was read: the end is not near. */
  note(bytes: number, hasMore: boolean, now: number): void {
    this.#fed = this.#fed.filter(({ at }) => now - at < WINDOW_MS);
    if (bytes > 0) this.#fed.push({ at: now, bytes });
    this.#hasMore = hasMore;
  }

  /** When the flood is over, if nothing more comes; 0 if there is none. While it goes on, look again then. */
  endsAt(now: number): number {
    if (this.#hasMore) return now + WINDOW_MS;
    let bytes = 0;
    // The newest first: the flood ends when too little is left in the window.
    for (const fed of [...this.#fed].reverse()) {
      bytes += fed.bytes;
      if (bytes > FLOOD_BYTES) return fed.at + WINDOW_MS > now ? fed.at + WINDOW_MS : 0;
    }
    return 0;
  }
}
