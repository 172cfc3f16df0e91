/** A row's colours, reduced to what Discord's `ansi` code blocks can show: eight colours, bold, underline. */
import type { CellRow } from "./rows.ts";

/** From `start` (UTF-16 units into the row's text) on, the text is shown with this SGR; "" is plain. */
export interface ColourRun {
  readonly start: number;
  readonly sgr: string;
}

const COLOUR_MODE = 0x3000000;
const PALETTE_16 = 0x1000000;
const PALETTE_256 = 0x2000000;
const BOLD = 0x8000000;
const UNDERLINE = 0x10000000;
const INVERSE = 0x4000000;

/** Where the row's look changes, up to its text's end; empty for a plain row. */
export function colourRuns(row: CellRow, textLength: number): ColourRun[] {
  const runs: ColourRun[] = [];
  let start = 0;
  let current = "";
  for (let column = 0; column < row.length && start < textLength; column++) {
    const width = row.getWidth(column);
    if (width === 0 && row.getString(column) === "") continue;
    const sgr = toSgr(row.getFg(column), row.getBg(column));
    if (sgr !== current) {
      runs.push({ start, sgr });
      current = sgr;
    }
    start += row.getString(column).length || 1;
  }
  return runs;
}

function toSgr(fg: number, bg: number): string {
  if (fg === 0 && bg === 0) return "";
  const codes: number[] = [];
  if (fg & BOLD) codes.push(1);
  if (fg & UNDERLINE) codes.push(4);
  const [front, back] = fg & INVERSE ? [toBasic(bg), toBasic(fg)] : [toBasic(fg), toBasic(bg)];
  if (front !== undefined) codes.push(30 + front);
  if (back !== undefined) codes.push(40 + back);
  return codes.join(";");
}

/** The nearest of the eight colours; undefined for the default colour. */
function toBasic(attribute: number): number | undefined {
  const mode = attribute & COLOUR_MODE;
  if (mode === 0) return undefined;
  if (mode === PALETTE_16 || mode === PALETTE_256) {
    const index = attribute & 0xff;
    if (index < 16) return index & 7;
    if (index >= 232) return nearest(...grey(index));
    const cube = index - 16;
    return nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
  }
  return nearest((attribute >> 16) & 0xff, (attribute >> 8) & 0xff, attribute & 0xff);
}

function level(step: number): number {
  return step === 0 ? 0 : 55 + step * 40;
}

function grey(index: number): [number, number, number] {
  const value = 8 + (index - 232) * 10;
  return [value, value, value];
}

/** One bit a channel. The threshold follows the brightest one, so that dark colours keep their hue. */
function nearest(red: number, green: number, blue: number): number {
  const brightest = Math.max(red, green, blue);
  if (brightest < 64) return 0;
  const isOn = (channel: number): number => (channel > brightest / 2 ? 1 : 0);
  return isOn(red) | (isOn(green) << 1) | (isOn(blue) << 2);
}
