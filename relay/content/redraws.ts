/** Whether what a program drew is what it had drawn before, with other numbers, times and bars. Pure. */

/** So much of a screen is looked at: a program may clear a large one in three bytes, again and again. */
const MAX_ROWS = 100;
const MAX_UNITS = 120;
/** How many places are tried as the start of a picture. */
const MAX_STARTS = 8;
/** Fewer rows that look alike may be lines of a log. */
const MIN_PICTURE_ROWS = 3;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the colours that a page's row holds
const COLOUR = /\x1b\[[0-9;]*m/g;
const NUMBER = /\d+/g;
/** Blanks, frames, bars and spinners. */
const SYMBOLS = /[^\p{L}\d]+/gu;

/** How two rows are compared. */
export type Comparison = (old: Row, now: Row) => boolean;

interface Row {
  readonly text: string;
  /** The words, with a 0 for each number and a blank for all else. */
  readonly shape: string;
  readonly numbers: readonly string[];
  readonly list: List;
}

/** The rows of one shape, in order. */
interface List {
  readonly rows: Row[];
  /** Indexes of the numbers that tell each row from all others; undefined until they are needed. */
  keys: readonly number[] | undefined;
}

/**
 * Whether `now` is the picture `old`, drawn again: at least two thirds of the rows of `old` are there again. A list whose
 * numbers go on is another text, not a picture with new numbers.
 */
export function isSamePicture(old: readonly string[], now: readonly string[], by: Comparison): boolean {
  return isSame(parse(old), parse(now), by);
}

/** Whether `now` is how `old` looks while it is drawn again, from its first row on. */
export function isPartOfPicture(old: readonly string[], now: readonly string[], by: Comparison): boolean {
  const drawn = parse(now);
  const rows = parse(old);
  if (drawn.length < MIN_PICTURE_ROWS) return false;
  return rows.length >= drawn.length && isSame(rows, drawn, by, 0, drawn.length);
}

/** Where in `rows` the picture `now` stands at the end; their length if it does not. Text may stand above it. */
export function findPicture(rows: readonly string[], now: readonly string[], by: Comparison): number {
  const drawn = parse(now);
  const first = drawn[0];
  if (first === undefined) return rows.length;
  const from = Math.max(0, rows.length - MAX_ROWS);
  const places: number[] = [];
  for (let index = from; index < rows.length; index++) if (!isBlank(rows[index] ?? "")) places.push(index);
  const old = parse(rows.slice(from));
  const starts = [...old.keys()].filter((start) => old[start]?.shape === first.shape).slice(0, MAX_STARTS);
  starts.push(old.length - drawn.length);
  const start = starts.find(
    (start) => start >= 0 && start <= old.length - MIN_PICTURE_ROWS && isSame(old, drawn, by, start),
  );
  return (start === undefined ? undefined : places[start]) ?? rows.length;
}

/** Whether none of the rows shows anything. */
export function areBlank(rows: readonly string[]): boolean {
  return rows.every(isBlank);
}

function isBlank(row: string): boolean {
  return row.replace(COLOUR, "").trim() === "";
}

function parse(rows: readonly string[]): Row[] {
  const parsed: Row[] = [];
  const lists = new Map<string, List>();
  for (const text of rows) {
    if (parsed.length === MAX_ROWS) break;
    if (isBlank(text)) continue;
    const row = parseRow(text, lists);
    row.list.rows.push(row);
    parsed.push(row);
  }
  return parsed;
}

function parseRow(row: string, lists: Map<string, List>): Row {
  const text = row.replace(COLOUR, "").slice(0, MAX_UNITS);
  const shape = text.replace(SYMBOLS, " ").replace(NUMBER, "0").trim();
  const list = lists.get(shape) ?? { rows: [], keys: undefined };
  lists.set(shape, list);
  return { text, shape, numbers: text.match(NUMBER) ?? [], list };
}

function keysOf(list: List): readonly number[] {
  list.keys ??= [...(list.rows[0]?.numbers.keys() ?? [])].filter(
    (index) => new Set(list.rows.map(({ numbers }) => numbers[index])).size === list.rows.length,
  );
  return list.keys;
}

/** Whether the rows from `from` to `to` of `old` are there again. */
function isSame(
  old: readonly Row[],
  now: readonly Row[],
  by: Comparison,
  from = 0,
  to = old.length,
): boolean {
  const count = to - from;
  const unmatched = new Map<string, number>();
  const left: Row[] = [];
  let same = 0;
  for (let offset = 0; offset < count || offset < now.length; offset++) {
    const before = offset < count ? old[from + offset] : undefined;
    const after = now[offset];
    if (before !== undefined && after !== undefined && by(before, after)) {
      same++;
      continue;
    }
    if (before !== undefined) unmatched.set(before.text, (unmatched.get(before.text) ?? 0) + 1);
    if (after !== undefined) left.push(after);
  }
  // A list may have moved by some rows.
  for (const { text } of left) {
    const count = unmatched.get(text) ?? 0;
    if (count === 0) continue;
    unmatched.set(text, count - 1);
    same++;
  }
  return same * 3 >= count * 2;
}

/**
 * Tells whether `now` is the row `old`, drawn again. Numbers tell rows of one shape in a list apart: if none of these
 * numbers is the same, the rows are different ones.
 */
export function isSameRow(old: Row, now: Row): boolean {
  if (old.text === now.text) return true;
  if (old.shape !== now.shape) return false;
  if (old.list.rows.length === 1 && now.list.rows.length === 1) return true;
  const longer = old.list.rows.length >= now.list.rows.length ? old.list : now.list;
  const keys = keysOf(longer);
  const isSame = (index: number): boolean => old.numbers[index] === now.numbers[index];
  return keys.length > 0
    ? keys.some(isSame)
    : old.numbers.every((_, index) => isSame(index) || !differsIn(longer, index));
}

function differsIn({ rows }: List, index: number): boolean {
  return rows.some(({ numbers }) => numbers[index] !== rows[0]?.numbers[index]);
}

/** For rows that may be text which only goes on. */
export function isEqualRow(old: Row, now: Row): boolean {
  return old.text === now.text;
}
