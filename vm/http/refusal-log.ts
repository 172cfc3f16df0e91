/** Refused requests in the log: a line a minute for an address, however many there are. */
import type { Log } from "../../shared/log.ts";
import { Addresses } from "./addresses.ts";

/** Beyond these, the rest is summed up in one line. */
const MAX_LINES = 50;
const MAX_ADDRESSES = 1_000;
const MINUTE_MS = 60_000;

export class RefusalLog {
  readonly #log: Log;
  readonly #intervalMs: number;
  readonly #refused = new Addresses(
    MAX_ADDRESSES,
    () => ({ count: 0 }),
    ({ count }) => {
      this.#forgotten += count;
    },
  );
  #forgotten = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(log: Log, intervalMs = MINUTE_MS) {
    this.#log = log;
    this.#intervalMs = intervalMs;
  }

  /** A request was refused before anybody knew who sent it. */
  note(address: string | undefined): void {
    this.#refused.get(address).count += 1;
    this.#timer ??= setTimeout(() => this.#write(), this.#intervalMs).unref();
  }

  /** Writes what is not in the log yet. */
  close(): void {
    clearTimeout(this.#timer);
    this.#write();
  }

  #write(): void {
    this.#timer = undefined;
    const entries = this.#refused.entries().sort(([, one], [, other]) => other.count - one.count);
    for (const [address, { count }] of entries.slice(0, MAX_LINES)) {
      this.#log.warn({ address, refused: count }, "requests refused");
    }
    const rest = entries.slice(MAX_LINES).reduce((sum, [, { count }]) => sum + count, this.#forgotten);
    if (rest > 0) this.#log.warn({ refused: rest }, "requests refused, of further addresses");
    this.#refused.clear();
    this.#forgotten = 0;
  }
}
