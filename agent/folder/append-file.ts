/** A file of lines that only grows: one write a batch, a torn last line is cut off when it is opened. */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from "node:fs";

const NEWLINE = 0x0a;

export class AppendFile {
  readonly #fd: number;
  #bytes: number;

  /** @param upTo what comes after so many bytes is cut off too */
  constructor(path: string, upTo = Number.POSITIVE_INFINITY) {
    this.#fd = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    const { size } = fstatSync(this.#fd);
    this.#bytes = endOfLastLine(this.#fd, Math.min(size, upTo));
    if (this.#bytes < size) ftruncateSync(this.#fd, this.#bytes);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Writes whole lines at the end.
   * @throws ErrnoException (ENOSPC, …): then nothing of them stays.
   */
  append(text: string): void {
    const body = Buffer.from(text);
    let written = 0;
    try {
      while (written < body.length) {
        written += writeSync(this.#fd, body, written, body.length - written, this.#bytes + written);
      }
    } catch (error) {
      ftruncateSync(this.#fd, this.#bytes);
      throw error;
    }
    this.#bytes += body.length;
  }

  sync(): void {
    fsyncSync(this.#fd);
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** Where the last newline at or before `end` ends its line. */
function endOfLastLine(fd: number, end: number): number {
  const chunk = Buffer.alloc(64 * 1024);
  let at = end;
  while (at > 0) {
    const from = Math.max(0, at - chunk.length);
    const count = readSync(fd, chunk, 0, at - from, from);
    const newline = chunk.subarray(0, count).lastIndexOf(NEWLINE);
    if (newline >= 0) return from + newline + 1;
    at = from;
  }
  return 0;
}
