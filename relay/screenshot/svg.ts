/** Cells → SVG. Pure. Every run of text is placed by its column, so no font can push a column out of line. */
import type { Cell, Grid } from "./grid.ts";
import { DEFAULT_BACKGROUND, TITLE_BACKGROUND, TITLE_FOREGROUND, toHex } from "./palette.ts";
import { findShape } from "./shapes.ts";

export const CELL_WIDTH = 9;
export const CELL_HEIGHT = 18;
export const PADDING = 12;
export const TITLE_HEIGHT = 28;

/** DejaVu Sans Mono: units of a column, of the em, above and below the baseline. */
const FONT = { family: "DejaVu Sans Mono", advance: 1233, em: 2048, ascent: 1901, descent: 483 };
const FONT_SIZE = (CELL_WIDTH * FONT.em) / FONT.advance;
const ASCENT = (FONT_SIZE * FONT.ascent) / FONT.em;
const LINE_HEIGHT = (FONT_SIZE * (FONT.ascent + FONT.descent)) / FONT.em;
/** Line drawing is stretched to the cell's height, or there would be gaps between rows. */
const BOX_STRETCH = CELL_HEIGHT / LINE_HEIGHT;
const BASELINE = 14;
const TITLE_FONT_SIZE = 13;

/** What the font has and draws exactly one column wide. */
const MONOSPACED = /^[ -~¡-¬®-ſΑ-Ωα-ωА-яЁё–—‘’“”•…←↑→↓]$/;
const BOX = /^[\u2500-\u257f]$/;
/** No font of ours has these; what looks the same stands in for them. */
const STAND_INS: Readonly<Record<string, string>> = { "\u23bf": "\u2514", "\ue0a0": "\u2387" };

export interface Size {
  width: number;
  height: number;
}

export function svgSize(cols: number, rows: number, title: string): Size {
  return {
    width: cols * CELL_WIDTH + 2 * PADDING,
    height: rows * CELL_HEIGHT + 2 * PADDING + (title === "" ? 0 : TITLE_HEIGHT),
  };
}

