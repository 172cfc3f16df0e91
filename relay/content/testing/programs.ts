/** Random programs' output for the properties: text, escape sequences of every kind, and where to cut it. */
import fc from "fast-check";
import { Screen } from "../screen.ts";

/** As many runs as a busy machine gives in a few seconds. */
export const RUNS = { numRuns: 200, interruptAfterTimeLimit: 1_500 };

const text = fc.oneof(
  { weight: 4, arbitrary: fc.stringMatching(/^[ -~]{0,30}$/) },
  fc.constantFrom(
    "日本語",
    "👩‍💻",
    "e\u0301",
    "❤️",
    "``` `` `",
    "@everyone",
    "\u200b\u202e",
    "한국어",
    "─│┌",
    "\u0301",
    "🇩🇪",
    "\u00adx",
  ),
  fc.string({ unit: "binary", maxLength: 6 }),
);

const number = fc.oneof(fc.integer({ min: 0, max: 12 }), fc.constantFrom(0, 80, 999, 2147483647));

const csi = fc
  .tuple(
    fc.constantFrom("", "?", ">", "!"),
    fc.array(number, { maxLength: 3 }),
    fc.constantFrom("", "", "", " ", '"', "'", "$"),
    fc.constantFrom(..."@ABCDEFGHIJKLMPSTXZ`abcdefghlmnqrstu"),
  )
  .map(([prefix, params, intermediate, final]) => `\x1b[${prefix}${params.join(";")}${intermediate}${final}`);

const mode = fc
  .tuple(
    fc.constantFrom(4, 20, "?6", "?7", "?45", "?47", "?1047", "?1048", "?1049", "?2026", "?3"),
    fc.constantFrom("h", "l"),
  )
  .map(([name, end]) => `\x1b[${name}${end}`);

const shortEscape = fc.constantFrom(
  ..."78cDEHMno|}~=>".split("").map((final) => `\x1b${final}`),
  "\x1b(0",
  "\x1b(B",
  "\x1b)0",
  "\x1b(A",
  "\x1b#8",
  "\x1b%G",
);

const string = fc
  .tuple(
    fc.constantFrom("]0;", "]2;", "]8;;http://x", "]52;c;", "P$q", "P+q", "_", "^", "X", "k"),
    fc.stringMatching(/^[ -~]{0,10}$/),
    fc.constantFrom("\x07", "\x1b\\", "\x18", ""),
  )
  .map((parts) => `\x1b${parts.join("")}`);

const control = fc.constantFrom(
  "\r\n",
  "\n",
  "\r",
  "\t",
  "\b",
  "\x07",
  "\x0e",
  "\x0f",
  "\v",
  "\f",
  "\x00",
  "\x7f",
  "\u0085",
  "\u009b5A",
  "\r\n",
);

const erase = fc.constantFrom(
  "\x1b[2J",
  "\x1b[H\x1b[J",
  "\x1b[3J",
  "\x1b[1J",
  "\x1b[K",
  "\x1b[2K",
  "\x1bc",
  "\x1b[H\x1b[2J\x1b[3J",
);

/** Plain lines, enough to scroll a small screen several times: the path around the emulator. */
const plain = fc
  .array(fc.stringMatching(/^[ -~]{0,25}$/), { minLength: 5, maxLength: 30 })
  .map((lines) => lines.map((line) => `${line}\x1b[1;31m\x1b[m\r\n`).join(""));

/** What is set at one time and matters at another. */
const lasting = fc.constantFrom(
  ..."78HM".split("").map((final) => `\x1b${final}`),
  ..."s u 2;3r 3;2H 4h 4l 3g g 1b 2L 2M P @ X 1;4r r".split(" ").map((sequence) => `\x1b[${sequence}`),
  ..."6h 6l 7h 7l 45h 45l 1049h 1049l".split(" ").map((sequence) => `\x1b[?${sequence}`),
  "\x1b(0qx",
  "\x1b(B",
  "\x1b)0\x0eqx",
  "\x0f",
  "\b\b\b",
  "\t",
  "e",
  "\u0301",
  "日",
  "\r\n",
);

const fragment = fc.oneof(
  { weight: 3, arbitrary: text },
  { weight: 3, arbitrary: control },
  { weight: 2, arbitrary: csi },
  { weight: 6, arbitrary: lasting },
  mode,
  shortEscape,
  string,
  erase,
  plain,
);

/** What a program printed, write by write. A program uses few sequences, again and again. */
export const writes = fc
  .array(fragment, { minLength: 1, maxLength: 12, size: "max" })
  .chain((used) => fc.array(fc.constantFrom(...used), { maxLength: 50, size: "max" }))
  .map((parts) => parts.map((part) => part.replace(/\p{Cs}/gu, "\ufffd")));

/** The same as one text. */
export const output = writes.map((parts) => parts.join(""));

/** Without what clears the screen or goes back to its top. */
export const still = output.map((text) =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences' first character
  text.replace(/\x1b(?:c|\[[ -?]*[AFHJdf])/g, ""),
);

/** Whether a program clears its screen or goes back to its top. */
export function isRedrawn(text: string, { cols, rows }: { cols: number; rows: number }): boolean {
  let count = 0;
  const hear = (): void => {
    count++;
  };
  const listener = { onSettled: () => {}, onErased: hear, onScrollbackErased: hear, onMovedUp: hear };
  new Screen({ cols, rows }, listener).write(text);
  return count > 0;
}

/** A small screen, so that little output is enough to fill it. */
export const size = fc.record({
  cols: fc.integer({ min: 2, max: 24 }),
  rows: fc.integer({ min: 2, max: 8 }),
});

/** The same text in pieces, cut between code points. */
export function cut(whole: string, places: readonly number[]): string[] {
  const characters = Array.from(whole);
  const ends = [...new Set(places.map((place) => Math.floor(place * characters.length)))].sort(
    (a, b) => a - b,
  );
  return [...ends, characters.length].map((end, index) =>
    characters.slice(ends[index - 1] ?? 0, end).join(""),
  );
}

/** Where to cut: fractions of the whole. */
export const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 });
