/** A terminal's screen as a log of bytes draws it, and the rows that left it for good. */
import { type ColourRun, colourRuns } from "./colours.ts";
import { Emulator, isHighSurrogate, type ScreenBuffer } from "./emulator.ts";
import { findPlainBlock, forEachRow } from "./plain-lines.ts";
import { type CellRow, readRow } from "./rows.ts";
import { restoreScreen, type ScreenSnapshot, takeSnapshot } from "./snapshot.ts";

/** One row of the terminal, without the spaces at its end. */
export interface Line {
  readonly text: string;
  /** The row goes on where the row above ended at the terminal's width. */
  readonly wrapped: boolean;
  /** Where the colours change; only with `colours`, and only when the row has any. */
  readonly runs?: readonly ColourRun[];
  /** Where its links lead, if neither their text nor a row right below tells it. */
  readonly links?: readonly string[];
}

export interface ScreenOptions {
  readonly cols: number;
  readonly rows: number;
  /** Keep colours (slower). */
  readonly colours?: boolean;
}

/** What a screen tells while text is written to it, in the order in which the text makes it happen. */
export interface ScreenListener {
  /** A row has left the normal screen for good. */
  onSettled(line: Line): void;
  /** The same for many rows at once, each ended by CR LF: printable ASCII, no backtick, no space at the end. */
  onPlainRows?(rows: string): void;
  /** The whole normal screen is erased; `lines` were on it. Without this they settle one by one. */
  onErased?(lines: readonly Line[]): void;
  /** The program erases what has left the normal screen (ED 3). */
  onScrollbackErased?(): void;
  /** The cursor goes up to a row of the normal screen with this text; `above` rows scroll away before that one does. */
  onMovedUp?(text: string, above: number): void;
}

/** What a full-screen program shows. */
export interface AlternateScreen {
  readonly lines: readonly Line[];
  readonly cursor: { readonly x: number; readonly y: number };
}

const MAX_TITLE_UNITS = 200;
/** A terminal has at least 2 columns in the emulator; the upper bounds keep every buffer small. */
const MAX_COLS = 500;
const MAX_ROWS = 200;
const EIGHT_BIT_CONTROL = /[\u0080-\u009f]/;
const EIGHT_BIT_CONTROLS = /[\u0080-\u009f]/g;

/**
 * A terminal screen fed with a log. Synchronous and deterministic: the settled rows and the screen depend on the
 * text written and the resizes, never on how the text was cut.
 */
export class Screen {
  readonly #emulator: Emulator;
  readonly #listener: ScreenListener;
  readonly #colours: boolean;
  readonly #untaken: Line[] = [];
  /** Rows that were settled before they scroll away: they must not settle again. */
  #muted = 0;
  #title = "";
  #bells = 0;
  #alternates = 0;

