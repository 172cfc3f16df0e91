/** Keeps the runner's messages until the loop takes them up. */
import { nameOfOrdered, type Ordered, type Part } from "./protocol.ts";

export interface Delivered {
  deliveryId: string;
  parts: Part[];
}

type CompactOrder = Extract<Ordered, { op: "compact" }>;

export class Mailbox {
  readonly #seen = new Set<string>();
  #deliveries: Delivered[] = [];
  #compaction: CompactOrder | undefined;
  #wake: () => void = () => {};

  /** Notes a line by its name. @returns false if it has come before: it does nothing then */
  isNew(name: string): boolean {
    if (this.#seen.has(name)) return false;
    this.#seen.add(name);
    return true;
  }

  isNewOrder(ordered: Ordered): boolean {
    return this.isNew(nameOfOrdered(ordered));
  }

  add(delivered: Delivered): void {
    this.#deliveries.push(delivered);
    this.wake();
  }

  order(compaction: CompactOrder): void {
    this.#compaction = compaction;
    this.wake();
  }

  get hasDeliveries(): boolean {
    return this.#deliveries.length > 0;
  }

  get hasCompaction(): boolean {
    return this.#compaction !== undefined;
  }

  takeDeliveries(): Delivered[] {
    const deliveries = this.#deliveries;
    this.#deliveries = [];
    return deliveries;
  }

  takeCompaction(): CompactOrder | undefined {
    const compaction = this.#compaction;
    this.#compaction = undefined;
    return compaction;
  }

  /** Resolves when something has come since. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  wake(): void {
    this.#wake();
  }
}
