/** What a program draws again and again: kept apart from the pages until it is known whether it stays. */
import type { Pager } from "./pager.ts";
import { toRows } from "./pages.ts";
import {
  areBlank,
  type Comparison,
  findPicture,
  isEqualRow,
  isPartOfPicture,
  isSamePicture,
  isSameRow,
} from "./redraws.ts";
import type { Line } from "./screen.ts";

/** What {@link Frames} needs to go on. Rows are those of a page. */
export interface FramesSnapshot {
  readonly frame?: Frame;
  readonly top?: string;
  readonly above?: number;
}

interface Frame {
  /** How often the program began anew, without a person's message in between. */
  readonly count: number;
  /** What stood there before: shown above unless the new frame is the same picture. */
  readonly old: readonly string[];
  /** All of `old` was drawn as one. Otherwise text may stand above the picture. */
  readonly isOldWhole: boolean;
  /** Rows of `old` had scrolled away before it was cleared. */
  readonly isOldTall: boolean;
  /** The new frame began with no more than a move to the top: nothing was drawn there that was not there before. */
  readonly isOnlyMoved: boolean;
  /** The rows of the new frame that have left the screen. */
  readonly rows: string[];
}

/** A frame with more rows above the screen than make so many units is no picture, but text that goes on. */
const MAX_UNITS = 4 * 1_900;
/** A program that has cleared its screen so often shows pictures, also if they have nothing in common. */
const MANY_FRAMES = 4;

/**
 * Stands between the screen and the pager. Text that scrolls goes right through. Once a program clears its screen, or
 * goes back to its top, the rows are held here: a picture that is drawn again takes the place of the one before, and
 * what is no picture goes to the pages as it came. A person's message ends this, and what stands above it stays. All
 * follows from the bytes and the breaks, so that a relay that reads them again comes to the same pages.
 */
export class Frames {
  readonly #pager: Pager;
  readonly #isAnsi: boolean;
  #frame: Frame | undefined;
  /** The row that the cursor was moved up to, as it was then; undefined once it has left the screen. */
  #top: string | undefined;
  /** The number of rows that leave the screen before that one. */
  #above = 0;
  #units = 0;

  constructor(pager: Pager, isAnsi: boolean, from: FramesSnapshot = {}) {
    this.#pager = pager;
    this.#isAnsi = isAnsi;
    this.#frame = from.frame;
    this.#top = from.top;
    this.#above = from.above ?? 0;
    this.#units = unitsOf(from.frame?.rows ?? []);
  }

