/** Cells → pixels. Pure. What it takes grows with the pixels alone, however the cells are coloured. */
import { chooseFonts } from "./fonts.ts";
import { drawGlyphs, type Glyph, glyphKey, rasterise } from "./glyphs.ts";
import type { Cell, Grid } from "./grid.ts";
import { DEFAULT_BACKGROUND } from "./palette.ts";
import { BASELINE, CELL_HEIGHT, CELL_WIDTH, PADDING, TITLE_HEIGHT, titleSvg } from "./svg.ts";

/** In the title for what no font has. */
const NO_GLYPH = "□";

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** Four bytes a pixel: red, green, blue, and one that says nothing. */
  readonly pixels: Uint8Array;
}

/**
 * The screen with padding around it.
 * @param title shown in a bar above the screen; without one there is no bar.
 * @param scale pixels for each unit of length.
 */
export function drawScreen(grid: Grid, title: string, scale: number): Picture {
  const bar = title === "" ? 0 : TITLE_HEIGHT;
  const width = (grid.cols * CELL_WIDTH + 2 * PADDING) * scale;
  const height = (grid.rows.length * CELL_HEIGHT + 2 * PADDING + bar) * scale;
  const pixels = new Uint8Array(width * height * 4);
  const canvas = new Canvas(width, pixels);
  canvas.fill(0, 0, width, height, DEFAULT_BACKGROUND);
  if (title !== "") {
    const fonts = chooseFonts([title]);
    const known = [...title].map((character) =>
      fonts.findFamily(character) === undefined ? NO_GLYPH : character,
    );
    pixels.set(rasterise(titleSvg(known.join(""), width / scale), fonts, scale).pixels);
  }
  const glyphs = drawGlyphs(grid, scale);
  const place = (cell: Cell, row: number): [number, number] => [
    (PADDING + cell.column * CELL_WIDTH) * scale,
    (PADDING + bar + row * CELL_HEIGHT) * scale,
  ];
  const each = (draw: (cell: Cell, x: number, y: number) => void): void => {
    for (const [row, cells] of grid.rows.entries()) for (const cell of cells) draw(cell, ...place(cell, row));
  };
  // All backgrounds first: a letter may reach over its cell's edge. One line of pixels a row, and the others after it.
  for (const [row, cells] of grid.rows.entries()) {
    const y = (PADDING + bar + row * CELL_HEIGHT) * scale;
    for (const cell of cells) {
      const [x] = place(cell, row);
      if (cell.background !== undefined)
        canvas.fill(x, y, cell.width * CELL_WIDTH * scale, 1, cell.background);
    }
    canvas.repeatLine(y, CELL_HEIGHT * scale);
  }
  each((cell, x, y) => {
    const key = glyphKey(cell);
    if (key !== undefined) drawCell(canvas, cell, glyphs.get(key), x, y, scale);
    const length = cell.width * CELL_WIDTH * scale;
    if (cell.isUnderlined) canvas.fill(x, y + (BASELINE + 2) * scale, length, scale, cell.foreground);
    if (cell.isStruck) canvas.fill(x, y + (CELL_HEIGHT / 2) * scale, length, scale, cell.foreground);
  });
  return { width, height, pixels };
}

/** The character, or a box if no font has it or there was one too many of them. */
function drawCell(
  canvas: Canvas,
  cell: Cell,
  glyph: Glyph | undefined,
  x: number,
  y: number,
  scale: number,
): void {
  if (glyph !== undefined) {
    canvas.blend(glyph, x + glyph.left, y + glyph.top, cell.foreground);
    return;
  }
  const [width, height] = [(cell.width * CELL_WIDTH - 2) * scale, (CELL_HEIGHT - 4) * scale];
  const [left, top] = [x + scale, y + 2 * scale];
  canvas.fill(left, top, width, scale, cell.foreground);
  canvas.fill(left, top + height - scale, width, scale, cell.foreground);
  canvas.fill(left, top, scale, height, cell.foreground);
  canvas.fill(left + width - scale, top, scale, height, cell.foreground);
}

class Canvas {
  readonly #width: number;
  readonly #bytes: Uint8Array;
  readonly #words: Uint32Array;

  constructor(width: number, bytes: Uint8Array) {
    this.#width = width;
    this.#bytes = bytes;
    this.#words = new Uint32Array(bytes.buffer);
  }

  fill(x: number, y: number, width: number, height: number, colour: number): void {
    // As little-endian machines keep four bytes.
    const word = ((colour & 0xff) << 16) | (colour & 0xff00) | (colour >>> 16);
    for (let row = y; row < y + height; row++) {
      const start = row * this.#width + x;
      this.#words.fill(word, start, start + width);
    }
  }

  /** Makes `count` lines from `y` on as the first of them is. */
  repeatLine(y: number, count: number): void {
    const start = y * this.#width;
    for (let line = 1; line < count; line++)
      this.#words.copyWithin(start + line * this.#width, start, start + this.#width);
  }

  /** Lays a glyph over what is there, in this colour or in its own. It must lie within the picture. */
  blend(glyph: Glyph, x: number, y: number, colour: number): void {
    const { pixels, isColoured, width, height } = glyph;
    const bytes = this.#bytes;
    const red = colour >>> 16;
    const green = (colour >> 8) & 0xff;
    const blue = colour & 0xff;
    let from = 0;
    for (let row = 0; row < height; row++) {
      let to = ((y + row) * this.#width + x) * 4;
      for (let column = 0; column < width; column++, from += 4, to += 4) {
        const alpha = pixels[from + 3] as number;
        if (alpha === 0) continue;
        const rest = 255 - alpha;
        // Times 257 and 16 bits down is the 255th part, rounded.
        const own = isColoured ? 255 : alpha;
        const r = isColoured ? (pixels[from] as number) : red;
        const g = isColoured ? (pixels[from + 1] as number) : green;
        const b = isColoured ? (pixels[from + 2] as number) : blue;
        bytes[to] = ((r * own + (bytes[to] as number) * rest + 127) * 257) >>> 16;
        bytes[to + 1] = ((g * own + (bytes[to + 1] as number) * rest + 127) * 257) >>> 16;
        bytes[to + 2] = ((b * own + (bytes[to + 2] as number) * rest + 127) * 257) >>> 16;
      }
    }
  }
}
