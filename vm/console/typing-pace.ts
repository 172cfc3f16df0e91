/** Bounds how fast a viewer may type: tmux holds what a program does not read. */

/** Typing is sent on at once up to this many bytes, then at this rate. */
const BURST_BYTES = 1024 * 1024;
const BYTES_PER_MS = 256;

/** Bytes beyond the budget stay in the viewer's socket, which is not read until there is budget again. */
export class TypingPace {
  readonly #socket: { pause: () => void; resume: () => void };
  #budget = { bytes: BURST_BYTES, at: performance.now() };
  #timer: NodeJS.Timeout | undefined;

  constructor(socket: { pause: () => void; resume: () => void }) {
    this.#socket = socket;
  }

  spend(bytes: number): void {
    const now = performance.now();
    const earned = (now - this.#budget.at) * BYTES_PER_MS;
    const left = Math.min(BURST_BYTES, this.#budget.bytes + earned) - bytes;
    this.#budget = { bytes: left, at: now };
    if (left >= 0 || this.#timer) return;
    this.#socket.pause();
    this.#timer = setTimeout(() => this.end(), -left / BYTES_PER_MS);
  }

  /** The socket is read again, whatever was spent. */
  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#socket.resume();
  }
}
