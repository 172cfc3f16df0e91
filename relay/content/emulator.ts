/**
 * The headless terminal emulator, with the inner parts that a faithful log needs and its public interface does
 * not give: synchronous writes, the moment a row scrolls away, and the state of the parser. Everything that
 * depends on the exact version of @xterm/headless (6.0.0) is in this file; `emulator.test.ts` guards it.
 */
import unicode11 from "@xterm/addon-unicode11";
import xtermHeadless from "@xterm/headless";
import { trimEndSpaces } from "./text.ts";

const { Terminal } = xtermHeadless;
const { Unicode11Addon } = unicode11;

/** One row of cells. */
export interface CellRow {
  readonly length: number;
  /** Three numbers a cell; the first: 21 bits of code point, a flag for combined text, two bits of width. */
  readonly _data: Uint32Array;
  isWrapped: boolean;
  getWidth(column: number): number;
  getString(column: number): string;
  getFg(column: number): number;
  getBg(column: number): number;
  getTrimmedLength(): number;
  translateToString(trimRight: boolean): string;
  resize(cols: number, fill: unknown): void;
  setCellFromCodepoint(column: number, codePoint: number, width: number, attributes: Attributes): void;
  addCodepointToCell(column: number, codePoint: number, width: number): void;
}

/** A cell's colours and flags as the emulator packs them. */
export interface Attributes {
  fg: number;
  bg: number;
  extended: unknown;
}

/** A screen: `lines` holds exactly the visible rows, since scrollback is off. */
export interface ScreenBuffer {
  readonly lines: { readonly length: number; maxLength: number; get(row: number): CellRow | undefined };
  x: number;
  y: number;
  readonly ybase: number;
  scrollTop: number;
  scrollBottom: number;
  tabs: Record<number, boolean | undefined>;
  savedX: number;
  savedY: number;
  savedCurAttrData: Attributes;
  savedCharset: unknown;
  getNullCell(): unknown;
}

type Addon = Parameters<InstanceType<typeof Terminal>["loadAddon"]>[0];

interface Params {
  length: number;
  params: ArrayLike<number> & { [index: number]: number };
}

interface Core {
  readonly _bufferService: {
    readonly buffers: {
      readonly active: ScreenBuffer;
      readonly normal: ScreenBuffer;
      readonly alt: ScreenBuffer;
      activateAltBuffer(): void;
      onBufferActivate(listener: () => void): void;
    };
    scroll(eraseAttributes: unknown, isWrapped?: boolean): void;
  };
  readonly _charsetService: { charset: unknown; glevel: number; _charsets: unknown[] };
  readonly coreService: {
    modes: { insertMode: boolean };
    decPrivateModes: { origin: boolean; reverseWraparound: boolean; wraparound: boolean };
  };
  readonly unicodeService: { wcwidth(codePoint: number): number };
  readonly _inputHandler: {
    readonly _curAttrData: Attributes;
    readonly _parser: {
      currentState: number;
      precedingJoinState: number;
      _transitions: { table: Uint8Array };
    };
    parse(data: string): void;
    print(data: Uint32Array, start: number, end: number): void;
    registerCsiHandler(id: Identifier, handler: (params: Params) => boolean): void;
    registerEscHandler(id: Identifier, handler: () => boolean): void;
    registerOscHandler(id: number, handler: () => boolean): void;
  };
}

interface Identifier {
  prefix?: string;
  intermediates?: string;
  final: string;
}

/** What the screen wants to hear while a piece of text is being parsed. */
export interface EmulatorListener {
  /** A row leaves the normal screen at the top of its scroll region, just before it is gone. */
  rowLeaves(row: CellRow): void;
  /** The normal screen is about to be erased as a whole. */
  screenErased(): void;
  alternateEntered(): void;
  bell(): void;
  titleChanged(title: string): void;
}

