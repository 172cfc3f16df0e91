/** How the emulator takes sequences that tmux takes otherwise, or that would cost out of proportion to their bytes. */
import type { Cost, CostAccount } from "./cost-account.ts";
import type { Links, Pen } from "./links.ts";
import type { Attributes, Cell, CellRow } from "./rows.ts";

export interface Params {
  length: number;
  params: ArrayLike<number> & { [index: number]: number };
}

export interface Identifier {
  prefix?: string;
  intermediates?: string;
  final: string;
}

/** What the handlers of sequences work on. */
export interface Taming {
  readonly cols: number;
  readonly rows: number;
  readonly isAlternate: boolean;
  readonly links: Links;
  /** The row from which DECSTBM took the cursor to the first row; 0 once the cursor has moved or drawn since. */
  readonly lifted: { from: number };
  readonly active: {
    readonly lines: { get(row: number): CellRow | undefined; set(row: number, value: CellRow): void };
    x: number;
    y: number;
    readonly scrollTop: number;
    readonly scrollBottom: number;
    getNullCell(attributes: Attributes): unknown;
  };
  readonly core: {
    readonly coreService: {
      readonly modes: { insertMode: boolean };
      readonly decPrivateModes: { readonly wraparound: boolean; readonly origin: boolean };
    };
    readonly _inputHandler: InputHandler;
  };
}

/** What xterm does with a character or a sequence, and where others can be put in its place. */
export interface InputHandler {
  readonly _curAttrData: Attributes & Pen;
  print(data: Uint32Array, start: number, end: number): void;
  _eraseAttrData(): Attributes;
  _restrictCursor(): void;
  eraseInDisplay(params: Params): boolean;
  registerCsiHandler(id: Identifier, handler: (params: Params) => boolean): void;
  registerEscHandler(id: Identifier, handler: () => boolean): void;
  registerOscHandler(id: number, handler: (data: string) => boolean): void;
}

export interface ErasureListener {
  rowLeaves(row: CellRow): void;
  /** @returns how many of its rows went into the log. */
  screenErased(): number;
  scrollbackErased(): void;
  /**
   * @param row the row as it is before anything is drawn there
   * @param above the number of rows that scroll away before it
   */
  movedUp(row: CellRow, above: number): void;
}

// What each takes beside a cell that is filled, which is 1.
const MOVED_ROW: Cost = 20;
const SETTLED_CELL: Cost = 20;
const SETTLED_ROW: Cost = 1_000;
const ERASED_CELL: Cost = 4;
const MADE_CELL: Cost = 8;
const RESET: Cost = 100_000;
const PRINTED_CELL: Cost = 60;
const SHIFTED_CELL: Cost = 40;
const SCANNED_CELL: Cost = 8;
const COUNTED_CELL: Cost = 4;
const READ_CELL: Cost = 60;

/** Registers the handlers. A handler that returns true has dealt with the sequence. */
export function tameSequences(screen: Taming, account: CostAccount, listener: ErasureListener): void {
  const input = screen.core._inputHandler;
  const onCsi = (id: Identifier, handler: (params: Params) => boolean): void =>
    input.registerCsiHandler(id, handler);
  const onEsc = (id: Identifier, handler: () => boolean): void => input.registerEscHandler(id, handler);

  // Counts: each of these loops as often as the program says, within one row.
  for (const final of "@PXIZ") {
    onCsi({ final }, (params) => {
      params.params[0] = Math.min(params.params[0] ?? 0, screen.cols);
      return false;
    });
  }
  // Columns that scroll, selective erase, protected cells and newline mode do not exist in tmux. A link is ours to keep:
  // the emulator would keep each as long as it lives.
  for (const final of "@A") onCsi({ intermediates: " ", final }, () => true);
  for (const final of "}~") onCsi({ intermediates: "'", final }, () => true);
  for (const final of "JK") onCsi({ prefix: "?", final }, () => true);
  onCsi({ intermediates: '"', final: "q" }, () => true);
  for (const final of "hl") onCsi({ final }, dropNewlineMode);
  input.registerOscHandler(8, (data) => {
    screen.links.open(input._curAttrData, data);
    return true;
  });

  // REP stays inside the row, as in tmux.
  onCsi({ final: "b" }, (params) => {
    const room = screen.cols - screen.active.x;
    const count = Math.min(params.params[0] || 1, room);
    params.params[0] = count;
    if (room <= 0) return true;
    // Marks are repeated with their character, and each looks at the whole row.
    const { y, lines, x } = screen.active;
    const units = lines.get(y)?.getString(Math.max(0, x - 1)).length ?? 0;
    return !account.pay(count * (PRINTED_CELL + (units > 1 ? units * screen.cols * COUNTED_CELL : 0)));
  });
  tameScrolling(screen, account, listener, onCsi);
  tameErasing(screen, account, listener, onCsi, onEsc);
  hearMoves(screen, account, listener, onCsi);
  tamePrinting(screen, account);
}