  /** Without a `listener` the settled rows wait for {@link takeSettled}. */
  constructor(options: ScreenOptions, listener?: ScreenListener) {
    this.#colours = options.colours ?? false;
    this.#listener = listener ?? { onSettled: (line) => this.#untaken.push(line) };
    this.#emulator = new Emulator(clampSize(options.cols, MAX_COLS), clampSize(options.rows, MAX_ROWS), {
      rowLeaves: (row) => this.#settle(row),
      screenErased: () => this.#settleScreen(),
      scrollbackErased: () => this.#listener.onScrollbackErased?.(),
      movedUp: (row, above) => this.#listener.onMovedUp?.(readRow(row), above),
      alternateEntered: () => {
        this.#alternates++;
      },
      bell: () => {
        this.#bells++;
      },
      titleChanged: (title) => {
        this.#title = title.slice(0, MAX_TITLE_UNITS);
      },
    });
  }

  get cols(): number {
    return this.#emulator.cols;
  }

  get rows(): number {
    return this.#emulator.rows;
  }

  /** The window title that the program set, as it set it (not cleaned). */
  get title(): string {
    return this.#title;
  }

  /** How often the bell rang since the log's start. */
  get bells(): number {
    return this.#bells;
  }

  /** How often a full-screen program took the screen since the log's start. */
  get alternates(): number {
    return this.#alternates;
  }

  /** Draws `text`. Whole surrogate pairs only; an escape sequence may be cut anywhere. */
  write(text: string): void {
    const clean = EIGHT_BIT_CONTROL.test(text) ? text.replace(EIGHT_BIT_CONTROLS, "") : text;
    let position = 0;
    while (position < clean.length) {
      const next = this.#writePlainBlock(clean, position);
      // In the middle of a line, a plain block may begin with the next one.
      if (next === position) position = this.#parseSome(clean, position, this.#emulator.active.x > 0);
      else position = next;
    }
  }

  /** The rows that left the normal screen since the last call (only without a listener). */
  takeSettled(): Line[] {
    return this.#untaken.splice(0);
  }

  /** The rows of the normal screen, also while a full-screen program hides it; blank ones at the end dropped. */
  live(): Line[] {
    return this.#read(this.#emulator.normal);
  }

  /** The normal screen's row with the cursor, counted from its top, and whether that row is blank. */
  get cursorRow(): { readonly row: number; readonly isBlank: boolean } {
    const { y, lines } = this.#emulator.normal;
    const row = lines.get(y);
    return { row: y, isBlank: row === undefined || readRow(row) === "" };
  }

  /** The screen of a full-screen program while it runs. */
  get alternate(): AlternateScreen | undefined {
    if (!this.#emulator.isAlternate) return undefined;
    const { x, y } = this.#emulator.active;
    return { lines: this.#read(this.#emulator.active), cursor: { x: Math.min(x, this.cols - 1), y } };
  }

  /** Gives the terminal another size, as tmux does: the lines on the screen are wrapped anew. */
  resize(cols: number, rows: number): void {
    this.#emulator.resize(clampSize(cols, MAX_COLS), clampSize(rows, MAX_ROWS), (row) => this.#settle(row));
  }

  /**
   * The log goes on at another place: an escape sequence that was cut there does not go on. What the normal screen
   * holds settles, and it begins anew at its top. The modes stay: a full-screen program most likely still runs.
   */
  cut(): void {
    const { isAlternate } = this.#emulator;
    this.#emulator.parse("\x18\x1b]8;;\x07");
    if (isAlternate) this.#emulator.parse("\x1b[?1047l");
    this.#emulator.parse("\x1b[2J");
    this.#emulator.normal.x = 0;
    this.#emulator.normal.y = 0;
    if (isAlternate) this.#emulator.parse("\x1b[?1047h");
  }

  /** False within an escape sequence: no snapshot can be taken there. */
  get canSnapshot(): boolean {
    return this.#emulator.isGround;
  }

  /** Everything that the rest of the log can depend on, as plain JSON; undefined within an escape sequence. */
  snapshot(): ScreenSnapshot | undefined {
    if (!this.canSnapshot) return undefined;
    return {
      ...takeSnapshot(this.#emulator, this.#colours),
      title: this.#title,
      bells: this.#bells,
      alternates: this.#alternates,
    };
  }

  /** A screen that goes on exactly where `snapshot` was taken. */
  static restore(
    snapshot: ScreenSnapshot,
    options: { colours?: boolean } = {},
    listener?: ScreenListener,
  ): Screen {
    const screen = new Screen({ cols: snapshot.cols, rows: snapshot.rows, ...options }, listener);
    restoreScreen(screen.#emulator, snapshot);
    screen.#title = snapshot.title;
    screen.#bells = snapshot.bells;
    screen.#alternates = snapshot.alternates;
    return screen;
  }

  /** Parses some of the text, where it can up to a line's end: there a plain block may begin. */
  #parseSome(text: string, from: number, isFirstLineOnly: boolean): number {
    const limit = Math.min(text.length, from + PARSE_UNITS);
    const newline = isFirstLineOnly ? text.indexOf("\n", from) : text.lastIndexOf("\n", limit - 1);
    let end = newline >= from && newline < limit ? newline + 1 : limit;
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end++;
    this.#emulator.parse(text.slice(from, end));
    return end;
  }

  /**
   * Many lines of plain text at the bottom of a plain screen: all but the last ones settle without the emulator,
   * which is ten times as fast. Returns `from` when the text or the screen is not that plain.
   */
  #writePlainBlock(text: string, from: number): number {
    if (!this.#isPlainBottom()) return from;
    const block = findPlainBlock(text, from, this.cols, this.rows);
    if (block === undefined) return from;
    for (let row = 0; row < this.rows - 1; row++) {
      const line = this.#emulator.normal.lines.get(row);
      if (line !== undefined) this.#settle(line);
    }
    const listener = this.#listener;
    if (block.isOneRowEach && listener.onPlainRows !== undefined) listener.onPlainRows(block.settled);
    else forEachRow(block.settled, this.cols, (text, wrapped) => listener.onSettled({ text, wrapped }));
    this.#muted = this.rows - 1;
    this.#emulator.account.wrote(block.end - from - block.tail.length);
    this.#emulator.parse(block.tail);
    return block.end;
  }

  /** The cursor stands in the last row and nothing changes what plain text does there: most of it costs little. */
  get takesPlainText(): boolean {
    const emulator = this.#emulator;
    const { normal, core } = emulator;
    if (this.#colours || normal.y !== emulator.rows - 1 || emulator.isAlternate || !emulator.isGround)
      return false;
    if (normal.scrollTop !== 0 || normal.scrollBottom !== emulator.rows - 1) return false;
    if (core._charsetService.charset !== undefined || emulator.hasOpenLink) return false;
    return !core.coreService.modes.insertMode && core.coreService.decPrivateModes.wraparound;
  }

  /** It also stands at the start of that row, and the row is blank. */
  #isPlainBottom(): boolean {
    const { normal } = this.#emulator;
    if (normal.x !== 0 || !this.takesPlainText) return false;
    const row = normal.lines.get(normal.y);
    return row !== undefined && !row.isWrapped && row.getTrimmedLength() === 0;
  }

  #settle(row: CellRow): void {
    if (this.#muted > 0) this.#muted--;
    else this.#listener.onSettled(this.#toLine(row, this.#linksOf(row)));
  }

  /** An erased screen is told, down to its last row that holds anything, as tmux's scroll-on-clear does. */
  #settleScreen(): number {
    const { lines } = this.#emulator.normal;
    let count = this.rows;
    while (count > 0 && (lines.get(count - 1)?.getTrimmedLength() ?? 0) === 0) count--;
    const erased: Line[] = [];
    for (let index = 0; index < count; index++) {
      const row = lines.get(index);
      if (row === undefined) continue;
      if (this.#muted > 0) this.#muted--;
      else erased.push(this.#toLine(row, this.#linksOf(row)));
    }
    if (this.#listener.onErased) this.#listener.onErased(erased);
    else for (const line of erased) this.#listener.onSettled(line);
    return count;
  }

  #read(buffer: ScreenBuffer): Line[] {
    const lines: Line[] = [];
    for (let index = 0; index < this.rows; index++) {
      const row = buffer.lines.get(index);
      lines.push(
        row === undefined ? { text: "", wrapped: false } : this.#toLine(row, this.#linksOf(row, buffer)),
      );
    }
    while (lines.length > 0 && lines[lines.length - 1]?.text === "") lines.pop();
    return lines;
  }

  /** A link over several rows, and one that is printed row after row, is told below its last one. */
  #linksOf(row: CellRow, { lines }: ScreenBuffer = this.#emulator.normal): readonly string[] {
    const { links } = this.#emulator;
    const addresses = links.of(row);
    if (addresses.length === 0) return addresses;
    let index = 0;
    while (index < lines.length && lines.get(index) !== row) index++;
    const below = new Set<string>();
    for (let next = index + 1; next <= index + ROWS_BELOW && next < lines.length; next++) {
      const other = lines.get(next);
      if (other !== undefined) for (const address of links.of(other)) below.add(address);
    }
    return addresses.filter((address) => !below.has(address));
  }

  #toLine(row: CellRow, links: readonly string[]): Line {
    const text = readRow(row);
    const line: Line = { text, wrapped: row.isWrapped, ...(links.length > 0 ? { links } : {}) };
    if (!this.#colours) return line;
    const runs = colourRuns(row, line.text.length);
    return runs.length === 0 ? line : { ...line, runs };
  }
}

const PARSE_UNITS = 4096;
/** The address of a link is left out if one of so many rows below tells it. */
const ROWS_BELOW = 3;

function clampSize(size: number, max: number): number {
  return Math.max(2, Math.min(max, Math.trunc(size) || 2));
}