/** A row can be 500 cells of combining marks; what no font can draw is not kept (tmux keeps 21 bytes a cell). */
const MAX_CELL_UNITS = 32;
/** More than any screen: a program that asks for two billion repetitions must not stop the relay. */
const MAX_PARAM = 1000;
const SPACE = 32;
const GROUND = 0;
const ESCAPE = 1;
const STRING_IGNORED = 7;

const CELL_NUMBERS = 3;
const CODE_POINT = 0x1fffff;
const HAS_TEXT = 0x3fffff;
const IS_COMBINED = 0x200000;
const WIDTH_SHIFT = 22;
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

/** The emulator with `scrollback` 0: rows that leave are told to `listener` and kept nowhere. */
export class Emulator {
  readonly core: Core;
  readonly #terminal: InstanceType<typeof Terminal>;

  constructor(cols: number, rows: number, listener: EmulatorListener) {
    this.#terminal = new Terminal({ cols, rows, scrollback: 0, allowProposedApi: true, logLevel: "off" });
    this.#terminal.loadAddon(new Unicode11Addon() as unknown as Addon);
    this.#terminal.unicode.activeVersion = "11";
    this.core = (this.#terminal as unknown as { _core: Core })._core;
    capCombinedCells(this.normal.lines.get(0));
    this.#hearScrolls(listener);
    this.#tameSequences(listener);
    this.#ignoreScreenTitles();
    this.#printAlike();
    this.core._bufferService.buffers.onBufferActivate(() => {
      if (this.isAlternate) listener.alternateEntered();
    });
    this.#terminal.onBell(() => listener.bell());
    this.#terminal.onTitleChange((title) => listener.titleChanged(title));
  }

  get cols(): number {
    return this.#terminal.cols;
  }

  get rows(): number {
    return this.#terminal.rows;
  }

  get normal(): ScreenBuffer {
    return this.core._bufferService.buffers.normal;
  }

  get active(): ScreenBuffer {
    return this.core._bufferService.buffers.active;
  }

  get isAlternate(): boolean {
    return this.active !== this.normal;
  }

  /** False inside an escape sequence. */
  get isGround(): boolean {
    return this.core._inputHandler._parser.currentState === GROUND;
  }

  parse(text: string): void {
    this.core._inputHandler.parse(text);
  }

  /** Rows that fall off the top through the new size are told to `rowLeaves`, as if they had scrolled. */
  resize(cols: number, rows: number, rowLeaves: (row: CellRow) => void): void {
    // With room above the screen the emulator keeps the rows that do not fit any more; setting it back drops them.
    this.#terminal.options.scrollback = 100_000;
    this.#terminal.resize(cols, rows);
    for (let row = 0; row < this.normal.ybase; row++) {
      const line = this.normal.lines.get(row);
      if (line !== undefined) rowLeaves(line);
    }
    this.#terminal.options.scrollback = 0;
    // The emulator leaves what a narrower alternate screen cuts off behind its right edge, and gives an unused one
    // room for as many rows as it had before.
    const { alt } = this.core._bufferService.buffers;
    if (alt.lines.length === 0) alt.lines.maxLength = this.rows;
    for (let row = 0; row < alt.lines.length; row++) alt.lines.get(row)?.resize(this.cols, alt.getNullCell());
  }

  #hearScrolls(listener: EmulatorListener): void {
    const service = this.core._bufferService;
    const scroll = service.scroll;
    service.scroll = (eraseAttributes, isWrapped) => {
      if (service.buffers.active === service.buffers.normal) {
        // As in tmux, what leaves any scroll region goes to the history, not only what leaves a full screen.
        const row = this.normal.lines.get(this.normal.scrollTop);
        if (row !== undefined) listener.rowLeaves(row);
      }
      scroll.call(service, eraseAttributes, isWrapped);
    };
  }

  #tameSequences(listener: EmulatorListener): void {
    const input = this.core._inputHandler;
    const onCsi = (id: Identifier, handler: (params: Params) => boolean): void =>
      input.registerCsiHandler(id, handler);

