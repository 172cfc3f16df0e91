/** A screen's whole state as plain JSON, and back: what the rest of a log can depend on and nothing else. */
import type { AccountSnapshot } from "./cost-account.ts";
import { Emulator, type ScreenBuffer } from "./emulator.ts";
import type { LinksSnapshot } from "./links.ts";
import { type Attributes, type CellRow, restoreMarks } from "./rows.ts";

/** Everything a `Screen` needs to go on; made of strings, numbers and arrays only. */
export interface ScreenSnapshot extends EmulatorSnapshot {
  readonly title: string;
  readonly bells: number;
  readonly alternates: number;
}

interface EmulatorSnapshot {
  readonly cols: number;
  readonly rows: number;
  readonly normal: BufferSnapshot;
  readonly alternate: BufferSnapshot;
  readonly isAlternate: boolean;
  /** insert, origin, reverse wraparound, wraparound. */
  readonly modes: readonly boolean[];
  /** The active set, G0–G3, and which of them is invoked. */
  readonly charsets: readonly (string | number)[];
  readonly pen: readonly [fg: number, bg: number];
  /** What the last printed character can still be joined with. */
  readonly join: number;
  /** Missing in marks of versions that had no account: it is full then. */
  readonly account?: AccountSnapshot;
  /** Missing unless the cursor has just gone to the first row because margins were set. */
  readonly lifted?: number;
  /** Missing while the program has printed none. */
  readonly links?: LinksSnapshot;
}

interface BufferSnapshot {
  /** The cells, rows parted by newlines; see `encodeRow`. */
  readonly cells: string;
  readonly odd: readonly OddCell[];
  /** The rows that go on from the row above. */
  readonly wrapped: readonly number[];
  /** x, y, scroll region top and bottom. */
  readonly cursor: readonly number[];
  /** x, y, pen. */
  readonly saved: readonly number[];
  readonly savedCharset: string;
  /** Tab stops; 0 for the usual ones. */
  readonly tabs: readonly number[] | 0;
  /** Only with colours: per row runs of [cells, fg, bg]. */
  readonly colours?: readonly (readonly number[])[];
}

type OddCell = readonly [text: string, width: number];

// Characters that no cell can hold stand for cells that are not one plain character. DEL is the frequent one,
// as JSON does not escape it.
const EMPTY = "\u007f";
const STUB = "\u0001";
const ODD = "\u0002";
/** Extended attributes are not kept here (links are, apart), so neither is the flag that says they are there. */
const WITHOUT_EXTENDED = ~0x10000000;

/** Reads the emulator's state. Only while its parser is between sequences. */
export function takeSnapshot(emulator: Emulator, colours: boolean): EmulatorSnapshot {
  const { core } = emulator;
  const { origin, reverseWraparound, wraparound } = core.coreService.decPrivateModes;
  const charsets = core._charsetService;
  const { normal, alt } = core._bufferService.buffers;
  const links = emulator.links.snapshot(core._inputHandler._curAttrData, [normal, alt]);
  return {
    cols: emulator.cols,
    rows: emulator.rows,
    normal: takeBuffer(emulator, normal, colours),
    alternate: takeBuffer(emulator, alt, colours),
    isAlternate: emulator.isAlternate,
    modes: [core.coreService.modes.insertMode, origin, reverseWraparound, wraparound],
    charsets: [
      charsetName(charsets.charset),
      ...[0, 1, 2, 3].map((slot) => charsetName(charsets._charsets[slot])),
      charsets.glevel,
    ],
    pen: penOf(core._inputHandler._curAttrData, colours),
    join: core._inputHandler._parser.precedingJoinState,
    account: emulator.account.snapshot(),
    ...(emulator.lifted.from === 0 ? {} : { lifted: emulator.lifted.from }),
    ...(links === undefined ? {} : { links }),
  };
}

