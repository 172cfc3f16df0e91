/** Every character of a screen drawn once, as coverage: a screen repeats few of them, and the rasteriser is slow. */
import { Resvg } from "@resvg/resvg-js";
import { chooseFonts, type Fonts } from "./fonts.ts";
import type { Cell, Grid } from "./grid.ts";
import { CELL_HEIGHT, CELL_WIDTH, drawGlyph, fontText, svgOf } from "./svg.ts";

/** What one character adds to the background; its colour comes from the cell. */
export interface Glyph {
  /** From the cell's upper left corner, in pixels; a letter may reach over its cell's edge. */
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** RGBA, premultiplied. */
  readonly pixels: Uint8Array;
  /** An emoji with colours of its own. */
  readonly isColoured: boolean;
}

/** More different characters than any text has; what comes after them is drawn as a box. */
const MAX_GLYPHS = 800;
/** How much of a character with its marks is drawn at most. */
const MAX_UNITS = 16;
const PER_ROW = 40;
/** Room around a cell for what reaches over its edges. */
const MARGIN_X = CELL_WIDTH;
const MARGIN_Y = 6;
const TILE_WIDTH = 2 * CELL_WIDTH + 2 * MARGIN_X;
const TILE_HEIGHT = CELL_HEIGHT + 2 * MARGIN_Y;

/** What tells two characters' pictures apart; undefined for a space. */
export function glyphKey({ text, width, isBold, isItalic }: Cell): string | undefined {
  return text === " "
    ? undefined
    : `${width}${isBold ? "b" : ""}${isItalic ? "i" : ""}${text.slice(0, MAX_UNITS)}`;
}

/** The glyphs of all cells by their keys; those of characters beyond the limit, and that no font has, are missing. */
export function drawGlyphs(grid: Grid, scale: number): Map<string, Glyph> {
  const cells = new Map<string, Cell>();
  for (const row of grid.rows) {
    for (const cell of row) {
      const key = glyphKey(cell);
      if (key !== undefined && cells.size < MAX_GLYPHS && !cells.has(key))
        cells.set(key, { ...cell, text: cell.text.slice(0, MAX_UNITS) });
    }
  }
  const fonts = chooseFonts([...cells.values()].map(({ text }) => fontText(text)));
  const drawn = [...cells].flatMap(([key, cell]) => {
    const svg = drawGlyph(cell, fonts.findFamily);
    return svg === undefined ? [] : [{ key, svg }];
  });
  if (drawn.length === 0) return new Map();
  const tiles = drawn.map(({ svg }, index) => {
    const x = (index % PER_ROW) * TILE_WIDTH;
    const y = Math.floor(index / PER_ROW) * TILE_HEIGHT;
    const glyph = `<g transform="translate(${MARGIN_X} ${MARGIN_Y})">${svg}</g>`;
    // A document of its own is cut at its edges: some characters are as wide as ten others.
    return `<svg x="${x}" y="${y}" width="${TILE_WIDTH}" height="${TILE_HEIGHT}">${glyph}</svg>`;
  });
  const size = { width: PER_ROW * TILE_WIDTH, height: Math.ceil(tiles.length / PER_ROW) * TILE_HEIGHT };
  const image = rasterise(svgOf(size, tiles.join("")), fonts, scale);
  return new Map(
    drawn.map(({ key }, index) => {
      const left = (index % PER_ROW) * TILE_WIDTH * scale;
      const top = Math.floor(index / PER_ROW) * TILE_HEIGHT * scale;
      return [key, cutOut(image, left, top, scale)] as const;
    }),
  );
}

interface Image {
  readonly width: number;
  readonly pixels: Uint8Array;
}

/** An SVG's pixels. */
export function rasterise(svg: string, { files }: Fonts, scale: number): Image {
  const resvg = new Resvg(svg, {
    fitTo: { mode: "zoom", value: scale },
    font: {
      fontFiles: [...files],
      loadSystemFonts: false,
      defaultFontFamily: "DejaVu Sans Mono",
    },
    logLevel: "off",
  });
  const image = resvg.render();
  return { width: image.width, pixels: image.pixels };
}

/** The part of a tile that holds anything. */
function cutOut(image: Image, tileLeft: number, tileTop: number, scale: number): Glyph {
  const words = new Uint32Array(image.pixels.buffer, image.pixels.byteOffset, image.pixels.length / 4);
  let [left, top, right, bottom] = [TILE_WIDTH * scale, TILE_HEIGHT * scale, 0, 0];
  let isColoured = false;
  for (let y = 0; y < TILE_HEIGHT * scale; y++) {
    for (let x = 0; x < TILE_WIDTH * scale; x++) {
      // As little-endian machines keep four bytes; alpha is the highest.
      const pixel = words[(tileTop + y) * image.width + tileLeft + x] as number;
      if (pixel >>> 24 === 0) continue;
      isColoured ||= (pixel & 0xffff) !== ((pixel >>> 8) & 0xffff);
      left = Math.min(left, x);
      top = Math.min(top, y);
      right = Math.max(right, x + 1);
      bottom = Math.max(bottom, y + 1);
    }
  }
  const width = Math.max(0, right - left);
  const height = Math.max(0, bottom - top);
  const pixels = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y++) {
    const from = ((tileTop + top + y) * image.width + tileLeft + left) * 4;
    pixels.set(image.pixels.subarray(from, from + width * 4), y * width * 4);
  }
  return { left: left - MARGIN_X * scale, top: top - MARGIN_Y * scale, width, height, pixels, isColoured };
}
