/** Pixels → PNG. */
import { crc32, deflateSync } from "node:zlib";
import type { Picture } from "./canvas.ts";

const SIGNATURE = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
/** Fast, and hardly larger than the best: most of a terminal repeats. */
const LEVEL = 2;
/** PNG's filter of a row: only what differs from the row above. A cell's background is the same for 18 rows. */
const UP = 2;
/** One of this many rows is packed to guess how large the whole picture will be. */
const SAMPLED = 16;
const SAMPLES = 12;
/** Discord takes 10 MB; a screen on which every cell has colours of its own would be more. */
const MAX_BYTES = 8_000_000;
/** The palette has this many steps each of red, green and blue. */
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

/** Rows `start` to `end`, filtered. Most pixels are as the one above: then nothing has to be written. */
function fullColour({ width, pixels }: Picture, start: number, end: number): Buffer {
  const rows = Buffer.alloc((end - start) * (width * 3 + 1));
  const words = new Uint32Array(pixels.buffer, pixels.byteOffset, pixels.length / 4);
  for (let y = start, to = 0, from = start * width; y < end; y++) {
    rows[to++] = y === 0 ? 0 : UP;
    for (let x = 0; x < width; x++, from++, to += 3) {
      const pixel = words[from] as number;
      const above = y === 0 ? 0 : (words[from - width] as number);
      if (pixel === above) continue;
      // As little-endian machines keep four bytes; a byte keeps the lowest eight bits of a difference.
      rows[to] = pixel - above;
      rows[to + 1] = (pixel >>> 8) - (above >>> 8);
      rows[to + 2] = (pixel >>> 16) - (above >>> 16);
    }
  }
  return rows;
}

/** As {@link fullColour}, all rows, each pixel as its place in the palette. */
function fewColours({ width, height, pixels }: Picture): Buffer {
  const rows = Buffer.alloc(height * (width + 1));
  const words = new Uint32Array(pixels.buffer, pixels.byteOffset, pixels.length / 4);
  const step = Uint8Array.from({ length: 256 }, (_, value) => Math.round((value * (STEPS - 1)) / 255));
  const place = (pixel: number) => {
    const red = step[pixel & 0xff] as number;
    const green = step[(pixel >>> 8) & 0xff] as number;
    return (red * STEPS + green) * STEPS + (step[(pixel >>> 16) & 0xff] as number);
  };
  for (let y = 0, to = 0, from = 0; y < height; y++) {
    rows[to++] = y === 0 ? 0 : UP;
    for (let x = 0; x < width; x++, from++, to++) {
      const pixel = words[from] as number;
      const above = y === 0 ? 0 : (words[from - width] as number);
      if (pixel !== above) rows[to] = place(pixel) - place(above);
    }
  }
  return rows;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  whole.set(body, 4);
  whole.writeUInt32BE(crc32(body), body.length + 4);
  return whole;
}
