/** Fills pages with rows, one message each: from where they are settled on they never change. */
import { Filling, type Page } from "./filling.ts";
import { collapse, type Gap, splitRows, toRows } from "./pages.ts";
import type { Line } from "./screen.ts";

/** The rows below those that have settled. */
export interface OpenRows {
  /** Rows of a page that are not on the screen any more. None while a page has to begin in `live`. */
  readonly held: readonly string[];
  /** The screen. */
  readonly live: readonly Line[];
}

/** What a pager needs to go on, when all pages before `index` are delivered. */
export interface PagerSnapshot {
  readonly index: number;
  /** The settled rows of the page that is being filled. */
  readonly rows: readonly string[];
  /** Terminal rows settled so far. */
  readonly settled: number;
  /** Rows before which a page must begin. */
  readonly breaks: readonly number[];
  /** The page before `index` is this gap, and a flood goes on filling it. */
  readonly gap?: { readonly index: number; readonly size: Gap };
}

export interface PagerOptions {
  readonly isAnsi?: boolean;
  /** How many sealed pages may wait for delivery; beyond that the older ones become a gap. */
  readonly maxBacklogPages?: number;
  /** Tells that `count` pages from `from` on gave way to the gap at `from`, which has this size now. */
  readonly onCollapse?: (from: number, count: number, size: Gap) => void;
}

/**
 * Greedy and deterministic: which rows share a page depends on the rows and the breaks only. Pages wait here,
 * sealed, until they are delivered; a backlog beyond the limit shrinks to its newest pages and a gap that says
 * what is missing.
 */
export class Pager {
  readonly #isAnsi: boolean;
  readonly #maxBacklog: number;
  readonly #onCollapse: (from: number, count: number, size: Gap) => void;
  #waiting: Page[] = [];
  #filling: Filling;
  #settled: number;
  #breaks: number[];
  /** Pages below have a message, or are about to. */
  #begun: number;

  constructor(
    options: PagerOptions = {},
    from: PagerSnapshot = { index: 0, rows: [], settled: 0, breaks: [] },
  ) {
    this.#isAnsi = options.isAnsi ?? false;
    this.#maxBacklog = options.maxBacklogPages ?? 10;
    this.#onCollapse = options.onCollapse ?? (() => {});
    this.#filling = new Filling(from.index, from.rows);
    this.#settled = from.settled;
    this.#breaks = [...from.breaks];
    if (from.gap) this.#waiting.push({ ...from.gap, rows: [], isGap: true });
    this.#begun = from.gap?.index ?? from.index;
  }

  /** How many terminal rows have settled. */
  get settled(): number {
    return this.#settled;
  }

  /** The index of the page that is being filled. */
  get index(): number {
    return this.#filling.index;
  }

