/**
 * The headless terminal emulator, with the inner parts that a faithful log needs and its public interface does
 * not give: synchronous writes, the moment a row scrolls away, and the state of the parser. Everything that
 * depends on the exact version of @xterm/headless (6.0.0) is in this file; `emulator.test.ts` guards it.
 */
import unicode11 from "@xterm/addon-unicode11";
import xtermHeadless from "@xterm/headless";
import { CostAccount } from "./cost-account.ts";
import { Links, type Pen } from "./links.ts";
import { type Attributes, type CellRow, giveUpRows, tameRows } from "./rows.ts";
import { type InputHandler, tameSequences } from "./sequences.ts";

const { Terminal } = xtermHeadless;
const { Unicode11Addon } = unicode11;

/** A screen: `lines` holds exactly the visible rows, since scrollback is off. */
export interface ScreenBuffer {
  readonly lines: {
    readonly length: number;
    maxLength: number;
    get(row: number): CellRow | undefined;
    set(row: number, value: CellRow): void;
  };
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

interface Core {
  readonly _bufferService: {
    readonly buffers: {
      readonly active: ScreenBuffer;
      readonly normal: ScreenBuffer;
      readonly alt: ScreenBuffer;
      activateAltBuffer(): void;
      reset(): void;
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
  readonly _inputHandler: InputHandler & {
    readonly _curAttrData: Attributes & Pen;
    readonly _parser: {
      currentState: number;
      precedingJoinState: number;
      _transitions: { table: Uint8Array };
    };
    parse(data: string): void;
  };
}

/** What the screen wants to hear while a piece of text is being parsed. */
export interface EmulatorListener {
  /** A row leaves the normal screen at the top of its scroll region, just before it is gone. */
  rowLeaves(row: CellRow): void;
  /** The normal screen is about to be erased as a whole. @returns how many of its rows went into the log. */
  screenErased(): number;
  /** ED 3 on the normal screen. */
  scrollbackErased(): void;
  /** The cursor goes up to a row of the normal screen; `above` rows scroll away before that one does. */
  movedUp(row: CellRow, above: number): void;
  alternateEntered(): void;
  bell(): void;
  titleChanged(title: string): void;
}

const GROUND = 0;
const ESCAPE = 1;
const STRING_IGNORED = 7;

/** The emulator with `scrollback` 0: rows that leave are told to `listener` and kept nowhere. */
export class Emulator {
  readonly core: Core;
  /** What the sequences so far have left to spend. */
  readonly account = new CostAccount();
  readonly links = new Links();
  readonly lifted = { from: 0 };
  readonly #terminal: InstanceType<typeof Terminal>;

  constructor(cols: number, rows: number, listener: EmulatorListener) {
    this.#terminal = new Terminal({ cols, rows, scrollback: 0, allowProposedApi: true, logLevel: "off" });
    this.#terminal.loadAddon(new Unicode11Addon() as unknown as Addon);
    this.#terminal.unicode.activeVersion = "11";
    this.core = (this.#terminal as unknown as { _core: Core })._core;
    tameRows(this.normal.lines.get(0) as CellRow, this.normal);
    this.#reuseRows();
    this.#hearScrolls(listener);
    tameSequences(this, this.account, listener);
    this.#ignoreScreenTitles();
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

  get hasOpenLink(): boolean {
    return this.core._inputHandler._curAttrData.extended.urlId !== 0;
  }

  /** False inside an escape sequence. */
  get isGround(): boolean {
    return this.core._inputHandler._parser.currentState === GROUND;
  }

  parse(text: string): void {
    const parser = this.core._inputHandler;
    let start = 0;
    while (start < text.length) {
      // The account is filled up between two pieces of text that are the same however the text was cut.
      let end = Math.min(text.length, start + this.account.room);
      if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end++;
      parser.parse(text.slice(start, end));
      this.account.wrote(end - start);
      start = end;
    }
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
      this.lifted.from = 0;
      if (service.buffers.active === service.buffers.normal) {
        // As in tmux, what leaves any scroll region goes to the history, not only what leaves a full screen.
        const row = this.normal.lines.get(this.normal.scrollTop);
        if (row !== undefined) listener.rowLeaves(row);
      }
      scroll.call(service, eraseAttributes, isWrapped);
    };
  }

  /** RIS makes both screens anew. */
  #reuseRows(): void {
    const { buffers } = this.core._bufferService;
    const reset = buffers.reset;
    buffers.reset = () => {
      giveUpRows(buffers.normal);
      giveUpRows(buffers.alt);
      reset.call(buffers);
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

/** Whether the unit is the first half of a surrogate pair. */
export function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
