/** Draws the numbers of what can be clicked onto a page's picture. */
import { Resvg } from "@resvg/resvg-js";
import { MAX_PICTURE_BYTES, VIEW } from "../shared/browser/spec.ts";
import type { PlacedMark } from "./marks.ts";

const DIGIT_WIDTH = 7;
const LABEL_HEIGHT = 15;
/** Narrower pictures, for one that has too many bytes. */
const WIDTHS = [VIEW.width, 960, 720, 480];

/** Strokes of the digits on a field of 5 × 9; no font is needed for them. */
const DIGITS: readonly string[] = [
  "M0 0H5V9H0Z",
  "M1 1L3 0V9M1 9H5",
  "M0 0H5V4.5H0V9H5",
  "M0 0H5V9H0M1 4.5H5",
  "M0 0V4.5H5M5 0V9",
  "M5 0H0V4.5H5V9H0",
  "M5 0H0V9H5V4.5H0",
  "M0 0H5V2L2 9",
  "M0 0H5V9H0ZM0 4.5H5",
  "M5 4.5H0V0H5V9H0",
];

/** @returns a PNG of at most {@link MAX_PICTURE_BYTES}, as large as may be */
export function drawMarks(page: Buffer, marks: readonly PlacedMark[]): Buffer {
  const { width, height } = VIEW;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"><image href="data:image/png;base64,${page.toString("base64")}" width="${width}" height="${height}"/>${marks.map(drawMark).join("")}</svg>`;
  let png = Buffer.alloc(0);
  for (const value of WIDTHS) {
    const image = new Resvg(svg, { fitTo: { mode: "width", value }, font: { loadSystemFonts: false } });
    png = Buffer.from(image.render().asPng());
    if (png.length <= MAX_PICTURE_BYTES) break;
  }
  return png;
}

function drawMark({ x, y, width, height }: PlacedMark, index: number): string {
  const digits = String(index + 1);
  const w = digits.length * DIGIT_WIDTH + 5;
  const [left, top] = [clamp(x, VIEW.width - w), clamp(y, VIEW.height - LABEL_HEIGHT)];
  const frame = `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" fill="none" stroke="#d6336c" stroke-opacity="0.6"/>`;
  const label = `<rect x="${left}" y="${top}" width="${w}" height="${LABEL_HEIGHT}" rx="3" fill="#d6336c" fill-opacity="0.92"/>`;
  const strokes = [...digits].map(
    (digit, i) =>
      `<path transform="translate(${left + 3.5 + i * DIGIT_WIDTH} ${top + 3})" d="${DIGITS[Number(digit)]}" fill="none" stroke="#fff" stroke-width="1.6" stroke-linecap="round"/>`,
  );
  return `${frame}${label}${strokes.join("")}`;
}

function clamp(value: number, max: number): number {
  return round(Math.min(Math.max(value, 0), max));
}

/** A page may say that it is of any size. */
function round(value: number): number {
  return Math.round(Math.min(Math.max(value, -10_000), 10_000) * 2) / 2;
}
