/** What a program prints, kept bounded. */
import { readable } from "../readable.ts";

/** The first bytes of what was printed, and the last; what lies between is counted. */
export class Printed {
  readonly #maxBytes: number;
  #head = Buffer.alloc(0);
  #tail = Buffer.alloc(0);
  #bytes = 0;

  /** @param maxBytes of head and tail together */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    const half = Math.floor(this.#maxBytes / 2);
    const toHead = Math.min(chunk.length, half - this.#head.length);
    if (toHead > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, toHead)]);
    const rest = chunk.subarray(Math.max(0, toHead));
    if (rest.length === 0) return;
    this.#tail = Buffer.from(Buffer.concat([this.#tail, rest.subarray(-half)]).subarray(-half));
  }

  /** As text for people. */
  text(): string {
    const leftOut = this.#bytes - this.#head.length - this.#tail.length;
    if (leftOut === 0) return readable(Buffer.concat([this.#head, this.#tail]));
    return `${readable(this.#head)}\n\n… ${leftOut} bytes are left out …\n\n${readable(this.#tail)}`;
  }
}
