/** What waits for its turn: owners take turns, and what one owner has waiting goes first come, first served. */

interface Waiting<T> {
  readonly item: T;
  readonly place: string;
}

/** Most owners whose last turn is remembered; the oldest turn is forgotten first. */
const MAX_KEPT = 1_000;

export class FairQueue<T> {
  /** Tells whether items of this place go before the rest. */
  readonly #isFirst: (place: string) => boolean;
  /** The items of each owner, in the order of the owners' turns. No list is ever empty. */
  readonly #waiting = new Map<string, Waiting<T>[]>();
  /** The number of each owner's last turn. */
  readonly #turnOf = new Map<string, number>();
  #turn = 0;

  constructor(isFirst: (place: string) => boolean = () => false) {
    this.#isFirst = isFirst;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  push(owner: string, item: T, place = ""): void {
    const items = this.#waiting.get(owner);
    if (items) items.push({ item, place });
    else this.#waiting.set(owner, [{ item, place }]);
  }

  /**
   * Takes the next owner's next item; that owner's next turn comes after everybody else's. An owner with an item that
   * goes first comes before those without, but has no more turns than they: one in each round.
   */
  shift(): T | undefined {
    const next = this.#findHurried() ?? this.#findNext();
    if (!next) return undefined;
    const { owner, items, at } = next;
    const [taken] = items.splice(at, 1);
    this.#waiting.delete(owner);
    if (items.length > 0) this.#waiting.set(owner, items);
    this.#noteTurn(owner);
    return taken?.item;
  }

  #findHurried() {
    const round = this.#waiting.size;
    for (const [owner, items] of this.#waiting) {
      const last = this.#turnOf.get(owner);
      if (last !== undefined && this.#turn - last < round) continue;
      const at = this.#firstOf(items);
      if (at >= 0) return { owner, items, at };
    }
    return undefined;
  }

  #findNext() {
    for (const [owner, items] of this.#waiting)
      return { owner, items, at: Math.max(0, this.#firstOf(items)) };
    return undefined;
  }

  #firstOf(items: readonly Waiting<T>[]): number {
    return items.findIndex(({ place }) => this.#isFirst(place));
  }

  #noteTurn(owner: string): void {
    this.#turn += 1;
    this.#turnOf.delete(owner);
    this.#turnOf.set(owner, this.#turn);
    const [oldest] = this.#turnOf.keys();
    if (this.#turnOf.size > MAX_KEPT && oldest !== undefined) this.#turnOf.delete(oldest);
  }
}