  /** Adds a settled row. */
  push(line: Line): void {
    for (const row of toRows(line, this.#isAnsi)) this.pushRow(row);
    this.#settled++;
    this.#breakHere();
  }

  /** Adds a row that {@link toRows} has made and that no page has to begin before. */
  pushRow(row: string): void {
    if (!this.#filling.fits(row)) this.#seal();
    this.#filling.add(row);
  }

  /** Adds settled rows that need no care and are much shorter than a page, each ended by CR LF. */
  pushPlainRows(rows: string): void {
    if (this.#breaks.length > 0) {
      for (const text of rows.split("\r\n").slice(0, -1)) this.push({ text, wrapped: false });
      return;
    }
    for (let start = 0; start < rows.length; ) {
      const { end, lines } = this.#filling.takePlain(rows, start);
      this.#settled += lines;
      if (end === start) this.#seal();
      start = end;
    }
  }

  /** The row with this number (settled rows and the screen below them, counted from 0) begins a new page. */
  breakBefore(row: number): void {
    if (!this.#breaks.includes(row)) this.#breaks.push(row);
    this.#breaks.sort((a, b) => a - b);
    this.#breakHere();
  }

  /** No page begins later than at `row`: the rows below do not exist any more. */
  limitBreaks(row: number): void {
    if (!this.#breaks.some((place) => place > row)) return;
    this.#breaks = [...new Set(this.#breaks.map((place) => Math.min(place, row)))];
    this.#breakHere();
  }

  /** Whether a row that has not settled yet begins a new page. */
  get hasBreaks(): boolean {
    return this.#breaks.length > 0;
  }

  /** Takes the settled rows of the page that is being filled out of it. */
  takeOpenRows(): string[] {
    const { rows, index } = this.#filling;
    this.#filling = new Filling(index);
    return splitRows(rows);
  }

  /** All pages that are not delivered: sealed ones, then those that what is not settled may still change. */
  pages(open: OpenRows): { sealed: readonly Page[]; live: readonly Page[] } {
    return { sealed: this.#waiting, live: this.#fill(this.#filling.copy(), open) };
  }

  #fill(from: Filling, { held, live }: OpenRows): Page[] {
    const pages: Page[] = [];
    let filling = from;
    const close = (): void => {
      if (filling.isEmpty) return;
      pages.push(filling.toPage());
      filling = new Filling(filling.index + 1);
    };
    for (const row of held) {
      if (!filling.fits(row)) close();
      filling.add(row);
    }
    for (const [offset, line] of live.entries()) {
      if (this.#breaks.includes(this.#settled + offset)) close();
      for (const row of toRows(line, this.#isAnsi)) {
        if (!filling.fits(row)) close();
        filling.add(row);
      }
    }
    close();
    return pages;
  }

  /** Pages below `index` have a message or are about to: a flood does not swallow them any more. */
  begin(index: number): void {
    this.#begun = Math.max(this.#begun, index);
  }

  /** Pages below `index` are delivered as they will stay: they are forgotten here. */
  confirm(index: number): void {
    this.begin(index);
    this.#waiting = this.#waiting.filter((page) => page.index >= index);
  }

  /** `bytes` of the log are missing here. All rows before must have settled. */
  lose(bytes: number): void {
    this.limitBreaks(this.#settled);
    this.#seal();
    const last = this.#waiting.at(-1);
    const isOneGap = last?.isGap && last.index >= this.#begun;
    const { lines, bytes: shown, gone = 0 } = isOneGap ? last.size : NOTHING;
    const size = { lines, bytes: shown, gone: gone + bytes };
    if (isOneGap) this.#waiting.pop();
    else this.#filling.index++;
    this.#waiting.push({ index: this.#filling.index - 1, rows: [], size, isGap: true });
    this.#collapse();
  }

  /**
   * A flood is over, and so many messages can be sent now: of its newest pages the gap takes those that would have
   * to wait, so that the very last one need not.
   * @param reserved so many of them are left to what comes next, if the newest rows can be shown without them.
   */
  squeeze(room: number, reserved: number, rows: OpenRows): void {
    const open = this.#findOpenGap();
    if (open === undefined) return;
    const own = open.index >= this.#begun ? 1 : 0;
    this.#collapse(Math.max(0, room - reserved - own - this.pages(rows).live.length));
  }

  /** Whether the flood's last rows need more messages than can be sent now, and fewer on pages of their own. */
  isCrowded(room: number, rows: OpenRows): boolean {
    const open = this.#findOpenGap();
    if (open === undefined || this.#filling.isEmpty) return false;
    const own = open.index >= this.#begun ? 1 : 0;
    const count = this.pages(rows).live.length;
    return count > room - own && this.#fill(new Filling(0), rows).length < count;
  }

  /**
   * Whether a gap may still grow: until the page after it has begun. A gap of bytes that are gone grows only until
   * it has a message itself.
   */
  isOpen({ index, size }: Page): boolean {
    return size.lines > 0 ? index >= this.#begun - 1 : index >= this.#begun;
  }

  snapshot(): PagerSnapshot {
    return {
      index: this.index,
      rows: splitRows(this.#filling.rows),
      settled: this.#settled,
      breaks: this.#breaks.slice(),
    };
  }

  #breakHere(): void {
    while (this.#breaks.length > 0 && (this.#breaks[0] ?? 0) <= this.#settled) {
      this.#breaks.shift();
      this.#seal();
    }
  }

  #seal(): void {
    if (this.#filling.isEmpty) return;
    this.#waiting.push(this.#filling.toPage());
    this.#filling = new Filling(this.#filling.index + 1);
    this.#collapse();
  }

  #findOpenGap(): Page | undefined {
    return this.#waiting.find((page) => page.isGap && page.size.lines > 0 && this.isOpen(page));
  }

  #collapse(keptPages = KEPT_PAGES): void {
    // While a flood goes on, its gap grows, also when it has a message: at the end only the newest pages are to be sent.
    const open = this.#findOpenGap();
    const maxPages = open ? Math.min(keptPages + 1, this.#maxBacklog) : this.#maxBacklog;
    const range = collapse(this.#waiting, open?.index ?? this.#begun, maxPages, keptPages);
    if (range === undefined) return;
    const dropped = this.#waiting.slice(range.from, range.to);
    const index = dropped[0]?.index ?? 0;
    const size = { ...NOTHING };
    for (const page of dropped) {
      size.lines += page.size.lines;
      size.bytes += page.size.bytes;
      size.gone += page.size.gone ?? 0;
    }
    const gap: Page = { index, rows: [], size, isGap: true };
    this.#waiting.splice(range.from, dropped.length, gap);
    const shift = dropped.length - 1;
    for (const page of this.#waiting.slice(range.from + 1)) page.index -= shift;
    this.#filling.index -= shift;
    this.#onCollapse(index, dropped.length, size);
  }
}

const NOTHING = { lines: 0, bytes: 0, gone: 0 };
/** How many of the newest pages a flood leaves. */
const KEPT_PAGES = 3;
