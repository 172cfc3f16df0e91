/** Writes into a terminal of node-pty, in place of its own writer. */
import { write } from "node:fs";
import type { IPty } from "node-pty";
import { LargeWrites, type Patience } from "./large-writes.ts";

/** A terminal that is full is tried again after this time. */
const RETRY_MS = 1;
const UNNEEDED: Patience = { hold: async () => undefined, release: async () => undefined };

/**
 * node-pty's own writer keeps a core busy while a terminal is full, and goes on with the number of a descriptor that
 * was closed, which may be another file's by then.
 */
export class TerminalWriter {
  readonly #fd: number;
  readonly #large: LargeWrites;
  #waiting: Buffer[] = [];
  #isWriting = false;
  #isClosed = false;

  /**
   * From here on `pty.write` writes by this.
   * @param patience is held while a write may stop in the midst of a character; most programs wait for its rest anyway.
   */
  constructor(pty: IPty, patience: Patience = UNNEEDED) {
    this.#large = new LargeWrites(patience);
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
    void this.#large.end();
  }

  #writeNext(): void {
    const [next] = this.#waiting;
    this.#isWriting = next !== undefined;
    if (!next) return void this.#large.rest();
    const ready = this.#large.before(next);
    if (ready) void ready.then(() => this.#write(next));
    else this.#write(next);
  }

  #write(next: Buffer): void {
    if (this.#isClosed) return;
    write(this.#fd, next, (error, written) => {
      if (this.#isClosed || this.#waiting[0] !== next) {
        this.#isWriting = false;
        return;
      }
      if (error?.code === "EAGAIN") {
        this.#large.full();
        setTimeout(() => this.#writeNext(), RETRY_MS);
        return;
      }
      // The terminal is gone, and its end is about to be told.
      if (error) this.dispose();
      else this.#keepRest(next, written);
      this.#writeNext();
    });
  }

  #keepRest(next: Buffer, written: number): void {
    this.#large.wrote(written);
    if (written === next.length) return void this.#waiting.shift();
    this.#waiting[0] = next.subarray(written);
    this.#large.full();
  }
}
