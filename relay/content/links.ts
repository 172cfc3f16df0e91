/** The links that a program prints (OSC 8): each cell knows the number of its link, and here is where it leads. */
import { parseTerminalLink, tellsAddress } from "../../shared/terminal-link.ts";
import type { CellRow } from "./rows.ts";

/** The emulator's extended attributes, of the pen and of each cell: `urlId` is the number of a link, 0 for none. */
export interface Extended {
  urlId: number;
  clone(): Extended;
}

export interface Pen {
  extended: Extended;
  updateExtended(): void;
}

/** Plain JSON. */
export interface LinksSnapshot {
  /** The number of the next link. */
  readonly next: number;
  /** Those that cells or the pen have. */
  readonly links: readonly (readonly [number: number, address: string, text: string])[];
  readonly open: number;
  /** Runs of cells on the normal and the alternate screen: row, column, length, number. */
  readonly cells: readonly (readonly number[])[];
}

interface Link {
  readonly address: string;
  /** Its text, cut soon after it is longer than the address. */
  text: string;
  isTold: boolean | undefined;
}

interface Rows {
  readonly lines: { readonly length: number; get(row: number): CellRow | undefined };
}

/** A terminal keeps this many links. The text of an older one stays, without its address. */
const MAX_LINKS = 2_000;
const HAS_EXTENDED = 0x10000000;
const CELL_NUMBERS = 3;
const NONE: readonly string[] = [];

export class Links {
  readonly #links = new Map<number, Link>();
  #next = 1;

  /** OSC 8: what is printed from here on belongs to this link, or to none. */
  open(pen: Pen, data: string): void {
    const address = parseTerminalLink(data);
    if (address !== undefined && this.#links.get(pen.extended.urlId)?.address === address) return;
    setLink(pen, address === undefined ? 0 : this.#add(address));
  }

  /** The pen prints these characters. */
  print(pen: Pen, data: Uint32Array, start: number, end: number): void {
    // A cursor that is restored brings back the colours that it was saved with, and no link.
    pen.updateExtended();
    const link = this.#links.get(pen.extended.urlId);
    if (link === undefined) return;
    for (let index = start; index < end && link.text.length <= link.address.length; index++) {
      link.text += String.fromCodePoint(data[index] as number);
      link.isTold = undefined;
    }
  }

  /** Where the row's links lead, if their text does not tell it. */
  of(row: CellRow): readonly string[] {
    if (this.#links.size === 0) return NONE;
    const addresses = new Set<string>();
    for (const { number } of runsOf(row)) {
      const link = this.#links.get(number);
      if (link !== undefined && !isTold(link)) addresses.add(link.address);
    }
    return addresses.size === 0 ? NONE : [...addresses];
  }

  snapshot(pen: Pen, screens: readonly Rows[]): LinksSnapshot | undefined {
    if (this.#next === 1) return undefined;
    const open = this.#links.has(pen.extended.urlId) ? pen.extended.urlId : 0;
    const used = new Set<number>(open === 0 ? [] : [open]);
    const cells = screens.map(({ lines }) => {
      const runs: number[] = [];
      for (let index = 0; index < lines.length; index++) {
        for (const { column, length, number } of runsOf(lines.get(index))) {
          const link = this.#links.get(number);
          if (link === undefined || (number !== open && isTold(link))) continue;
          used.add(number);
          runs.push(index, column, length, number);
        }
      }
      return runs;
    });
    const links = [...used].map((number) => {
      const { address = "", text = "" } = this.#links.get(number) ?? {};
      return [number, address, number === open ? text : ""] as const;
    });
    return { next: this.#next, links, open, cells };
  }

  restore(pen: Pen, screens: readonly Rows[], { next, links, open, cells }: LinksSnapshot): void {
    this.#next = next;
    for (const [number, address, text] of links)
      this.#links.set(number, { address, text, isTold: undefined });
    for (const [index, { lines }] of screens.entries()) {
      const runs = cells[index] ?? [];
      for (let at = 0; at < runs.length; at += 4) {
        const [row = 0, column = 0, length = 0, number = 0] = runs.slice(at, at + 4);
        paintLink(lines.get(row), column, length, extendedOf(pen, number));
      }
    }
    setLink(pen, open);
  }

  #add(address: string): number {
    const number = this.#next++;
    this.#links.delete(number - MAX_LINKS);
    this.#links.set(number, { address, text: "", isTold: undefined });
    return number;
  }
}

function isTold(link: Link): boolean {
  link.isTold ??= tellsAddress(link.text, link.address);
  return link.isTold;
}

function setLink(pen: Pen, number: number): void {
  pen.extended = extendedOf(pen, number);
  pen.updateExtended();
}

/** The cells that have the old one keep it. */
function extendedOf(pen: Pen, number: number): Extended {
  const extended = pen.extended.clone();
  extended.urlId = number;
  return extended;
}

function paintLink(row: CellRow | undefined, column: number, length: number, extended: Extended): void {
  if (row === undefined) return;
  for (let at = column; at < Math.min(row.length, column + length); at++) {
    row._extendedAttrs[at] = extended;
    const index = at * CELL_NUMBERS + 2;
    row._data[index] = (row._data[index] as number) | HAS_EXTENDED;
  }
}

function runsOf(row: CellRow | undefined): { column: number; length: number; number: number }[] {
  const runs: { column: number; length: number; number: number }[] = [];
  if (row === undefined) return runs;
  const { _data: data, _extendedAttrs: extended } = row;
  for (let column = 0; column < row.length; column++) {
    if (((data[column * CELL_NUMBERS + 2] as number) & HAS_EXTENDED) === 0) continue;
    const number = (extended[column] as Extended | undefined)?.urlId ?? 0;
    if (number === 0) continue;
    const last = runs.at(-1);
    if (last?.number === number && last.column + last.length === column) last.length++;
    else runs.push({ column, length: 1, number });
  }
  return runs;
}