/** SU, SD, IL and DL move their rows once, however many they scroll by, and use those that fall out again. */
function tameScrolling(
  screen: Taming,
  account: CostAccount,
  listener: ErasureListener,
  onCsi: (id: Identifier, handler: (params: Params) => boolean) => void,
): void {
  const input = screen.core._inputHandler;
  const scroll = (top: number, bottom: number, by: number, attributes: Attributes): void => {
    const { lines } = screen.active;
    const height = bottom - top + 1;
    const rows = Array.from({ length: height }, (_, index) => lines.get(top + index) as CellRow);
    for (const [index, row] of rows.entries()) {
      const place = index - by;
      if (place < 0 || place >= height) {
        row.fill(screen.active.getNullCell(attributes) as Cell);
        row.isWrapped = false;
      }
      lines.set(top + ((place + height) % height), row);
    }
  };
  const countOf = (params: Params, height: number): number => Math.min(params.params[0] || 1, height);
  const pay = (count: number, height: number): boolean =>
    account.pay(count * screen.cols + height * MOVED_ROW);

  // SU puts the rows it pushes out into the history, as in tmux.
  onCsi({ final: "S" }, (params) => {
    const { scrollTop, scrollBottom, lines } = screen.active;
    const count = countOf(params, scrollBottom - scrollTop + 1);
    if (!pay(count, scrollBottom - scrollTop + 1)) return true;
    for (let row = 0; !screen.isAlternate && row < count; row++) {
      const line = lines.get(scrollTop + row) as CellRow;
      const length = line.getTrimmedLength();
      account.owe(SETTLED_ROW + screen.cols * SCANNED_CELL + length * SETTLED_CELL);
      listener.rowLeaves(line);
    }
    scroll(scrollTop, scrollBottom, count, input._eraseAttrData());
    return true;
  });
  onCsi({ final: "T" }, (params) => {
    const { scrollTop, scrollBottom } = screen.active;
    const count = countOf(params, scrollBottom - scrollTop + 1);
    if (pay(count, scrollBottom - scrollTop + 1)) scroll(scrollTop, scrollBottom, -count, DEFAULT_ATTRIBUTES);
    return true;
  });
  for (const [final, direction] of [
    ["L", -1],
    ["M", 1],
  ] as const) {
    onCsi({ final }, (params) => {
      input._restrictCursor();
      const { y, scrollTop, scrollBottom } = screen.active;
      if (y < scrollTop || y > scrollBottom) return true;
      const count = countOf(params, scrollBottom - y + 1);
      if (!pay(count, scrollBottom - y + 1)) return true;
      scroll(y, scrollBottom, direction * count, input._eraseAttrData());
      screen.active.x = 0;
      return true;
    });
  }
}

