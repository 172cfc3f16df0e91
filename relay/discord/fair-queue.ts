/** What waits for its turn: owners take turns, and what one owner has waiting goes first come, first served. */
export class FairQueue<T> {
  /** By owner, in the order of their turns. No list is ever empty. */
  readonly #waiting = new Map<string, T[]>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  push(owner: string, item: T): void {
    const items = this.#waiting.get(owner);
    if (items) items.push(item);
    else this.#waiting.set(owner, [item]);
  }

  /** Takes the next owner's oldest item; that owner's next turn comes after everybody else's. */
  shift(): T | undefined {
    for (const [owner, items] of this.#waiting) {
      const item = items.shift();
      this.#waiting.delete(owner);
      if (items.length > 0) this.#waiting.set(owner, items);
      return item;
    }
    return undefined;
  }
}
