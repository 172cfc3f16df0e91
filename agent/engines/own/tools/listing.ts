/** Lines for the model, as many as there is room for. Pure. */

const MAX_BYTES = 32 * 1024;

export class Listing {
  readonly #lines: string[] = [];
  readonly #maxLines: number;
  #bytes = 0;

  constructor(maxLines: number) {
    this.#maxLines = maxLines;
  }

  get lines(): number {
    return this.#lines.length;
  }

  /** @returns false if there is no room for it */
  add(line: string): boolean {
    const bytes = Buffer.byteLength(line) + 1;
    if (this.#lines.length >= this.#maxLines || this.#bytes + bytes > MAX_BYTES) return false;
    this.#lines.push(line);
    this.#bytes += bytes;
    return true;
  }

  text(): string {
    return this.#lines.join("\n");
  }
}
