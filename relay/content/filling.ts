/** A page while it is being filled. */
import { BODY_UNITS, type Gap } from "./pages.ts";
import { CONTINUATION, copyAscii, isPlain } from "./text.ts";

/** A run of rows that makes one message, or a gap that a flood left. */
export interface Page {
  /** Counted over the whole thread from 0. */
  index: number;
  /** One string may hold several rows, parted by CR LF. */
  readonly rows: readonly string[];
  /** How much of the terminal's text it holds. */
  readonly size: Gap;
  /** The size is that of what is missing here. */
  readonly isGap?: boolean;
}

const CARRIAGE_RETURN = 0x0d;

/** A page that still has room. */
export class Filling {
  index: number;
  readonly rows: string[];
  #units = 0;
  #lines = 0;
  #bytes = 0;

  constructor(index: number, rows: readonly string[] = []) {
    this.index = index;
    this.rows = [];
    for (const row of rows) this.add(row);
  }

  get isEmpty(): boolean {
    return this.rows.length === 0;
  }

  /** How many units a row may have to fit; below 0 not even an empty one does. */
  get room(): number {
    return BODY_UNITS - this.#units;
  }

  fits(row: string): boolean {
    return row.length <= this.room;
  }

  add(row: string): void {
    this.rows.push(row);
    this.#units += row.length + 1;
    // A piece that goes on in the next one is not a row of the terminal yet.
    const lines = row.endsWith(CONTINUATION) ? 0 : 1;
    this.#lines += lines;
    this.#bytes += byteLength(row) + (lines > 0 ? 1 : 0);
  }

  /** Adds as many of these rows (each ended by CR LF) from `start` on as fit. */
  takePlain(rows: string, start: number): { end: number; lines: number } {
    const room = this.room;
    let end = start;
    let lines = 0;
    for (let index = start; index < rows.length; index++) {
      if (rows.charCodeAt(index) !== CARRIAGE_RETURN) continue;
      // A row break counts once, also where it is two characters yet.
      if (index - start - lines > room) break;
      lines++;
      index++;
      end = index + 1;
    }
    if (lines === 0) return { end, lines };
    this.rows.push(copyAscii(rows.slice(start, end - 2)));
    const units = end - start - lines;
    this.#units += units;
    this.#lines += lines;
    this.#bytes += units;
    return { end, lines };
  }

  copy(): Filling {
    const copy = new Filling(this.index);
    copy.rows.push(...this.rows);
    copy.#units = this.#units;
    copy.#lines = this.#lines;
    copy.#bytes = this.#bytes;
    return copy;
  }

  toPage(): Page {
    return { index: this.index, rows: this.rows, size: { lines: this.#lines, bytes: this.#bytes } };
  }
}

/** The bytes of the terminal's text: marks and colours of ours are none. */
function byteLength(row: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours that are put into a row
  return isPlain(row) ? row.length : Buffer.byteLength(row.replace(/[\u200b\u2060]|\x1b\[[0-9;]*m/g, ""));
}