  /** A row has left the screen. */
  push(line: Line): void {
    // Rows above a person's message are not this program's.
    const isPassed = this.#pager.hasBreaks;
    if (this.#above > 0) this.#above--;
    else if (this.#top !== undefined && !isPassed) this.#beginAtTop(line.text === this.#top);
    if (isPassed || this.#frame === undefined) {
      this.#pager.push(line);
      return;
    }
    const rows = toRows(line, this.#isAnsi);
    this.#frame.rows.push(...rows);
    this.#units += unitsOf(rows);
    if (this.#units > MAX_UNITS) this.flush([]);
  }

  /** As {@link Pager.pushPlainRows}. */
  pushPlainRows(rows: string): void {
    let start = 0;
    while (start < rows.length && (this.#frame !== undefined || this.#top !== undefined)) {
      const end = rows.indexOf("\r\n", start);
      this.push({ text: rows.slice(start, end), wrapped: false });
      start = end + 2;
    }
    if (start < rows.length) this.#pager.pushPlainRows(start === 0 ? rows : rows.slice(start));
  }

  /** The whole screen is erased; `lines` were on it. */
  erase(lines: readonly Line[]): void {
    this.#top = undefined;
    let above = 0;
    while (this.#pager.hasBreaks && above < lines.length) this.#pager.push(lines[above++] as Line);
    this.#pager.limitBreaks(this.#pager.settled);
    const rows = lines.slice(above).flatMap((line) => toRows(line, this.#isAnsi));
    if (this.#frame !== undefined) this.#close([...this.#frame.rows, ...rows], this.#frame.rows.length > 0);
    else this.#begin([...this.#pager.takeOpenRows(), ...rows]);
  }

  /** The program erases what has scrolled away (ED 3): all that is not on a page that will stay. */
  eraseScrollback(): void {
    if (this.#pager.hasBreaks) return;
    this.#pager.takeOpenRows();
    this.#units = 0;
    if (this.#frame) this.#frame = { ...this.#frame, old: [], isOldWhole: true, isOldTall: false, rows: [] };
  }

  /** The cursor goes up to a row, `above` rows below the first one. If it leaves the screen, a frame began here. */
  moveUp(text: string, above: number): void {
    this.#top = text;
    this.#above = above;
  }

  /** The rows between those of the pages and those on the screen. */
  rows(screen: readonly Line[]): string[] {
    if (this.#frame === undefined) return [];
    const { old, rows } = this.#frame;
    return [...old.slice(0, this.#lengthKept(this.#frame, screen)), ...rows];
  }

  /** Everything that is held goes to the pages, as it is shown above these rows of the screen. */
  flush(screen: readonly Line[]): void {
    const rows = this.rows(screen);
    this.#frame = undefined;
    this.#top = undefined;
    this.#units = 0;
    for (const row of rows) this.#pager.pushRow(row);
  }

  /** The frame that is drawn now moves on to another page. */
  separate(screen: readonly Line[]): void {
    if (this.#frame === undefined) return;
    this.#settle(this.#frame.old, this.#lengthKept(this.#frame, screen));
    this.#frame = { ...this.#frame, old: [], isOldWhole: true, isOldTall: false };
  }

  snapshot(): FramesSnapshot | undefined {
    if (this.#frame === undefined && this.#top === undefined) return undefined;
    return {
      ...(this.#frame === undefined ? {} : { frame: { ...this.#frame, rows: [...this.#frame.rows] } }),
      ...(this.#top === undefined ? {} : { top: this.#top, above: this.#above }),
    };
  }

  #beginAtTop(isOnlyMoved: boolean): void {
    this.#top = undefined;
    if (this.#frame === undefined) this.#begin(this.#pager.takeOpenRows(), isOnlyMoved);
    else if (this.#frame.rows.length > 0) this.#close(this.#frame.rows, true, isOnlyMoved);
  }

  #begin(old: readonly string[], isOnlyMoved = false): void {
    if (areBlank(old)) {
      this.#settle(old, old.length);
      return;
    }
    this.#frame = { count: 1, old, isOldWhole: false, isOldTall: false, isOnlyMoved, rows: [] };
    this.#units = 0;
  }

  /** The frame is whole: another one begins. */
  #close(rows: readonly string[], isTall: boolean, isOnlyMoved = false): void {
    const frame = this.#frame;
    if (frame === undefined) return;
    this.#units = 0;
    // A program may clear twice before it draws.
    if (areBlank(rows)) this.#frame = { ...frame, rows: [] };
    else {
      const isPicture = frame.count >= MANY_FRAMES - 1 && !isTall && !frame.isOldTall;
      this.#settle(frame.old, isPicture ? 0 : lengthBefore(frame, rows));
      const count = frame.count + 1;
      this.#frame = { count, old: rows, isOldWhole: true, isOldTall: isTall, isOnlyMoved, rows: [] };
    }
  }

  #settle(rows: readonly string[], count: number): void {
    for (const row of rows.slice(0, count)) this.#pager.pushRow(row);
  }

  /** How many rows of the old frame stay above the new one, of which this screen shows the end. */
  #lengthKept(frame: Frame, screen: readonly Line[]): number {
    const drawn = [...frame.rows, ...screen.flatMap((line) => toRows(line, this.#isAnsi))];
    if (areBlank(drawn)) return frame.old.length;
    if (frame.count > 1 && isPartOfPicture(frame.old, drawn, comparisonOf(frame))) return 0;
    const isPicture = frame.count >= MANY_FRAMES && !frame.isOldTall && frame.rows.length === 0;
    if (isPicture && drawn.length * 2 >= frame.old.length) return 0;
    return lengthBefore(frame, drawn);
  }
}

/** How many rows of the old frame are none of the picture that these rows are. */
function lengthBefore(frame: Frame, rows: readonly string[]): number {
  const { old, isOldWhole } = frame;
  if (!isOldWhole) return findPicture(old, rows, comparisonOf(frame));
  return isSamePicture(old, rows, comparisonOf(frame)) ? 0 : old.length;
}

function comparisonOf({ isOnlyMoved }: Frame): Comparison {
  return isOnlyMoved ? isEqualRow : isSameRow;
}

function unitsOf(rows: readonly string[]): number {
  return rows.reduce((sum, row) => sum + row.length + 1, 0);
}