/** Puts a fresh emulator of the same size into the state that was read. */
export function restoreScreen(emulator: Emulator, snapshot: EmulatorSnapshot): void {
  const { core } = emulator;
  const { buffers } = core._bufferService;
  if (snapshot.isAlternate) buffers.activateAltBuffer();
  restoreBuffer(emulator, buffers.normal, snapshot.normal);
  restoreBuffer(emulator, buffers.alt, snapshot.alternate);
  const [insertMode, origin, reverseWraparound, wraparound] = snapshot.modes;
  core.coreService.modes.insertMode = insertMode ?? false;
  Object.assign(core.coreService.decPrivateModes, { origin, reverseWraparound, wraparound });
  const [active, g0, g1, g2, g3, level] = snapshot.charsets;
  const charsets = core._charsetService;
  charsets._charsets = [g0, g1, g2, g3].map((name) => findCharset(String(name)));
  charsets.glevel = Number(level);
  charsets.charset = findCharset(String(active));
  const [fg, bg] = snapshot.pen;
  Object.assign(core._inputHandler._curAttrData, { fg, bg });
  core._inputHandler._parser.precedingJoinState = snapshot.join;
  if (snapshot.account !== undefined) emulator.account.restore(snapshot.account);
  emulator.lifted.from = snapshot.lifted ?? 0;
  if (snapshot.links === undefined) return;
  emulator.links.restore(core._inputHandler._curAttrData, [buffers.normal, buffers.alt], snapshot.links);
}

function takeBuffer(emulator: Emulator, buffer: ScreenBuffer, colours: boolean): BufferSnapshot {
  const odd: OddCell[] = [];
  const texts: string[] = [];
  const wrapped: number[] = [];
  const runs: number[][] = [];
  for (let index = 0; index < buffer.lines.length; index++) {
    const row = buffer.lines.get(index);
    if (row === undefined) continue;
    texts.push(encodeRow(emulator, row, odd));
    if (row.isWrapped) wrapped.push(index);
    if (colours) runs.push(encodeColours(row));
  }
  while (texts.length > 0 && texts[texts.length - 1] === "") texts.pop();
  const tabs = Object.keys(buffer.tabs)
    .map(Number)
    .filter((column) => buffer.tabs[column]);
  return {
    cells: texts.join("\n"),
    odd,
    wrapped,
    cursor: [buffer.x, buffer.y, buffer.scrollTop, buffer.scrollBottom],
    saved: [buffer.savedX, buffer.savedY, ...penOf(buffer.savedCurAttrData, colours)],
    savedCharset: charsetName(buffer.savedCharset),
    tabs: isUsual(tabs, emulator.cols) ? 0 : tabs,
    ...(colours ? { colours: runs } : {}),
  };
}

function restoreBuffer(emulator: Emulator, buffer: ScreenBuffer, snapshot: BufferSnapshot): void {
  const texts = snapshot.cells.split("\n");
  const odd = snapshot.odd.values();
  for (let index = 0; index < buffer.lines.length; index++) {
    const row = buffer.lines.get(index);
    if (row === undefined) continue;
    decodeRow(emulator, row, texts[index] ?? "", odd, snapshot.colours?.[index] ?? []);
    row.isWrapped = snapshot.wrapped.includes(index);
  }
  const [x = 0, y = 0, top = 0, bottom = 0] = snapshot.cursor;
  const [savedX = 0, savedY = 0, fg = 0, bg = 0] = snapshot.saved;
  Object.assign(buffer, { x, y, scrollTop: top, scrollBottom: bottom, savedX, savedY });
  Object.assign(buffer.savedCurAttrData, { fg, bg });
  buffer.savedCharset = findCharset(snapshot.savedCharset);
  if (snapshot.tabs !== 0) buffer.tabs = Object.fromEntries(snapshot.tabs.map((column) => [column, true]));
}

/**
 * One character per cell. A wide character stands for itself and the empty stub behind it; whatever is not what
 * printing one character would have made is `ODD` here and spelled out in `odd`.
 */
function encodeRow(emulator: Emulator, row: CellRow, odd: OddCell[]): string {
  let text = "";
  let used = row.length;
  while (used > 0 && row.getString(used - 1) === "" && row.getWidth(used - 1) === 1) used--;
  for (let column = 0; column < used; column++) {
    const cell = row.getString(column);
    const width = row.getWidth(column);
    if (cell === "") {
      text += width === 1 ? EMPTY : STUB;
      continue;
    }
    const codePoint = cell.codePointAt(0) ?? 0;
    const isSingle = cell.length === (codePoint > 0xffff ? 2 : 1);
    const isUsual = isSingle && width > 0 && emulator.core.unicodeService.wcwidth(codePoint) === width;
    if (isUsual && width === 1) text += cell;
    else if (isUsual && column + 1 < row.length && isStub(row, column + 1)) {
      text += cell;
      column++;
    } else {
      text += ODD;
      odd.push([cell, width]);
    }
  }
  return text;
}

