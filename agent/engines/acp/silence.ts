/** Counts how long an agent says nothing while it should. */

export interface SilenceLimits {
  /** After so many milliseconds people are told. */
  quietMs: number;
  /** After so many milliseconds the agent is given up. */
  endMs: number;
}

export interface SilenceOptions extends SilenceLimits {
  /** Whether the agent may say nothing now: a person decides, or a call runs. */
  isExcused: () => boolean;
  quiet: (title: string, description: string) => void;
  /** The count has ended. */
  silent: (why: string) => void;
}

/** It looks so often in the shorter of the two times. */
const LOOKS = 10;

export class Silence {
  readonly #options: SilenceOptions;
  #timer: NodeJS.Timeout | undefined;
  #ms = 0;

  constructor(options: SilenceOptions) {
    this.#options = options;
  }

  begin(): void {
    this.#ms = 0;
    const { quietMs, endMs } = this.#options;
    const stepMs = Math.ceil(Math.min(quietMs, endMs) / LOOKS);
    // Steps are added up: a machine that sleeps adds none.
    this.#timer ??= setInterval(() => this.#look(stepMs), stepMs);
  }

  /** The agent has said something. */
  heard(): void {
    this.#ms = 0;
  }

  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(stepMs: number): void {
    const { quietMs, endMs, isExcused, quiet, silent } = this.#options;
    if (isExcused()) return void this.heard();
    const before = this.#ms;
    this.#ms += stepMs;
    if (before < quietMs && this.#ms >= quietMs) {
      const rest = `It is ended if it says nothing for ${seconds(endMs)}. Stop ends its turn now.`;
      quiet(`The agent has said nothing for ${seconds(quietMs)}`, rest);
    }
    if (this.#ms < endMs) return;
    this.end();
    silent(`The agent said nothing for ${seconds(endMs)}, and was ended.`);
  }
}

function seconds(ms: number): string {
  const count = Math.round(ms / 1_000);
  return `${count} second${count === 1 ? "" : "s"}`;
}
