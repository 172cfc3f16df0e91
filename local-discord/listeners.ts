/** Whoever wants to be told of something. */
export class Listeners<T> {
  readonly #listeners = new Set<(value: T) => void>();

  /** @returns what takes the listener off again */
  add(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(value: T): void {
    for (const listener of this.#listeners) listener(value);
  }
}
