/** Single characters → SVG, each for a cell whose left upper corner is 0,0. Pure. */
import type { Fonts } from "./fonts.ts";
import type { Cell } from "./grid.ts";
import { TITLE_BACKGROUND, TITLE_FOREGROUND, toHex } from "./palette.ts";
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
/** Below a cell's upper edge. */
export const BASELINE = 14;
const TITLE_FONT_SIZE = 13;

/** Emoji have a font of their own, although others have some of them too. */
const EMOJI = /^\p{Extended_Pictographic}/u;
const EMOJI_FAMILY = "Noto Emoji";
/** What the font has and draws exactly one column wide. */
const MONOSPACED = /^[ -~¡-¬®-ſΑ-Ωα-ωА-яЁё–—‘’“”•…←↑→↓]$/;
const BOX = /^[\u2500-\u257f]$/;
/** No font of ours has these; what looks the same stands in for them. */
const STAND_INS: Readonly<Record<string, string>> = { "\u23bf": "\u2514", "\ue0a0": "\u2387" };

export interface Size {
  width: number;
  height: number;
}

/** A document with this content, transparent where there is none. */
export function svgOf({ width, height }: Size, content: string): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`,
    ` font-family="${FONT.family}" font-size="${round(FONT_SIZE)}" xml:space="preserve">`,
    content,
    "</svg>",
  ].join("");
}

/** The bar above the screen. */
export function titleSvg(title: string, width: number): string {
  const room = Math.floor((width - 2 * PADDING) / (TITLE_FONT_SIZE * (FONT.advance / FONT.em)));
  const characters = [...title];
  const text = characters.length > room ? `${characters.slice(0, room - 1).join("")}…` : title;
  const bar = [
    `<rect width="${width}" height="${TITLE_HEIGHT}" fill="${toHex(TITLE_BACKGROUND)}"/>`,
    `<text x="${PADDING}" y="19" font-size="${TITLE_FONT_SIZE}" fill="${toHex(TITLE_FOREGROUND)}">${escapeXml(text)}</text>`,
  ];
  return svgOf({ width, height: TITLE_HEIGHT }, bar.join(""));
}

/** What a font must have of a cell's text: nothing if it is drawn as a shape. */
export function fontText(text: string): string {
  return findShape(text, 1, 1) === undefined ? (STAND_INS[text] ?? text) : "";
}

/**
 * A cell's character in white.
 * @param findFamily as {@link Fonts} has it. Marks that no font has are left out.
 * @returns undefined if no font has the character.
 */
export function drawGlyph(
  cell: Pick<Cell, "text" | "width" | "isBold" | "isItalic">,
  findFamily: Fonts["findFamily"],
): string | undefined {
  const { width } = cell;
  const shape = findShape(cell.text, width * CELL_WIDTH, CELL_HEIGHT);
  if (shape !== undefined) return `<g fill="#ffffff" color="#ffffff">${shape}</g>`;
  const [first = "", ...marks] = fontText(cell.text);
  const found = findFamily(first);
  if (found === undefined) return undefined;
  const character = [first, ...marks.filter((mark) => findFamily(mark) !== undefined)].join("");
  const look = `fill="#ffffff"${cell.isBold ? ' font-weight="bold"' : ""}${cell.isItalic ? ' font-style="oblique"' : ""}`;
  const text = escapeXml(character);
  if (width === 1 && MONOSPACED.test(character)) return `<text x="0" y="${BASELINE}" ${look}>${text}</text>`;
  if (width === 1 && BOX.test(character))
    return `<text x="0" y="${round(ASCENT)}" transform="scale(1 ${round(BOX_STRETCH)})" ${look}>${text}</text>`;
  // A character from whatever font has it: of unknown width, so it goes into the middle of its cells.
  const middle = (width * CELL_WIDTH) / 2;
  const family = escapeXml(width === 2 && EMOJI.test(character) ? EMOJI_FAMILY : found);
  return `<text x="${middle}" y="${BASELINE}" text-anchor="middle" font-family="'${family}'" ${look}>${text}</text>`;
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
}

function round(value: number): string {
  return value.toFixed(4);
}
