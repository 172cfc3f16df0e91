/**
 * When readers are served: soon, news not more often than at a pace, and in short turns. Node accepts one connection
 * between two turns of its loop, so long ones would keep out whoever comes.
 */

/** Others are served between two turns. */
const TURN_MS = 5;
/** What comes within so long of the last time goes out together: many readers of many events cost a write each. */
const PACE_MS = 25;
const RETRY_MS = 1_000;

export interface Turn {
  /** When it is to end, by `performance.now()`. */
  endMs: number;
  /** Whether there may be something new. */
  isNews: boolean;
}

export interface TurnsOptions {
  /** @returns what is left to do; undefined if nothing is */
  take: (turn: Turn) => Pick<Turn, "isNews"> | undefined;
  /** A turn failed; the next one comes in a while. */
  onError: (error: unknown) => void;
}

export class Turns {
  readonly #options: TurnsOptions;
  #isPlanned = false;
  #isNews = false;
  #pace: NodeJS.Timeout | undefined;
  #newsAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  /** A turn comes soon. */
  plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      if (!this.#isClosed) this.#take();
    });
  }

  /** There is something new, perhaps in a transaction that has not ended. */
  notice(): void {
    const waitMs = this.#newsAt + PACE_MS - performance.now();
    if (waitMs <= 0) this.#planNews();
    else {
      this.#pace ??= setTimeout(() => {
        this.#pace = undefined;
        this.#planNews();
      }, waitMs);
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#pace);
  }

  #planNews(): void {
    this.#isNews = true;
    this.plan();
  }

  #take(): void {
    const isNews = this.#isNews;
    const beganAt = performance.now();
    this.#isNews = false;
    if (isNews) this.#newsAt = beganAt;
    try {
      const left = this.#options.take({ endMs: beganAt + TURN_MS, isNews });
      if (!left) return;
      this.#isNews = left.isNews;
      this.plan();
    } catch (error) {
      this.#options.onError(error);
      setTimeout(() => this.#planNews(), RETRY_MS).unref();
    }
  }
}
