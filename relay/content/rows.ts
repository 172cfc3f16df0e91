/** The emulator's rows of cells: how they are read, and filled in one step instead of cell by cell. */
import { trimEndSpaces } from "./text.ts";

/** One row of cells. */
export interface CellRow {
  length: number;
  /** Three numbers a cell; the first: 21 bits of code point, a flag for combined text, two bits of width. */
  _data: Uint32Array;
  _combined: Record<number, string>;
  _extendedAttrs: Record<number, unknown>;
  isWrapped: boolean;
  getWidth(column: number): number;
  getString(column: number): string;
  getFg(column: number): number;
  getBg(column: number): number;
  getTrimmedLength(): number;
  translateToString(trimRight: boolean): string;
  resize(cols: number, fill: unknown): void;
  fill(cell: Cell, respectProtect?: boolean): void;
  setCellFromCodepoint(column: number, codePoint: number, width: number, attributes: Attributes): void;
  addCodepointToCell(column: number, codePoint: number, width: number): void;
}

/** A cell's colours and flags as the emulator packs them. */
export interface Attributes {
  fg: number;
  bg: number;
  extended: unknown;
}

/** A cell on its own. */
export interface Cell extends Attributes {
  content: number;
}

interface RowMaker extends Rows {
  readonly _bufferService: { readonly cols: number };
  getNullCell(attributes: Attributes): Cell;
  getBlankLine(attributes: Attributes, isWrapped?: boolean): CellRow;
  clear(): void;
}

/** A screen's rows. */
interface Rows {
  readonly lines: { readonly length: number; get(row: number): CellRow | undefined };
}

const SPACE = 32;
const CELL_NUMBERS = 3;
const CODE_POINT = 0x1fffff;
const HAS_TEXT = 0x3fffff;
const IS_COMBINED = 0x200000;
const WIDTH_SHIFT = 22;
/** A row that is filled has no extended attributes (underline styles, links). */
const WITHOUT_EXTENDED = ~0x10000000;
/** What no font can draw is not kept (tmux keeps 21 bytes a cell). */
const MAX_CELL_UNITS = 32;
/** A row that holds more marks than this many units a cell takes no third one in any cell. */
const MAX_MEAN_UNITS = 4;
const codeUnits: number[] = [];

/** A row's text without the spaces and empty cells at its end. Twice as fast as asking the row for it. */
export function readRow(row: CellRow): string {
  const data = row._data;
  let end = row.length * CELL_NUMBERS - CELL_NUMBERS;
  for (; end >= 0; end -= CELL_NUMBERS) {
    const text = (data[end] as number) & HAS_TEXT;
    if (text !== 0 && text !== SPACE) break;
  }
  codeUnits.length = 0;
  for (let index = 0; index <= end; index += CELL_NUMBERS) {
    const content = data[index] as number;
    const codePoint = content & CODE_POINT;
    if (content & IS_COMBINED || codePoint > 0xffff) return trimEndSpaces(row.translateToString(true));
    if (codePoint !== 0) codeUnits.push(codePoint);
    // An empty cell shows as a space; the stub behind a wide character has no width and shows nothing.
    else if (content >>> WIDTH_SHIFT !== 0) codeUnits.push(SPACE);
  }
  return String.fromCharCode.apply(undefined, codeUnits);
}

let isTamed = false;