/** @param title shown in a bar above the screen; without one there is no bar. */
export function toSvg(grid: Grid, title: string): string {
  const { width, height } = svgSize(grid.cols, grid.rows.length, title);
  const top = PADDING + (title === "" ? 0 : TITLE_HEIGHT);
  const rows = grid.rows.map((cells, row) => drawRow(cells, top + row * CELL_HEIGHT));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`,
    ` font-family="${FONT.family}" font-size="${round(FONT_SIZE)}" xml:space="preserve">`,
    `<rect width="${width}" height="${height}" fill="${toHex(DEFAULT_BACKGROUND)}"/>`,
    title === "" ? "" : drawTitle(title, width),
    ...rows,
    "</svg>",
  ].join("");
}

function drawTitle(title: string, width: number): string {
  const room = Math.floor((width - 2 * PADDING) / (TITLE_FONT_SIZE * (FONT.advance / FONT.em)));
  const characters = [...title];
  const text = characters.length > room ? `${characters.slice(0, room - 1).join("")}…` : title;
  return [
    `<rect width="${width}" height="${TITLE_HEIGHT}" fill="${toHex(TITLE_BACKGROUND)}"/>`,
    `<text x="${PADDING}" y="19" font-size="${TITLE_FONT_SIZE}" fill="${toHex(TITLE_FOREGROUND)}">${escapeXml(text)}</text>`,
  ].join("");
}

function drawRow(cells: readonly Cell[], top: number): string {
  const backgrounds = runsBy(cells, (cell) => cell.background);
  const underlines = runsBy(cells, (cell) => (cell.isUnderlined ? cell.foreground : undefined));
  const strikes = runsBy(cells, (cell) => (cell.isStruck ? cell.foreground : undefined));
  const content = [
    crisp(backgrounds.map((run) => rect(run, 0, CELL_HEIGHT))),
    ...drawCells(cells),
    crisp([
      ...underlines.map((run) => rect(run, BASELINE + 2, 1)),
      ...strikes.map((run) => rect(run, CELL_HEIGHT / 2, 1)),
    ]),
  ].join("");
  return content === "" ? "" : `<g transform="translate(${PADDING} ${top})">${content}</g>`;
}

interface Run {
  value: number;
  /** Columns; `end` is the first one behind. */
  start: number;
  end: number;
}

/** Neighbours with the same value; cells without one are left out. */
function runsBy(cells: readonly Cell[], valueIn: (cell: Cell) => number | undefined): Run[] {
  const runs: Run[] = [];
  for (const cell of cells) {
    const value = valueIn(cell);
    if (value === undefined) continue;
    const last = runs.at(-1);
    if (last?.value === value && last.end === cell.column) last.end += cell.width;
    else runs.push({ value, start: cell.column, end: cell.column + cell.width });
  }
  return runs;
}

function drawCells(cells: readonly Cell[]): string[] {
  const text: Cell[] = [];
  const boxes: Cell[] = [];
  const others: string[] = [];
  for (const cell of cells) {
    if (cell.text === " ") continue;
    const character = STAND_INS[cell.text] ?? cell.text;
    if (cell.width === 1 && MONOSPACED.test(character)) text.push(cell);
    else if (cell.width === 1 && BOX.test(character)) boxes.push({ ...cell, text: character });
    else others.push(drawAlone(cell, character));
  }
  return [
    drawLine(text, `y="${BASELINE}"`),
    drawLine(boxes, `y="${round(ASCENT)}" transform="scale(1 ${round(BOX_STRETCH)})"`),
    ...others,
  ];
}

/** Characters of exactly one column each: one text for all neighbours that look alike, spaces between them or not. */
function drawLine(cells: readonly Cell[], attributes: string): string {
  const runs: { column: number; end: number; look: string; text: string }[] = [];
  for (const cell of cells) {
    const look = lookOf(cell);
    const last = runs.at(-1);
    const end = cell.column + 1;
    if (last?.look === look) {
      last.text += " ".repeat(cell.column - last.end) + escapeXml(cell.text);
      last.end = end;
    } else {
      runs.push({ column: cell.column, end, look, text: escapeXml(cell.text) });
    }
  }
  return runs
    .map(({ column, look, text }) => `<text x="${column * CELL_WIDTH}" ${attributes} ${look}>${text}</text>`)
    .join("");
}

/** A shape, or a character from whatever font has it: of unknown width, so it goes into the middle of its cells. */
function drawAlone(cell: Cell, character: string): string {
  const x = cell.column * CELL_WIDTH;
  const shape = findShape(character, cell.width * CELL_WIDTH, CELL_HEIGHT);
  if (shape !== undefined) {
    const fill = toHex(cell.foreground);
    return `<g transform="translate(${x} 0)" fill="${fill}" color="${fill}">${shape}</g>`;
  }
  const middle = x + (cell.width * CELL_WIDTH) / 2;
  return `<text x="${middle}" y="${BASELINE}" text-anchor="middle" ${lookOf(cell)}>${escapeXml(character)}</text>`;
}

function lookOf({ foreground, isBold, isItalic }: Cell): string {
  return `fill="${toHex(foreground)}"${isBold ? ' font-weight="bold"' : ""}${isItalic ? ' font-style="oblique"' : ""}`;
}

function rect({ start, end, value }: Run, y: number, height: number): string {
  return `<rect x="${start * CELL_WIDTH}" y="${y}" width="${(end - start) * CELL_WIDTH}" height="${height}" fill="${toHex(value)}"/>`;
}

/** Sharp edges, so that neighbours leave no gap. */
function crisp(shapes: readonly string[]): string {
  return shapes.length === 0 ? "" : `<g shape-rendering="crispEdges">${shapes.join("")}</g>`;
}

function escapeXml(text: string): string {
  return text.replace(/[&<>]/g, (character) =>
    character === "&" ? "&amp;" : character === "<" ? "&lt;" : "&gt;",
  );
}

function round(value: number): string {
  return value.toFixed(4);
}
