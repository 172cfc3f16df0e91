/** The person's own terminal while it shows a thread: raw, and put right again whatever happens. */
import type { ReadStream } from "node:tty";
import { MAX_VIEWPORT, type Viewport } from "../../shared/attach.ts";

/**
 * Undoes whatever tmux may have set: synchronised output, margins and scroll region, the alternate screen, a hidden
 * or strange cursor, keypad, mouse, focus, pasting brackets, character set and colours. A sidecar that goes away
 * undoes nothing, so this never relies on it. The region comes first: to reset it moves the cursor, and leaving the
 * alternate screen moves it back.
 */
const RESET = [
  "\x1b[?2026l\x1b[?69l\x1b[r\x1b[?6l",
  "\x1b[?1049l\x1b[23;0;0t\x1b[?25h\x1b[0 q\x1b[?7h\x1b[4l",
  "\x1b[?1l\x1b>\x1b[>4m",
  "\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1004l\x1b[?2004l",
  "\x0f\x1b(B\x1b[m",
].join("");

export interface TerminalEvents {
  onTyped: (bytes: Buffer) => void;
  onResize: () => void;
  /** The terminal was closed. */
  onGone: () => void;
}

export class LocalTerminal {
  readonly #stdin: ReadStream;
  readonly #stdout: NodeJS.WriteStream;
  readonly #wasRaw: boolean;
  #events: TerminalEvents | undefined;
  /** Something was drawn since the terminal was right. */
  #isDrawn = false;

  constructor(stdin: ReadStream, stdout: NodeJS.WriteStream) {
    this.#stdin = stdin;
    this.#stdout = stdout;
    this.#wasRaw = stdin.isRaw;
  }

  get viewport(): Viewport {
    const within = (value: number, max: number) => Math.min(max, Math.max(1, value));
    return {
      cols: within(this.#stdout.columns || 80, MAX_VIEWPORT.cols),
      rows: within(this.#stdout.rows || 24, MAX_VIEWPORT.rows),
    };
  }

  /** From here on every key comes to `events`, until {@link LocalTerminal.leave}, which the process's end calls too. */
  enter(events: TerminalEvents): void {
    this.#events = events;
    process.once("exit", this.leave);
    this.#stdin.setRawMode(true);
    this.#stdin.on("data", events.onTyped).on("end", events.onGone).on("error", events.onGone).resume();
    this.#stdout.on("resize", events.onResize);
  }

  /** Resolves when the terminal has taken the bytes. */
  draw(bytes: Buffer): Promise<void> {
    this.#isDrawn = true;
    return new Promise((resolve) => this.#stdout.write(bytes, () => resolve()));
  }

  /** The person's own screen again, for words of ours. */
  clear(): void {
    if (!this.#isDrawn) return;
    this.#isDrawn = false;
    this.#stdout.write(RESET);
  }

  /** Keys stay in the terminal while they are held; they are not lost. */
  hold(isHeld: boolean): void {
    if (!this.#events || this.#stdin.isPaused() === isHeld) return;
    if (isHeld) this.#stdin.pause();
    else this.#stdin.resume();
  }

  readonly leave = (): void => {
    if (!this.#events) return;
    const { onTyped, onResize, onGone } = this.#events;
    this.#events = undefined;
    process.off("exit", this.leave);
    this.#stdout.off("resize", onResize);
    this.#stdin.off("data", onTyped).off("end", onGone).pause();
    this.#stdin.setRawMode(this.#wasRaw);
    this.clear();
  };
}
