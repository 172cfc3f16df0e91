/** Writes into a terminal of node-pty, in place of its own writer. */
import { write } from "node:fs";
import type { IPty } from "node-pty";

/** A terminal that is full is tried again after this time. */
const RETRY_MS = 1;

/**
 * node-pty's own writer keeps a core busy while a terminal is full, and goes on with the number of a descriptor that
 * was closed, which may be another file's by then.
 */
export class TerminalWriter {
  readonly #fd: number;
  #waiting: Buffer[] = [];
  #isWriting = false;
  #isClosed = false;

  /** From here on `pty.write` writes by this. */
  constructor(pty: IPty) {
    const own: unknown = Reflect.get(pty, "_writeStream");
    const fd: unknown = Reflect.get(pty, "fd");
    if (typeof Reflect.get(Object(own), "write") !== "function" || typeof fd !== "number")
      throw new Error("node-pty writes in another way now");
    this.#fd = fd;
    Reflect.set(pty, "_writeStream", this);
    // An event that its types leave out: at once when the descriptor was closed, before the exit is told.
    (pty as unknown as { on(event: "close", listener: () => void): void }).on("close", () => this.dispose());
  }

  /** What is not written yet. */
  get waitingBytes(): number {
    return this.#waiting.reduce((sum, { length }) => sum + length, 0);
  }

  write(data: string | Buffer): void {
    if (this.#isClosed || data.length === 0) return;
    this.#waiting.push(Buffer.from(data as string));
    if (!this.#isWriting) this.#writeNext();
  }

  /** Nothing more is written. node-pty calls it so. */
  dispose(): void {
    this.#isClosed = true;
    this.#waiting = [];
  }

  #writeNext(): void {
    const [next] = this.#waiting;
    this.#isWriting = next !== undefined;
    if (!next) return;
    write(this.#fd, next, (error, written) => {
      if (this.#isClosed || this.#waiting[0] !== next) {
        this.#isWriting = false;
        return;
      }
      if (error?.code === "EAGAIN") {
        setTimeout(() => this.#writeNext(), RETRY_MS);
        return;
      }
      // The terminal is gone, and its end is about to be told.
      if (error) this.dispose();
      else if (written < next.length) this.#waiting[0] = next.subarray(written);
      else this.#waiting.shift();
      this.#writeNext();
    });
  }
}
