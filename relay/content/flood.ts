/**
 * Tells a flood from output that Discord can take. Pure: the time is a parameter. If the clock was set back, what came
 * before counts as come just now.
 */

/** Discord takes one page of some 1,900 bytes a second. So much in so short a time is far more. */
const FLOOD_BYTES = 8 * 1024;
const WINDOW_MS = 500;
/** A backlog waits until nothing has come for so long, but not for longer than the second time. */
const QUIET_MS = 400;
const MAX_BACKLOG_WAIT_MS = 1_000;

export class FloodGauge {
  #fed: { at: number; bytes: number }[] = [];
  #hasMore = false;
  #backlogSince: number | undefined;

  /** @param hasMore the log holds more than was read: the end is not near. */
  note(bytes: number, hasMore: boolean, now: number): void {
    this.#setBack(now);
    this.#fed = this.#fed.filter(({ at }) => now - at < WINDOW_MS);
    if (bytes > 0) this.#fed.push({ at: now, bytes });
    this.#hasMore = hasMore;
  }

  /**
   * Until when several unsent pages wait: they may be the start of a flood, and would use up the
   * messages that its end needs. What comes in a lump and is over is sent after a moment.
   * @param hasBacklog whether several pages wait to be sent.
   */
  backlogUntil(hasBacklog: boolean, now: number): number {
    this.#setBack(now);
    if (!hasBacklog) this.#backlogSince = undefined;
    else this.#backlogSince ??= now;
    const last = this.#fed.at(-1)?.at;
    if (this.#backlogSince === undefined || last === undefined) return 0;
    return Math.min(last + QUIET_MS, this.#backlogSince + MAX_BACKLOG_WAIT_MS);
  }

  /** When the flood is over, if nothing more comes; 0 if there is none. While it goes on, look again then. */
  endsAt(now: number): number {
    this.#setBack(now);
    if (this.#hasMore) return now + WINDOW_MS;
    let bytes = 0;
    // The newest first: the flood ends when too little is left in the window.
    for (const fed of [...this.#fed].reverse()) {
      bytes += fed.bytes;
      if (bytes > FLOOD_BYTES) return fed.at + WINDOW_MS > now ? fed.at + WINDOW_MS : 0;
    }
    return 0;
  }

  #setBack(now: number): void {
    if (this.#backlogSince !== undefined) this.#backlogSince = Math.min(this.#backlogSince, now);
    if (this.#fed.some(({ at }) => at > now))
      this.#fed = this.#fed.map(({ at, bytes }) => ({ at: Math.min(at, now), bytes }));
  }
}
