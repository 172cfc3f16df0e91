/**
 * Words for SQLite's FTS5, whose `unicode61` parts a text at signs and blanks alone: identifiers are parted at their
 * humps too, and a run of Chinese, Japanese or Korean, which has no blanks, into pairs of signs. Pure, in linear time.
 */

const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー]+/gu;
const HUMPS = /\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{Lo}+|\p{N}+/gu;
const CHUNK = /[^\s\p{Z}\p{Cc}]+/gu;
const WORD = /[\p{L}\p{N}]+/gu;
/** Most texts hold neither a hump nor a sign of another script. */
const MORE = /[a-z][A-Z0-9]|[A-Z][A-Z][a-z]|[0-9][A-Za-z]|[^\0-\x7f]/;
/** The most words of a query. */
const MAX_WORDS = 12;
const MAX_WORD = 100;

/** The words by which a text is found beside its own: parts of identifiers, and pairs of signs. */
export function extraWords(text: string): string {
  if (!MORE.test(text)) return "";
  const extra: string[] = [];
  for (const [run] of text.matchAll(CJK)) extra.push(pairsOf(run).join(" "));
  for (const [chunk] of text.matchAll(CHUNK)) {
    const words = [...chunk.matchAll(WORD)].map(([word]) => word);
    const humps = words.flatMap(humpsOf);
    if (humps.length > words.length) extra.push(humps.join(" "));
  }
  return extra.join("\n");
}

/**
 * A person's words as an FTS5 expression that finds lines with all of them; undefined if there is no word in it.
 * No sign of the text has a meaning for FTS5.
 */
export function matchOf(query: string): string | undefined {
  const words = [...query.normalize("NFC").matchAll(CHUNK)]
    .map(([word]) => word.slice(0, MAX_WORD))
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
    .slice(0, MAX_WORDS);
  if (words.length === 0) return undefined;
  return words.map(oneOf).join(" AND ");
}

function oneOf(word: string): string {
  const parts: string[] = [];
  let rest = word;
  for (const [run] of word.matchAll(CJK)) {
    parts.push(cjkOf(run));
    rest = rest.replace(run, " ");
  }
  for (const piece of rest.split(" ").filter((one) => /[\p{L}\p{N}]/u.test(one))) {
    const humps = [...piece.matchAll(WORD)].flatMap(([one]) => humpsOf(one));
    const whole = phrase(piece);
    parts.push(humps.length > 1 ? `(${whole} OR ${phrase(humps.join(" "))})` : whole);
  }
  return parts.length === 1 ? (parts[0] ?? "") : `(${parts.join(" AND ")})`;
}

/** One sign is found at the beginning of a pair, and each sign begins one. */
function cjkOf(run: string): string {
  const signs = [...run];
  if (signs.length === 1) return `${phrase(run)}*`;
  return phrase(pairsOf(run).slice(0, -1).join(" "));
}

/** `ab bc c` of `abc`. */
function pairsOf(run: string): string[] {
  const signs = [...run];
  return signs.map((sign, at) => sign + (signs[at + 1] ?? ""));
}

function humpsOf(word: string): string[] {
  return [...word.matchAll(HUMPS)].map(([hump]) => hump);
}

function phrase(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