    // Counts: each of these loops or allocates as often as the program says.
    for (const final of "@LMPTXIZ") onCsi({ final }, clampParams);
    for (const final of "@A") onCsi({ intermediates: " ", final }, clampParams);
    for (const final of "}~") onCsi({ intermediates: "'", final }, clampParams);
    // REP stays inside the row, as in tmux.
    onCsi({ final: "b" }, (params) => {
      const room = this.cols - this.active.x;
      params.params[0] = Math.min(params.params[0] || 1, room);
      return room <= 0;
    });
    // SU puts the rows it pushes out into the history, as in tmux.
    onCsi({ final: "S" }, (params) => {
      const { scrollTop, scrollBottom, lines } = this.active;
      const count = Math.min(params.params[0] || 1, scrollBottom - scrollTop + 1);
      params.params[0] = count;
      for (let row = 0; !this.isAlternate && row < count; row++) {
        const line = lines.get(scrollTop + row);
        if (line !== undefined) listener.rowLeaves(line);
      }
      return false;
    });
    // Erasing the whole screen: ED 2, ED 0 from the top left corner (what `clear` sends), RIS. ED 3 has nothing
    // to erase, since rows that left are already told.
    onCsi({ final: "J" }, (params) => {
      const mode = params.params[0];
      const isWhole = mode === 2 || (mode === 0 && this.active.x === 0 && this.active.y === 0);
      if (isWhole && !this.isAlternate) listener.screenErased();
      return false;
    });
    input.registerEscHandler({ final: "c" }, () => {
      listener.screenErased();
      return false;
    });
    // Selective erase, protected cells and newline mode do not exist in tmux; hyperlinks would only use memory.
    for (const final of "JK") onCsi({ prefix: "?", final }, () => true);
    onCsi({ intermediates: '"', final: "q" }, () => true);
    for (const final of "hl") onCsi({ final }, dropNewlineMode);
    input.registerOscHandler(8, () => true);
  }

  /**
   * Without wraparound, what becomes of a wide character at the right edge depends in the emulator on where the
   * text was cut; printed one by one, it does not.
   */
  #printAlike(): void {
    const input = this.core._inputHandler;
    const print = input.print;
    input.print = (data, start, end) => {
      if (this.core.coreService.decPrivateModes.wraparound) return print.call(input, data, start, end);
      for (let position = start; position < end; position++) print.call(input, data, position, position + 1);
    };
  }

  /** `ESC k title ESC \`, which shells send to TERM=tmux-*, is a string to ignore; the emulator knows nothing of it. */
  #ignoreScreenTitles(): void {
    const parser = this.core._inputHandler._parser;
    const table = parser._transitions.table.slice();
    table[(ESCAPE << 8) | 0x6b] = STRING_IGNORED;
    // Non-ASCII text inside an ignored string must not end it.
    table[(STRING_IGNORED << 8) | 0xa0] = STRING_IGNORED;
    parser._transitions = { table };
  }
}

function clampParams(params: Params): boolean {
  for (let index = 0; index < params.length; index++) {
    params.params[index] = Math.min(params.params[index] ?? 0, MAX_PARAM);
  }
  return false;
}

function dropNewlineMode(params: Params): boolean {
  for (let index = 0; index < params.length; index++) {
    if (params.params[index] === 20) params.params[index] = 0;
  }
  return false;
}

let isCapped = false;

/** A program may stack marks on one cell for ever. The class of rows is shared by all terminals: once is enough. */
function capCombinedCells(row: CellRow | undefined): void {
  if (isCapped || row === undefined) return;
  isCapped = true;
  const prototype = Object.getPrototypeOf(row) as CellRow;
  const add = prototype.addCodepointToCell;
  prototype.addCodepointToCell = function (this: CellRow, column, codePoint, width) {
    if (this.getString(column).length < MAX_CELL_UNITS) add.call(this, column, codePoint, width);
  };
}
