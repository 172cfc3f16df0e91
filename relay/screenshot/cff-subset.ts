/** A font's `CFF ` table with the outlines of some glyphs alone: of 16 MB that are read for each text, one is left. Pure. */

/** Two bytes of which the first is 12 are one operator. */
const ESCAPE = 12;
const OPERATORS = {
  charset: 15,
  encoding: 16,
  charStrings: 17,
  private: 18,
  subrs: 19,
  fdArray: 1236,
  fdSelect: 1237,
} as const;
/** In 24 bits; a table is at most 64 MB, but what is kept of it is far less. */
const OFFSET_BYTES = 3;
const MAX_OFFSET = 2 ** 24 - 1;

interface Index {
  count: number;
  end: number;
  item(i: number): Buffer;
}

/**
 * The table with the same glyphs in the same order; those that are not kept are empty.
 * @throws RangeError if it is damaged, or has what is not known here
 */
export function subsetCff(cff: Buffer, kept: ReadonlySet<number>): Buffer {
  const names = readIndex(cff, cff.readUInt8(2));
  const tops = readIndex(cff, names.end);
  const strings = readIndex(cff, tops.end);
  const globals = readIndex(cff, strings.end);
  const top = readDict(tops.item(0));
  const offsetOf = (operator: number) => top.get(operator)?.values[0];
  if (tops.count !== 1 || (offsetOf(OPERATORS.encoding) ?? 0) > 1)
    throw new RangeError("another kind of CFF");
  const glyphs = readIndex(cff, wanted(offsetOf(OPERATORS.charStrings)));

  // Where each part comes to lie depends on the length of the first, which does not depend on what is in it.
  const moved = [OPERATORS.charset, OPERATORS.charStrings, OPERATORS.fdArray, OPERATORS.fdSelect].filter(
    (operator) => (offsetOf(operator) ?? 0) > 2,
  );
  const changes = new Map<number, number[]>(moved.map((operator) => [operator, [0]]));
  if (top.has(OPERATORS.private)) changes.set(OPERATORS.private, [0, 0]);
  const head = () =>
    Buffer.concat([
      cff.subarray(0, names.end),
      writeIndex([writeDict(top, changes)], 4),
      cff.subarray(tops.end, globals.end),
    ]);
  const parts: Buffer[] = [head()];
  const add = (part: Buffer): number => {
    const at = parts.reduce((sum, { length }) => sum + length, 0);
    parts.push(part);
    return at;
  };
  const bodies = Array.from({ length: glyphs.count }, (_, gid) =>
    gid === 0 || kept.has(gid) ? glyphs.item(gid) : Buffer.alloc(0),
  );
  changes.set(OPERATORS.charStrings, [add(writeIndex(bodies, OFFSET_BYTES))]);
  const copied = [
    [OPERATORS.charset, charsetBytes],
    [OPERATORS.fdSelect, fdSelectBytes],
  ] as const;
  for (const [operator, sizeOf] of copied) {
    const from = offsetOf(operator);
    if (from === undefined || !changes.has(operator)) continue;
    changes.set(operator, [add(part(cff, from, sizeOf(cff, from, glyphs.count)))]);
  }
  const addPrivate = (dict: Dict): number[] => {
    const { own, subrs } = privateParts(cff, dict);
    const at = add(own);
    add(subrs);
    return [own.length, at];
  };
  if (changes.has(OPERATORS.private)) changes.set(OPERATORS.private, addPrivate(top));
  if (changes.has(OPERATORS.fdArray)) {
    const dicts = readIndex(cff, wanted(offsetOf(OPERATORS.fdArray)));
    const written = Array.from({ length: dicts.count }, (_, i) => {
      const dict = readDict(dicts.item(i));
      return writeDict(dict, new Map([[OPERATORS.private, addPrivate(dict)]]));
    });
    changes.set(OPERATORS.fdArray, [add(writeIndex(written, OFFSET_BYTES))]);
  }
  parts[0] = head();
  return Buffer.concat(parts);
}

/** A font's private dictionary, and its subroutines, which are to lie right behind it. */
function privateParts(cff: Buffer, dict: Dict): { own: Buffer; subrs: Buffer } {
  const [size = 0, from = 0] = dict.get(OPERATORS.private)?.values ?? [];
  const whole = part(cff, from, size);
  const own = readDict(whole);
  const subrs = own.get(OPERATORS.subrs)?.values[0];
  if (subrs === undefined) return { own: whole, subrs: Buffer.alloc(0) };
  const { length } = writeDict(own, new Map([[OPERATORS.subrs, [0]]]));
  return {
    own: writeDict(own, new Map([[OPERATORS.subrs, [length]]])),
    subrs: cff.subarray(from + subrs, readIndex(cff, from + subrs).end),
  };
}

