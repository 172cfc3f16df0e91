/** Pixels → PNG. */
import { crc32, deflateSync } from "node:zlib";
import type { Picture } from "./canvas.ts";

const SIGNATURE = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
/** Fast, and hardly larger than the best: most of a terminal repeats. */
const LEVEL = 2;
/** PNG's filter of a row: only what differs from the row above. A cell's background is the same for 18 rows. */
const UP = 2;
/** Of how many rows one is looked at to tell how large the whole will be. */
const SAMPLED = 16;
const SAMPLES = 12;
/** Discord takes 10 MB; a screen on which every cell has colours of its own would be more. */
const MAX_BYTES = 8_000_000;
/** Of a palette: so many steps of red, green and blue each. */
const STEPS = 6;

/** A PNG of 24 bits a pixel, or of 216 colours if that would be too large to be sent. */
export function encodePng(picture: Picture, maxBytes = MAX_BYTES): Buffer {
  // To make both pictures would take twice as long: where it is plain that the first is too large, it is not made.
  if (estimateBytes(picture) <= maxBytes) {
    const png = assemble(picture, 2, [], fullColour(picture, 0, picture.height));
    if (png.length <= maxBytes) return png;
  }
  const levels = Array.from({ length: STEPS ** 3 }, (_, index) => [
    Math.floor(index / STEPS ** 2),
    Math.floor(index / STEPS) % STEPS,
    index % STEPS,
  ]);
  const palette = Buffer.from(levels.flat().map((step) => (step * 255) / (STEPS - 1)));
  return assemble(picture, 3, [chunk("PLTE", palette)], fewColours(picture));
}

function assemble({ width, height }: Picture, type: number, more: readonly Buffer[], rows: Buffer): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // 8 bits a channel, not interlaced.
  header.set([8, type, 0, 0, 0], 8);
  const data = deflateSync(rows, { level: LEVEL });
  const chunks = [chunk("IHDR", header), ...more, chunk("IDAT", data), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([SIGNATURE, ...chunks]);
}

/** About how large the picture will be: every sixteenth row of it, in some pieces, compressed. */
function estimateBytes(picture: Picture): number {
  const { height } = picture;
  const count = Math.ceil(height / (SAMPLES * SAMPLED));
  const starts = Array.from({ length: SAMPLES }, (_, index) => Math.floor((index * height) / SAMPLES));
  const pieces = starts.map((y) => fullColour(picture, y, Math.min(height, y + count)));
  const rows = pieces.reduce((sum, { length }) => sum + length, 0) / (picture.width * 3 + 1);
  return deflateSync(Buffer.concat(pieces), { level: LEVEL }).length * (height / rows);
}

/** Rows that each begin with a byte for the filter: {@link UP} for all but the first one. */
function filterUp(rows: Buffer, height: number): Buffer {
  const stride = rows.length / height;
  for (let at = rows.length - 1; at >= stride; at--) {
    rows[at] = (rows[at] as number) - (rows[at - stride] as number);
  }
  for (let y = 1; y < height; y++) rows[y * stride] = UP;
  return rows;
}

/** Rows `start` to `end`, filtered. */
function fullColour({ width, pixels }: Picture, start: number, end: number): Buffer {
  const stride = width * 3 + 1;
  // What the first one differs from is the row above.
  const above = Math.max(0, start - 1);
  const rows = Buffer.alloc((end - above) * stride);
  for (let y = above, to = 0, from = above * width * 4; y < end; y++) {
    to++;
    for (let x = 0; x < width; x++, from += 4) {
      rows[to++] = pixels[from] as number;
      rows[to++] = pixels[from + 1] as number;
      rows[to++] = pixels[from + 2] as number;
    }
  }
  return filterUp(rows, end - above).subarray((start - above) * stride);
}

function fewColours({ width, height, pixels }: Picture): Buffer {
  const rows = Buffer.alloc(height * (width + 1));
  const step = Uint8Array.from({ length: 256 }, (_, value) => Math.round((value * (STEPS - 1)) / 255));
  for (let y = 0, to = 0, from = 0; y < height; y++) {
    to++;
    for (let x = 0; x < width; x++, from += 4) {
      const red = step[pixels[from] as number] as number;
      const green = step[pixels[from + 1] as number] as number;
      rows[to++] = (red * STEPS + green) * STEPS + (step[pixels[from + 2] as number] as number);
    }
  }
  return filterUp(rows, height);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  whole.set(body, 4);
  whole.writeUInt32BE(crc32(body), body.length + 4);
  return whole;
}
