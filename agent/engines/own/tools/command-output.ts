/** Keeps the first and the last bytes of a command's output. All others are counted. */

const HEAD_BYTES = 16 * 1024;
const TAIL_BYTES = 256 * 1024;
const NEWLINE = 10;

export class CommandOutput {
  readonly #head = Buffer.allocUnsafe(HEAD_BYTES);
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #bytes = 0;

  /** All that was printed. */
  get bytes(): number {
    return this.#bytes;
  }

  push(chunk: Buffer): void {
    if (this.#bytes < HEAD_BYTES) chunk.copy(this.#head, this.#bytes);
    this.#bytes += chunk.length;
    this.#tail.push(chunk);
    this.#tailBytes += chunk.length;
    // In few pieces: a program may print its bytes one by one.
    if (this.#tailBytes > 2 * TAIL_BYTES || this.#tail.length > 256) this.#compact();
  }

  /** The beginning and the end, with what lies between counted. @param maxBytes of both together */
  ends(maxBytes: number): { head: Buffer; leftOut: number; tail: Buffer } {
    if (this.#bytes <= maxBytes)
      return { head: this.from(0, maxBytes).data, leftOut: 0, tail: Buffer.alloc(0) };
    const half = Math.min(HEAD_BYTES, Math.floor(maxBytes / 2));
    const head = upToLine(this.#head.subarray(0, half));
    const tail = fromLine(this.#last(half));
    return { head, leftOut: this.#bytes - head.length - tail.length, tail };
  }

  /** @returns what was printed from an offset on; `start` is a later one if that is not kept any more */
  from(offset: number, maxBytes: number): { data: Buffer; start: number; next: number } {
    const kept = this.#last(TAIL_BYTES);
    const first = this.#bytes - kept.length;
    if (first === 0 || offset >= first || offset >= HEAD_BYTES) {
      const start = Math.min(Math.max(offset, first), this.#bytes);
      const data = kept.subarray(start - first, start - first + maxBytes);
      return { data, start, next: start + data.length };
    }
    const end = Math.min(offset + maxBytes, HEAD_BYTES);
    return { data: this.#head.subarray(offset, end), start: offset, next: end };
  }

  #last(maxBytes: number): Buffer {
    this.#compact();
    const [kept = Buffer.alloc(0)] = this.#tail;
    return kept.subarray(-maxBytes);
  }

  #compact(): void {
    if (this.#tail.length === 1 && this.#tailBytes <= TAIL_BYTES) return;
    const all = Buffer.concat(this.#tail);
    // A view would keep the whole.
    const kept = all.length > TAIL_BYTES ? Buffer.from(all.subarray(-TAIL_BYTES)) : all;
    this.#tail = [kept];
    this.#tailBytes = kept.length;
  }
}

/** Whole lines, if some are whole; whole characters in any case. */
function upToLine(bytes: Buffer): Buffer {
  const end = bytes.lastIndexOf(NEWLINE);
  if (end >= bytes.length / 2) return bytes.subarray(0, end + 1);
  let start = bytes.length - 1;
  while (start > bytes.length - 4 && isContinued(bytes[start])) start--;
  const lead = bytes[start] ?? 0;
  const needed = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return start + needed > bytes.length ? bytes.subarray(0, start) : bytes;
}

function fromLine(bytes: Buffer): Buffer {
  const end = bytes.indexOf(NEWLINE);
  if (end >= 0 && end < bytes.length / 2) return bytes.subarray(end + 1);
  let start = 0;
  while (start < 3 && isContinued(bytes[start])) start++;
  return bytes.subarray(start);
}

function isContinued(byte = 0): boolean {
  return (byte & 0xc0) === 0x80;
}