function wanted(offset: number | undefined): number {
  if (offset === undefined || offset <= 0) throw new RangeError("no such part");
  return offset;
}

function part(cff: Buffer, from: number, size: number): Buffer {
  if (size < 0 || from < 0 || from + size > cff.length) throw new RangeError("the table is cut off");
  return cff.subarray(from, from + size);
}

function readIndex(cff: Buffer, at: number): Index {
  const count = cff.readUInt16BE(at);
  const missing = () => {
    throw new RangeError("no such item");
  };
  if (count === 0) return { count, end: at + 2, item: missing };
  const size = cff.readUInt8(at + 2);
  const base = at + 2 + (count + 1) * size; // offsets begin at 1
  const offset = (i: number) => cff.readUIntBE(at + 3 + i * size, size);
  return {
    count,
    end: base + offset(count),
    item: (i) => (i < count ? part(cff, base + offset(i), offset(i + 1) - offset(i)) : missing()),
  };
}

function writeIndex(items: readonly Buffer[], offsetBytes: number): Buffer {
  const head = Buffer.alloc(3 + (items.length + 1) * offsetBytes);
  head.writeUInt16BE(items.length, 0);
  head.writeUInt8(offsetBytes, 2);
  let offset = 1;
  for (let i = 0; i <= items.length; i++) {
    if (offsetBytes === OFFSET_BYTES && offset > MAX_OFFSET) throw new RangeError("too much is kept");
    head.writeUIntBE(offset, 3 + i * offsetBytes, offsetBytes);
    offset += items[i]?.length ?? 0;
  }
  return Buffer.concat([head, ...items]);
}

/** By operator: its operands, as they were written and as whole numbers. */
type Dict = ReadonlyMap<number, { raw: Buffer; values: number[] }>;

function readDict(dict: Buffer): Dict {
  const found = new Map<number, { raw: Buffer; values: number[] }>();
  let start = 0;
  let values: number[] = [];
  for (let at = 0; at < dict.length; ) {
    const first = dict.readUInt8(at);
    if (first <= 21) {
      const operator = first === ESCAPE ? ESCAPE * 100 + dict.readUInt8(at + 1) : first;
      found.set(operator, { raw: dict.subarray(start, at), values });
      at += first === ESCAPE ? 2 : 1;
      start = at;
      values = [];
      continue;
    }
    const { value, bytes } = readNumber(dict, at, first);
    values.push(value);
    at += bytes;
  }
  return found;
}

/** A real one is told as NaN: none that is asked for is one. */
function readNumber(dict: Buffer, at: number, first: number): { value: number; bytes: number } {
  if (first === 28) return { value: dict.readInt16BE(at + 1), bytes: 3 };
  if (first === 29) return { value: dict.readInt32BE(at + 1), bytes: 5 };
  if (first === 30) {
    let end = at + 1;
    while ((dict.readUInt8(end) & 0xf) !== 0xf) end++;
    return { value: Number.NaN, bytes: end + 1 - at };
  }
  if (first >= 32 && first <= 246) return { value: first - 139, bytes: 1 };
  if (first >= 247 && first <= 250) {
    return { value: (first - 247) * 256 + dict.readUInt8(at + 1) + 108, bytes: 2 };
  }
  if (first >= 251 && first <= 254) {
    return { value: -(first - 251) * 256 - dict.readUInt8(at + 1) - 108, bytes: 2 };
  }
  throw new RangeError("no number");
}

/** What is changed is written in as many bytes whatever it is. */
function writeDict(dict: Dict, changes: ReadonlyMap<number, readonly number[]>): Buffer {
  return Buffer.concat(
    [...dict].flatMap(([operator, { raw }]) => {
      const values = changes.get(operator);
      const name = operator >= 100 ? [ESCAPE, operator - ESCAPE * 100] : [operator];
      return [values === undefined ? raw : Buffer.concat(values.map(longNumber)), Buffer.from(name)];
    }),
  );
}

function longNumber(value: number): Buffer {
  const bytes = Buffer.alloc(5, 29);
  bytes.writeInt32BE(value, 1);
  return bytes;
}

function charsetBytes(cff: Buffer, at: number, glyphs: number): number {
  const format = cff.readUInt8(at);
  if (format === 0) return 1 + 2 * (glyphs - 1);
  if (format > 2) throw new RangeError("another kind of charset");
  let end = at + 1;
  for (let told = 1; told < glyphs; end += 2 + format) {
    told += 1 + (format === 1 ? cff.readUInt8(end + 2) : cff.readUInt16BE(end + 2));
  }
  return end - at;
}

function fdSelectBytes(cff: Buffer, at: number, glyphs: number): number {
  const format = cff.readUInt8(at);
  if (format === 0) return 1 + glyphs;
  if (format !== 3) throw new RangeError("another kind of FDSelect");
  return 5 + 3 * cff.readUInt16BE(at + 1);
}
