/**
 * What a program may cost beyond its length. Some sequences fill, move or settle a whole screen in three bytes; each
 * of them is paid for out of an account that every printed unit fills up. An honest program never empties it. While
 * it is empty such sequences do nothing. Pure.
 *
 * The balance follows from the text alone: it is filled up at fixed places of the text, however that was cut.
 */

/** What it takes to fill one cell of a row: about half a nanosecond. */
export type Cost = number;

export interface AccountSnapshot {
  readonly balance: number;
  /** Units since the account was filled up last. */
  readonly units: number;
}

/** What a program may have at once: as much as erasing the largest screen 30 times. Some 5 ms of work. */
const CAPACITY: Cost = 12_000_000;
/** The account is filled up each time so many UTF-16 units were written. */
const BLOCK_UNITS = 256;
/** For each unit. A full screen that is erased into the log has paid for that twice over by being printed. */
const PER_UNIT: Cost = 4_000;

export class CostAccount {
  #balance = CAPACITY;
  #units = 0;

  /** How many units may be written before the account must hear of it. */
  get room(): number {
    return BLOCK_UNITS - this.#units;
  }

  /** Notes that `units` were written. */
  wrote(units: number): void {
    const all = this.#units + units;
    this.#units = all % BLOCK_UNITS;
    const blocks = Math.floor(all / BLOCK_UNITS);
    if (blocks > 0) this.#balance = Math.min(CAPACITY, this.#balance + blocks * BLOCK_UNITS * PER_UNIT);
  }

  /** False, and nothing is taken, if the account is empty. One payment may overdraw it. */
  pay(cost: Cost): boolean {
    if (this.#balance <= 0) return false;
    this.#balance -= cost;
    return true;
  }

  /** For what must happen whatever it costs. */
  owe(cost: Cost): void {
    this.#balance -= cost;
  }

  snapshot(): AccountSnapshot {
    return { balance: this.#balance, units: this.#units };
  }

  restore({ balance, units }: AccountSnapshot): void {
    this.#balance = balance;
    this.#units = units;
  }
}
