/**
 * How fast one channel of Discord takes messages and edits: each has a limit of its own. Pure: times are parameters, in
 * milliseconds since 1970. If the clock was set back, what was noted counts as done just now: nothing waits until the
 * clock is there again.
 */

/** Discord lets a bot edit about once a second in a channel; a little slower is never refused. */
const MIN_EDIT_INTERVAL_MS = 1_200;
/** 5 new messages in 5 s, and a little slower; after a pause they may come at once. */
const SENDS = 5;
const SENDS_PER_MS = 5_500;

export class Pace {
  readonly #editIntervalMs: number;
  readonly #minEditIntervalMs: number;
  readonly #sendsPerMs: number;
  #lastEditAt = 0;
  /** When the newest messages were sent. */
  #sentAt: number[] = [];

  /** @param waitScale of all waits here, for a Discord without limits */
  constructor(editIntervalMs = MIN_EDIT_INTERVAL_MS, waitScale = 1) {
    this.#editIntervalMs = editIntervalMs * waitScale;
    this.#minEditIntervalMs = MIN_EDIT_INTERVAL_MS * waitScale;
    this.#sendsPerMs = SENDS_PER_MS * waitScale;
  }

  /** When the next message may be sent. */
  nextSendAt(now: number): number {
    this.#sentAt = this.#sentAt.map((at) => Math.min(at, now));
    return this.#sentAt.length < SENDS ? 0 : (this.#sentAt[0] ?? 0) + this.#sendsPerMs;
  }

  /** How many messages may be sent within `aheadMs`. */
  room(now: number, aheadMs: number): number {
    this.#sentAt = this.#sentAt.map((at) => Math.min(at, now));
    const at = now + aheadMs;
    return SENDS - this.#sentAt.filter((sentAt) => sentAt + this.#sendsPerMs > at).length;
  }

  /** When the next message may be edited or deleted. @param isUrgent no later than Discord demands */
  nextEditAt(now: number, isUrgent = false): number {
    this.#lastEditAt = Math.min(this.#lastEditAt, now);
    const interval = isUrgent
      ? Math.min(this.#editIntervalMs, this.#minEditIntervalMs)
      : this.#editIntervalMs;
    return this.#lastEditAt === 0 ? 0 : this.#lastEditAt + interval;
  }

  noteSend(at: number): void {
    this.#sentAt = [...this.#sentAt, at].sort((a, b) => a - b).slice(-SENDS);
  }

  noteEdit(at: number): void {
    this.#lastEditAt = at;
  }
}
