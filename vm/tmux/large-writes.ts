/** Decides when a terminal's input is more than the kernel surely takes whole, so that tmux must be patient. */

/** The kernel takes so much in one piece, if it has room. A larger write may stop in the midst of a character. */
const WHOLE_BYTES = 1024;
/** It has room for so much that tmux has not read, always. */
const ROOM_BYTES = 4 * 1024;
/** A terminal holds no more unread than this … */
const MAX_UNREAD_BYTES = 32 * 1024;
/** … and tmux reads at least so fast. */
const READ_BYTES_PER_MS = 32;
/** After the last write: the next part of a paste may be on its way. */
const LINGER_MS = 500;
/** Each change makes tmux draw every terminal anew: not more often for keys. */
const KEY_INTERVAL_MS = 1_000;
const ESC = 0x1b;

/** See {@link EscapeTime}. */
export interface Patience {
  hold: () => Promise<void>;
  release: () => Promise<void>;
}

/** One terminal's. Keys pass as they are; before a large write tmux's patience is held, and let go soon after it. */
export class LargeWrites {
  readonly #patience: Patience;
  #isHeld = false;
  #unread = { bytes: 0, at: 0 };
  #endedForKeyAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(patience: Patience) {
    this.#patience = patience;
  }

  /** @returns what must come before these bytes are written; undefined: nothing. */
  before(bytes: Buffer): Promise<void> | undefined {
    const isEsc = bytes.length === 1 && bytes[0] === ESC;
    if (this.#isHeld) {
      clearTimeout(this.#timer);
      return isEsc ? this.#endForKey() : undefined;
    }
    if (isEsc) return undefined; // it would wait for what never follows
    if (bytes.length <= WHOLE_BYTES && this.#countUnread() + bytes.length <= ROOM_BYTES) return undefined;
    this.#isHeld = true;
    return this.#patience.hold();
  }

  /** Notes that `bytes` were written. */
  wrote(bytes: number): void {
    this.#unread = {
      bytes: Math.min(MAX_UNREAD_BYTES, this.#countUnread() + bytes),
      at: performance.now(),
    };
  }

  /** The kernel has taken less than was offered. */
  full(): void {
    this.#unread = { bytes: MAX_UNREAD_BYTES, at: performance.now() };
  }

  /** All is written. */
  rest(): void {
    if (!this.#isHeld) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.end(), LINGER_MS);
  }

  /** Nothing more is written, or nothing large. */
  async end(): Promise<void> {
    clearTimeout(this.#timer);
    if (!this.#isHeld) return;
    this.#isHeld = false;
    await this.#patience.release();
  }

  /** All before the key is written, and whole: tmux need not wait for more of that. */
  #endForKey(): Promise<void> | undefined {
    const now = performance.now();
    if (now - this.#endedForKeyAt < KEY_INTERVAL_MS) return undefined;
    this.#endedForKeyAt = now;
    return this.end();
  }

  #countUnread(): number {
    const { bytes, at } = this.#unread;
    return Math.max(0, bytes - (performance.now() - at) * READ_BYTES_PER_MS);
  }
}
