/** Holds the lines of a pause on the disk: in memory they could take up any amount. */
import { closeSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import * as z from "zod";
import type { LogLine } from "./display.ts";

const lineSchema = z.tuple([z.string(), z.string()]);
const READ_BYTES = 64 * 1024;
const NEWLINE = 10;

export class Held {
  readonly #fd: number;
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(file: string, maxBytes: number) {
    this.#fd = openSync(file, "w+", 0o600);
    this.#maxBytes = maxBytes;
  }

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  /** Nothing more is to be read before this is shown: the source keeps it. */
  get isFull(): boolean {
    return this.#bytes >= this.#maxBytes;
  }

  /** @throws ErrnoException if the disk takes no more; nothing of `lines` is held then. */
  add(lines: readonly LogLine[]): void {
    const bytes = Buffer.from(lines.map(({ from, text }) => `${JSON.stringify([from, text])}\n`).join(""));
    for (let done = 0; done < bytes.length; )
      done += writeSync(this.#fd, bytes, done, bytes.length - done, this.#bytes + done);
    this.#bytes += bytes.length;
  }

  /** All that is held, in groups; nothing is held afterwards. */
  *take(): Generator<LogLine[]> {
    const chunk = Buffer.alloc(READ_BYTES);
    let rest = Buffer.alloc(0);
    for (let at = 0; at < this.#bytes; ) {
      const count = readSync(this.#fd, chunk, 0, Math.min(READ_BYTES, this.#bytes - at), at);
      if (count === 0) break;
      at += count;
      const bytes = Buffer.concat([rest, chunk.subarray(0, count)]);
      const end = bytes.lastIndexOf(NEWLINE) + 1;
      rest = bytes.subarray(end);
      yield readLines(bytes.toString("utf8", 0, end));
    }
    ftruncateSync(this.#fd, 0);
    this.#bytes = 0;
  }

  close(): void {
    closeSync(this.#fd);
  }
}

function readLines(text: string): LogLine[] {
  const lines = text.split("\n").slice(0, -1);
  return lines.map((line) => {
    const [from, said] = lineSchema.parse(JSON.parse(line));
    return { from, text: said };
  });
}
