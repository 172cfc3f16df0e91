/** How often a hook is called. */

const MINUTE_MS = 60_000;

/** Counts by name and minute; a name that has been quiet for a minute takes no memory. */
export class Rates {
  #minutes = new Map<string, { since: number; count: number }>();

  /** @returns 0 if one more may come now, which is counted; else in how many seconds */
  take(name: string, perMinute: number, now: number): number {
    const minute = this.#minutes.get(name);
    // A clock that was set back begins anew.
    const isOver = !minute || now < minute.since || now - minute.since >= MINUTE_MS;
    if (isOver) {
      this.#forget(now);
      this.#minutes.set(name, { since: now, count: 1 });
      return 0;
    }
    if (minute.count >= perMinute) return Math.ceil((minute.since + MINUTE_MS - now) / 1000);
    minute.count += 1;
    return 0;
  }

  #forget(now: number): void {
    for (const [name, { since }] of this.#minutes) {
      if (since <= now && now - since < MINUTE_MS) return; // those that follow began later
      this.#minutes.delete(name);
    }
  }
}