/** Rows of this class and those that `maker`'s class makes cost little. All terminals share both: once is enough. */
export function tameRows(row: CellRow, maker: object): void {
  if (isTamed) return;
  isTamed = true;
  const rows = Object.getPrototypeOf(row) as CellRow;
  const makers = Object.getPrototypeOf(maker) as RowMaker;
  const Row = row.constructor as new (cols: number) => CellRow;
  const fillSlowly = rows.fill;
  rows.fill = function (this: CellRow, cell, respectProtect) {
    if (respectProtect || cell.content & IS_COMBINED) fillSlowly.call(this, cell, respectProtect);
    else {
      this._combined = {};
      this._extendedAttrs = {};
      this._data.set(cellsOf(this.length, cell));
    }
  };
  // A mark that stands alone has no width. The emulator would take a row with nothing else for a blank one.
  rows.getTrimmedLength = function (this: CellRow) {
    for (let column = this.length - 1; column >= 0; column--) {
      const content = this._data[column * CELL_NUMBERS] as number;
      if (content & HAS_TEXT) return column + Math.max(1, content >>> WIDTH_SHIFT);
    }
    return 0;
  };
  makers.getBlankLine = function (this: RowMaker, attributes, isWrapped) {
    const cells = cellsOf(this._bufferService.cols, this.getNullCell(attributes));
    const blank = takeSpare(cells.length) ?? new Row(0);
    if (blank._data.length === cells.length) blank._data.set(cells);
    else blank._data = cells.slice();
    blank.length = this._bufferService.cols;
    blank.isWrapped = isWrapped ?? false;
    return blank;
  };
  const clear = makers.clear;
  makers.clear = function (this: RowMaker) {
    giveUpRows(this);
    clear.call(this);
  };
  // A program may stack marks on one cell for ever.
  const add = rows.addCodepointToCell;
  rows.addCodepointToCell = function (this: CellRow, column, codePoint, width) {
    const { length } = this.getString(column);
    const isFull =
      length >= MAX_CELL_UNITS || (length > 2 && countUnits(this) >= MAX_MEAN_UNITS * this.length);
    if (!isFull) add.call(this, column, codePoint, width);
  };
}

/**
 * Rows of screens that are gone, whose memory the next ones use. A program may enter and leave the alternate screen again
 * and again: to make and collect 1.2 MB each time took half of what the dearest programs cost.
 */
const spare: CellRow[] = [];
/** Those of the largest screen: 1.2 MB. */
const MAX_SPARE = 200;

/** The rows of a screen that nobody looks at any more. */
export function giveUpRows({ lines }: Rows): void {
  for (let index = 0; index < lines.length && spare.length < MAX_SPARE; index++) {
    const row = lines.get(index);
    if (row === undefined) continue;
    // Marks and links take more than the cells. They are let go at once, not when the row is used again.
    row._combined = {};
    row._extendedAttrs = {};
    spare.push(row);
  }
}

/** @returns a row of so many numbers. If there are none, those of another width go: another screen is drawn now. */
function takeSpare(numbers: number): CellRow | undefined {
  if (spare.at(-1)?._data.length !== numbers) spare.length = 0;
  return spare.pop();
}

/** The marks of a cell as they were, however many its row takes by now: it may have been wider when they came. */
export function restoreMarks(row: CellRow, column: number, text: string): void {
  const at = column * CELL_NUMBERS;
  row._combined[column] = text;
  row._data[at] = ((row._data[at] as number) & ~CODE_POINT) | IS_COMBINED;
}

let template = { cols: 0, content: 0, fg: 0, bg: 0, cells: new Uint32Array() };

/** The numbers of a row of such cells. Do not write to it. */
function cellsOf(cols: number, cell: Cell): Uint32Array {
  const { content, fg } = cell;
  const bg = cell.bg & WITHOUT_EXTENDED;
  if (template.cols !== cols || template.content !== content || template.fg !== fg || template.bg !== bg) {
    const cells = new Uint32Array(cols * CELL_NUMBERS);
    for (let index = 0; index < cells.length; index += CELL_NUMBERS) {
      cells[index] = content;
      cells[index + 1] = fg;
      cells[index + 2] = bg;
    }
    template = { cols, content, fg, bg, cells };
  }
  return template.cells;
}

/** The units of a row's text, that of cells with marks in full. */
function countUnits(row: CellRow): number {
  let units = row.length;
  for (let column = 0; column < row.length; column++) {
    if ((row._data[column * CELL_NUMBERS] as number) & IS_COMBINED)
      units += (row._combined[column]?.length ?? 1) - 1;
  }
  return units;
}
