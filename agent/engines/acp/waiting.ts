/** Deliveries and orders that the runner has sent and the agent does not have yet. A line that comes twice does nothing. */
import type { ContentPart } from "../../engine.ts";

export interface Delivery {
  id: string;
  parts: ContentPart[];
  /** The agent may have been told of it. */
  isTaken?: true;
}

export class Waiting {
  readonly #seen = new Set<string>();
  readonly #orders = new Set<number>();
  #queue: Delivery[] = [];

  get isEmpty(): boolean {
    return this.#queue.length === 0;
  }

  /** The agent's conversation holds this delivery already, so it is not told again. */
  markHeld(id: string): void {
    this.#seen.add(id);
  }

  add(delivery: Delivery): void {
    if (this.#seen.has(delivery.id)) return;
    this.#seen.add(delivery.id);
    this.#queue.push(delivery);
  }

  takeAll(): Delivery[] {
    const all = this.#queue;
    this.#queue = [];
    return all;
  }

  /** Before all others. */
  putBack(deliveries: readonly Delivery[]): void {
    this.#queue = [...deliveries.map((one) => ({ ...one, isTaken: true as const })), ...this.#queue];
  }

  /** @returns whether this order is new */
  begins(seq: number): boolean {
    const isNew = !this.#orders.has(seq);
    this.#orders.add(seq);
    return isNew;
  }
}

/** Keeps count of sentences that are said once, however often there is reason for them. */
export class Once {
  readonly #said = new Set<string>();

  /** @returns whether it is to be said now; never of more than a hundred things */
  isNew(what: string): boolean {
    if (this.#said.has(what) || this.#said.size >= 100) return false;
    this.#said.add(what);
    return true;
  }
}
