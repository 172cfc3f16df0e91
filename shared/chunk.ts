/** Pieces of files that only grow, as text that knows which bytes it stands for. Pure. */
import { isUtf8 } from "node:buffer";

/**
 * A piece of a growing file. Bytes that are no UTF-8 read as U+FFFD, which has three bytes itself: the length of `text`
 * says nothing about the file, so start and end go with it from where it is read to where it is used.
 */
export interface Chunk {
  readonly text: string;
  /** The position in the file of the first byte. */
  readonly start: number;
  /** The position behind the last byte. */
  readonly end: number;
  /** A digit for each U+FFFD in `text`: how many bytes it stands for. Left out if each stands for itself. */
  readonly replaced?: string;
}

const REPLACEMENT = "\ufffd";

/** Reads bytes as text. Cut where characters end, pieces of a file read as the whole does. */
export function decodeChunk(bytes: Uint8Array, start: number): Chunk {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  const place = { text, start, end: start + bytes.length };
  return isUtf8(bytes) ? place : { ...place, replaced: measureReplaced(bytes) };
}

/** Text of which every character stands for itself, which ends at position `end`. */
export function textChunk(text: string, end: number): Chunk {
  return { text, start: end - Buffer.byteLength(text), end };
}

/** The first `units` UTF-16 units of a chunk, which must not end within a pair, and the rest. */
export function splitChunk(chunk: Chunk, units: number): [head: Chunk, rest: Chunk] {
  const head = chunk.text.slice(0, units);
  const { replaced, start } = chunk;
  let middle = start + Buffer.byteLength(head);
  if (replaced === undefined) return cut(chunk, head, middle, 0);
  let count = 0;
  for (let at = head.indexOf(REPLACEMENT); at >= 0; at = head.indexOf(REPLACEMENT, at + 1)) {
    middle += Number(replaced[count]) - 3;
    count += 1;
  }
  return cut(chunk, head, middle, count);
}

/** What stands before position `offset`, and the rest; a character across it belongs to the first. */
export function splitChunkAt(chunk: Chunk, offset: number): [head: Chunk, rest: Chunk] {
  const { text, replaced } = chunk;
  let position = chunk.start;
  let units = 0;
  let count = 0;
  while (position < offset && units < text.length) {
    const codePoint = text.codePointAt(units) ?? 0;
    const bytes = codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4;
    const isReplacement = codePoint === 0xfffd && replaced !== undefined;
    position += isReplacement ? Number(replaced[count]) : bytes;
    if (isReplacement) count += 1;
    units += codePoint < 0x10000 ? 1 : 2;
  }
  return cut(chunk, text.slice(0, units), position, count);
}

function cut(
  { text, start, end, replaced }: Chunk,
  head: string,
  middle: number,
  count: number,
): [Chunk, Chunk] {
  const rest = text.slice(head.length);
  if (replaced === undefined) {
    return [
      { text: head, start, end: middle },
      { text: rest, start: middle, end },
    ];
  }
  return [
    { text: head, start, end: middle, replaced: replaced.slice(0, count) },
    { text: rest, start: middle, end, replaced: replaced.slice(count) },
  ];
}

/**
 * For each U+FFFD that the bytes read as, how many of them it stands for. A broken character is replaced as a whole as
 * far as it is the start of a good one, as the Encoding Standard says and Node does.
 */
function measureReplaced(bytes: Uint8Array): string {
  let digits = "";
  for (let i = 0; i < bytes.length; ) {
    const length = lengthOf(bytes, i);
    if (length < 0) digits += String(-length);
    else if (bytes[i] === 0xef && bytes[i + 1] === 0xbf && bytes[i + 2] === 0xbd) digits += "3";
    i += Math.abs(length);
  }
  return digits;
}

/** The length of the character that begins there; below 0 if it is broken. */
function lengthOf(bytes: Uint8Array, at: number): number {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return -1;
  const wanted = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  // The second byte has bounds of its own: no overlong forms, no surrogates, nothing above U+10FFFF.
  let lowest = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  let highest = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  for (let length = 1; length < wanted; length++) {
    const byte = bytes[at + length] ?? 0;
    if (byte < lowest || byte > highest) return -length;
    lowest = 0x80;
    highest = 0xbf;
  }
  return wanted;
}
