/** A screen with SGR sequences → cells with their final colours, by the same emulator that draws the log. */
import unicode11 from "@xterm/addon-unicode11";
import xtermHeadless, { type IBufferCell } from "@xterm/headless";
import type { ScreenReply } from "../../shared/screen-api.ts";
import { DEFAULT_BACKGROUND, DEFAULT_FOREGROUND, mix, paletteColour } from "./palette.ts";

const { Terminal } = xtermHeadless;
const { Unicode11Addon } = unicode11;

/** One character on the screen. */
export interface Cell {
  readonly column: number;
  /** The cell is one or two columns wide. */
  readonly width: number;
  /** With its combining marks; a space where there is nothing to draw. */
  readonly text: string;
  readonly foreground: number;
  /** Undefined is the screen's own background. */
  readonly background: number | undefined;
  readonly isBold: boolean;
  readonly isItalic: boolean;
  readonly isUnderlined: boolean;
  readonly isStruck: boolean;
}

export interface Grid {
  readonly cols: number;
  /** Each row's cells from left to right. */
  readonly rows: readonly (readonly Cell[])[];
}

/** What the sidecar allows; more would only come from something that is no sidecar. */
const MAX_COLS = 500;
const MAX_ROWS = 200;

/**
 * tmux writes line drawing as SO … SI, so G1 must be that character set. A row that comes out wider here than in
 * tmux (they may not agree on a new emoji) must not push the rows below it down: no wrapping, each row by address.
 */
const PRELUDE = "\x1b)0\x1b[?7l";

export async function parseGrid(screen: ScreenReply): Promise<Grid> {
  const cols = clamp(screen.cols, MAX_COLS);
  const rows = clamp(screen.rows, MAX_ROWS);
  const terminal = new Terminal({ cols, rows, scrollback: 0, allowProposedApi: true, logLevel: "off" });
  try {
    terminal.loadAddon(new Unicode11Addon() as unknown as Parameters<typeof terminal.loadAddon>[0]);
    terminal.unicode.activeVersion = "11";
    const lines = screen.screen.split("\n").slice(0, rows);
    // Attributes go on from one row to the next: tmux writes only what changes.
    const text = PRELUDE + lines.map((line, row) => `\x1b[${row + 1};1H${line}`).join("");
    await new Promise<void>((resolve) => terminal.write(text, resolve));
    const buffer = terminal.buffer.active;
    const cursorColumn = Math.min(screen.cursor.x, cols - 1);
    const cell = buffer.getNullCell();
    return {
      cols,
      rows: Array.from({ length: rows }, (_, row) => {
        const line = buffer.getLine(row);
        const cells: Cell[] = [];
        for (let column = 0; column < cols; column++) {
          const found = line?.getCell(column, cell);
          if (found === undefined || found.getWidth() === 0) continue;
          const isCursor =
            row === screen.cursor.y && cursorColumn >= column && cursorColumn < column + found.getWidth();
          cells.push(toCell(found, column, isCursor));
        }
        return cells;
      }),
    };
  } finally {
    terminal.dispose();
  }
}

function toCell(cell: IBufferCell, column: number, isCursor: boolean): Cell {
  const isInverse = cell.isInverse() !== 0;
  const isBold = cell.isBold() !== 0;
  let foreground = cell.isFgRGB()
    ? cell.getFgColor()
    : cell.isFgPalette()
      ? // As most terminals do; programs write "bold black" for grey.
        paletteColour(cell.getFgColor() + (isBold && !isInverse && cell.getFgColor() < 8 ? 8 : 0))
      : DEFAULT_FOREGROUND;
  let background = cell.isBgRGB()
    ? cell.getBgColor()
    : cell.isBgPalette()
      ? paletteColour(cell.getBgColor())
      : undefined;
  if (isInverse) [foreground, background] = [background ?? DEFAULT_BACKGROUND, foreground];
  if (cell.isDim()) foreground = mix(foreground, background ?? DEFAULT_BACKGROUND);
  if (isCursor) [foreground, background] = [background ?? DEFAULT_BACKGROUND, foreground];
  return {
    column,
    width: cell.getWidth(),
    text: cell.isInvisible() ? " " : drawable(cell.getChars()),
    foreground,
    background,
    isBold,
    isItalic: cell.isItalic() !== 0,
    isUnderlined: cell.isUnderline() !== 0,
    isStruck: cell.isStrikethrough() !== 0,
  };
}

/** What an XML document may hold and a font may draw; variation selectors only choose between fonts. */
export function drawable(text: string): string {
  return text.replace(/[\ufe00-\ufe0f]/g, "").replace(/[\p{Cc}\p{Cs}\ufffe\uffff]/gu, "\ufffd") || " ";
}

function clamp(size: number, max: number): number {
  return Math.max(2, Math.min(max, size));
}
