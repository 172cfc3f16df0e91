/** Keeps a thread's mark on the sidecar: one write after the other, and only if the mark says something new. */
import { AppError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";

/** A mark that only says more of what is told again anyway need not be kept at once. */
const SAVE_DELAY_MS = 2_000;

export interface MarkKeeperOptions<M> {
  /** The mark of now; undefined if there is none. */
  make: () => M | undefined;
  put: (mark: M) => Promise<void>;
  /** The sidecar has it. */
  onKept: (mark: M) => void;
  log: Log;
}

export class MarkKeeper<M> {
  readonly #options: MarkKeeperOptions<M>;
  #kept = "";
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: MarkKeeperOptions<M>) {
    this.#options = options;
  }

  /** Keeps the mark within some seconds. */
  soon(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => void this.now(), SAVE_DELAY_MS);
  }

  /** Resolves when the mark is kept, or could not be. */
  now(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#saving = this.#saving.then(() => this.#save());
    return this.#saving;
  }

  /** Keeps the last mark. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.now();
  }

  async #save(): Promise<void> {
    const { make, put, onKept, log } = this.#options;
    const mark = make();
    const text = JSON.stringify(mark);
    if (mark === undefined || text === this.#kept) return;
    try {
      await put(mark);
      this.#kept = text;
      onKept(mark);
    } catch (error) {
      // Streaming goes on without it; a bug must not end that either.
      log[error instanceof AppError ? "warn" : "error"]({ err: error }, "could not keep the mark");
    }
  }
}