function decodeRow(
  emulator: Emulator,
  row: CellRow,
  text: string,
  odd: Iterator<OddCell>,
  colours: readonly number[],
): void {
  const attributes: Attributes = { fg: 0, bg: 0, extended: undefined };
  const paint = painter(colours, attributes);
  let column = 0;
  const put = (codePoint: number, width: number): void => {
    paint(column);
    row.setCellFromCodepoint(column++, codePoint, width, attributes);
  };
  for (const char of text) {
    if (char === EMPTY) put(0, 1);
    else if (char === STUB) put(0, 0);
    else if (char === ODD) {
      const [text, width] = (odd.next().value as OddCell | undefined) ?? [" ", 1];
      const first = text.codePointAt(0) ?? 0;
      const at = column;
      put(first, width);
      if (text.length > String.fromCodePoint(first).length) restoreMarks(row, at, text);
    } else {
      const codePoint = char.codePointAt(0) ?? 0;
      const width = emulator.core.unicodeService.wcwidth(codePoint);
      put(codePoint, width);
      if (width === 2) put(0, 0);
    }
  }
  while (column < row.length) put(0, 1);
}

function isStub(row: CellRow, column: number): boolean {
  return row.getWidth(column) === 0 && row.getString(column) === "";
}

function encodeColours(row: CellRow): number[] {
  const runs: number[] = [];
  for (let column = 0; column < row.length; column++) {
    const fg = row.getFg(column);
    const bg = row.getBg(column) & WITHOUT_EXTENDED;
    if (runs.length > 0 && runs.at(-2) === fg && runs.at(-1) === bg)
      runs[runs.length - 3] = (runs.at(-3) ?? 0) + 1;
    else runs.push(1, fg, bg);
  }
  // A row without colours is the usual one.
  return runs.length === 3 && runs[1] === 0 && runs[2] === 0 ? [] : runs;
}

function painter(runs: readonly number[], attributes: Attributes): (column: number) => void {
  let run = -3;
  let end = 0;
  return (column) => {
    while (column >= end && run + 3 < runs.length) {
      run += 3;
      end += runs[run] ?? 0;
    }
    attributes.fg = run < 0 ? 0 : (runs[run + 1] ?? 0);
    attributes.bg = run < 0 ? 0 : (runs[run + 2] ?? 0);
  };
}

function penOf(attributes: Attributes, colours: boolean): [number, number] {
  return colours ? [attributes.fg, attributes.bg & WITHOUT_EXTENDED] : [0, 0];
}

function isUsual(tabs: readonly number[], cols: number): boolean {
  return tabs.length === Math.ceil(cols / 8) && tabs.every((column, index) => column === index * 8);
}

/** The emulator's character sets by the letter that designates them; found by asking it, once. */
let charsetsByName: Map<string, unknown> | undefined;

function charsets(): Map<string, unknown> {
  if (charsetsByName !== undefined) return charsetsByName;
  charsetsByName = new Map();
  const nothing = (): void => {};
  const probe = new Emulator(2, 2, {
    rowLeaves: nothing,
    screenErased: () => 0,
    scrollbackErased: nothing,
    movedUp: nothing,
    alternateEntered: nothing,
    bell: nothing,
    titleChanged: nothing,
  });
  for (const name of "0A4C5RQKYEHZ7=") {
    probe.parse(`\x1b(${name}`);
    const set = probe.core._charsetService.charset;
    if (set !== undefined && ![...charsetsByName.values()].includes(set)) charsetsByName.set(name, set);
  }
  return charsetsByName;
}

function charsetName(set: unknown): string {
  if (set === undefined || set === null) return "";
  for (const [name, known] of charsets()) if (known === set) return name;
  return "";
}

function findCharset(name: string): unknown {
  return name === "" ? undefined : charsets().get(name);
}