/** What fills or makes a whole screen: ED, DECALN, RIS, the alternate screen. */
function tameErasing(
  screen: Taming,
  account: CostAccount,
  listener: ErasureListener,
  onCsi: (id: Identifier, handler: (params: Params) => boolean) => void,
  onEsc: (id: Identifier, handler: () => boolean) => void,
): void {
  const input = screen.core._inputHandler;
  const cells = (): number => screen.cols * screen.rows;
  const erase = (): void => account.owe(listener.screenErased() * (SETTLED_ROW + screen.cols * SETTLED_CELL));
  // Erasing the whole screen: ED 2, ED 0 from the top left corner (what `clear` sends), RIS. ED 3 erases no row that is
  // on the screen.
  onCsi({ final: "J" }, (params) => {
    const mode = params.params[0];
    if (!account.pay(cells() * ERASED_CELL)) return true;
    const isWhole = mode === 2 || (mode === 0 && screen.active.x === 0 && screen.active.y === 0);
    if (isWhole && !screen.isAlternate) erase();
    if (mode === 3 && !screen.isAlternate) listener.scrollbackErased();
    return false;
  });
  onEsc({ final: "c" }, () => {
    if (!account.pay(RESET + cells() * MADE_CELL)) return true;
    erase();
    return false;
  });
  // DECCOLM erases the screen, and nothing else, as in tmux.
  for (const final of "hl") {
    onCsi({ prefix: "?", final }, (params) => {
      if (Array.from({ length: params.length }, (_, index) => params.params[index]).includes(3)) {
        screen.active.x = 0;
        screen.active.y = 0;
        if (account.pay(cells() * ERASED_CELL)) {
          if (!screen.isAlternate) erase();
          input.eraseInDisplay({ length: 1, params: [2] });
        }
      }
      return false;
    });
  }
  onEsc({ intermediates: "#", final: "8" }, () => !account.pay(cells()));
  // To leave the alternate screen costs little, and is never left out: a program must not seem to be on it for ever.
  onCsi({ prefix: "?", final: "h" }, (params) => {
    for (let index = 0; index < params.length; index++) {
      const isAlternate = ALTERNATE_MODES.has(params.params[index] ?? 0);
      if (isAlternate && !account.pay(cells() * MADE_CELL)) params.params[index] = 0;
    }
    return false;
  });
}

/**
 * Reports moves of the cursor up to a row of the scrolling region (CUU, CPL, CUP, HVP, VPA): a program that draws anew
 * goes there. DECSTBM, which sets the margins, takes the cursor to the screen's first row on the way.
 */
function hearMoves(
  screen: Taming,
  account: CostAccount,
  listener: ErasureListener,
  onCsi: (id: Identifier, handler: (params: Params) => boolean) => void,
): void {
  onCsi({ final: "r" }, () => {
    screen.lifted.from = Math.max(screen.lifted.from, screen.active.y);
    return false;
  });
  for (const final of "AFHfd") {
    const isRelative = final === "A" || final === "F";
    onCsi({ final }, (params) => {
      const { lines, scrollTop } = screen.active;
      const from = Math.max(screen.lifted.from, screen.active.y);
      screen.lifted.from = 0;
      const count = params.params[0] || 1;
      const origin = screen.core.coreService.decPrivateModes.origin ? scrollTop : 0;
      const to = isRelative
        ? Math.max(screen.active.y - count, screen.active.y < scrollTop ? 0 : scrollTop)
        : origin + count - 1;
      const above = to - scrollTop;
      // A row above the margins is a header: the rows that scroll below it are not drawn again.
      const isUp = above === 0 ? from > to : above > 0 && from - to >= MIN_MOVED_UP;
      const row = lines.get(to);
      if (!isUp || screen.isAlternate || !row) return false;
      if (account.pay(screen.cols * SCANNED_CELL + row.getTrimmedLength() * READ_CELL)) {
        listener.movedUp(row, above);
      }
      return false;
    });
  }
}

/** Fewest rows of a move up, to a row below the first one, that starts a redraw; shorter moves have other reasons. */
const MIN_MOVED_UP = 3;
const ALTERNATE_MODES = new Set([47, 1047, 1049]);
const DEFAULT_ATTRIBUTES: Attributes = { fg: 0, bg: 0, extended: undefined };

/** Printing is told to the emulator character by character where it would depend on how the text was cut. */
function tamePrinting(screen: Taming, account: CostAccount): void {
  const input = screen.core._inputHandler;
  const print = input.print;
  input.print = (data, start, end) => {
    screen.lifted.from = 0;
    if (input._curAttrData.extended.urlId !== 0) screen.links.print(input._curAttrData, data, start, end);
    const { modes, decPrivateModes } = screen.core.coreService;
    // Without wraparound, what becomes of a wide character at the right edge depends on where the text was cut.
    if (decPrivateModes.wraparound && !modes.insertMode) return print.call(input, data, start, end);
    const isInserting = modes.insertMode;
    for (let position = start; position < end; position++) {
      modes.insertMode = isInserting && account.pay((screen.cols - screen.active.x) * SHIFTED_CELL);
      print.call(input, data, position, position + 1);
    }
    modes.insertMode = isInserting;
  };
}

function dropNewlineMode(params: Params): boolean {
  for (let index = 0; index < params.length; index++) {
    if (params.params[index] === 20) params.params[index] = 0;
  }
  return false;
}
