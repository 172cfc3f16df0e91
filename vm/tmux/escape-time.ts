/** How long tmux waits for the rest of a cut key: short for Esc, long while much is written into terminals. */
import { pause } from "../../shared/lifecycle.ts";

/** A lone Esc reaches its program after this time. */
export const ESCAPE_MS = 10;
/** The rest of a cut character comes sooner, unless a process gets no time for seconds. */
const PATIENT_MS = 5_000;
const RETRY_MS = 100;

export interface EscapeTimeOptions {
  /** @throws Error if tmux does not answer; it may have done it all the same. */
  run: (commands: readonly string[]) => Promise<unknown>;
  /** Nothing is tried again any more. */
  signal: AbortSignal;
}

/**
 * tmux's `escape-time`, one for all terminals of a server. A character whose rest comes later than that is dropped
 * without a word: tmux takes its first byte for a whole key, and knows no such key.
 */
export class EscapeTime {
  readonly #options: EscapeTimeOptions;
  #holders = 0;
  /** What tmux has; undefined while it is not known. */
  #isLong: boolean | undefined = false;
  #work: Promise<void> | undefined;

  constructor(options: EscapeTimeOptions) {
    this.#options = options;
  }

  /** Resolves once tmux waits long; it does until everybody who called this has called {@link release}. */
  hold(): Promise<void> {
    this.#holders += 1;
    return this.#settle();
  }

  /** Resolves once tmux waits briefly again, or at once if somebody else holds it. */
  release(): Promise<void> {
    this.#holders -= 1;
    return this.#settle();
  }

  /** To be called once a server was found or started, which sets {@link ESCAPE_MS}. */
  renew(): void {
    if (this.#isLong !== false) this.#isLong = undefined;
    void this.#settle();
  }

  #settle(): Promise<void> {
    if (!this.#isSettled()) this.#work ??= this.#drive();
    return this.#work ?? Promise.resolve();
  }

  #isSettled(): boolean {
    return this.#isLong === this.#holders > 0;
  }

  async #drive(): Promise<void> {
    const { run, signal } = this.#options;
    while (!this.#isSettled() && !signal.aborted) {
      const isLong = this.#holders > 0;
      this.#isLong = undefined;
      try {
        await run([`set-option -s escape-time ${isLong ? PATIENT_MS : ESCAPE_MS}`]);
        this.#isLong = isLong;
      } catch {
        await pause(RETRY_MS, signal);
      }
    }
    this.#work = undefined; // before anybody else can run: who comes now begins anew
  }
}
