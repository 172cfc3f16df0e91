/** Reads the whole lines of a file that another process appends to, by bytes. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { type Line, splitLines } from "../../shared/agent/jsonl.ts";

const CHUNK_BYTES = 256 * 1024;
const SKIPPED_BYTES = 1_000;
const NEWLINE = 0x0a;

/** A line that is longer than we read: nobody of ours writes such. */
export class LineTooLong extends Error {
  constructor(path: string, byte: number, maxBytes: number) {
    super(`${path}: the line at byte ${byte} is longer than ${maxBytes} bytes`);
    this.name = "LineTooLong";
  }
}

export class LineFile {
  readonly #path: string;
  readonly #maxLineBytes: number;
  readonly #skips: boolean;
  #fd: number | undefined;
  #byte: number;

  /**
   * @param byte where a line begins
   * @param skips whether a line that is too long is given with its first words alone: nobody of ours wrote it, and
   * what comes after it counts
   */
  constructor(path: string, byte: number, maxLineBytes: number, skips = false) {
    this.#skips = skips;
    this.#path = path;
    this.#byte = byte;
    this.#maxLineBytes = maxLineBytes;
  }

  /** Where the first line begins that has not been read. */
  get byte(): number {
    return this.#byte;
  }

  /**
   * The next whole lines, some at a time; none if nothing new is there. A file that does not exist yet has none.
   * @throws LineTooLong
   */
  read(): Line[] {
    const fd = this.#open();
    if (fd === undefined) return [];
    const size = fstatSync(fd).size;
    for (let length = CHUNK_BYTES; size > this.#byte; length *= 4) {
      const want = Math.min(length, size - this.#byte);
      const chunk = Buffer.alloc(want);
      const count = readSync(fd, chunk, 0, want, this.#byte);
      const { lines, next } = splitLines(chunk.subarray(0, count), this.#byte);
      if (lines.length > 0) {
        this.#byte = next;
        return lines;
      }
      if (count >= this.#maxLineBytes && this.#skips) return this.#skip(fd, size);
      if (count >= this.#maxLineBytes) throw new LineTooLong(this.#path, this.#byte, this.#maxLineBytes);
      if (count < length) return [];
    }
    return [];
  }

  /** The line that begins here and is too long, cut; none if it has not come to its end. */
  #skip(fd: number, size: number): Line[] {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (let at = this.#byte; at < size; at += chunk.length) {
      const newline = chunk.subarray(0, readSync(fd, chunk, 0, chunk.length, at)).indexOf(NEWLINE);
      if (newline < 0) continue;
      const byte = this.#byte;
      const bytes = at + newline + 1 - byte;
      this.#byte = byte + bytes;
      return [{ byte, bytes, text: this.textAt(byte, SKIPPED_BYTES) }];
    }
    return [];
  }

  /** The text of bytes that were read before. */
  textAt(byte: number, bytes: number): string {
    const fd = this.#open();
    if (fd === undefined) return "";
    const chunk = Buffer.alloc(bytes);
    const count = readSync(fd, chunk, 0, bytes, byte);
    return chunk.toString("utf8", 0, count).trimEnd();
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #open(): number | undefined {
    try {
      this.#fd ??= openSync(this.#path, "r");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    return this.#fd;
  }
}
