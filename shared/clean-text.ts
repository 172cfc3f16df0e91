/** Text that others chose, made fit for a sentence, a name or a table that people read. Pure. */

// C0, C1, DEL, and the characters that reorder, hide or invisibly mark text: bidi controls, zero-width spaces,
// joiners other than those inside a script or an emoji (below), soft hyphen, annotation anchors, tags.
const HARMFUL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this finds
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|\u034f|\u17b4|\u17b5/gu;
const LINE_SEPARATORS = /[\u2028\u2029]/g;
const LONE_SURROGATES = /\p{Cs}/gu;
/** ZWJ and ZWNJ mean something only between two characters of a script or an emoji. */
const STRAY_JOINERS =
  /(?<!\p{L}|\p{M}|\p{Extended_Pictographic}|\p{Emoji_Modifier})[\u200c\u200d]|[\u200c\u200d](?!\p{L}|\p{Extended_Pictographic})/gu;
const ASCII_JOINERS = /(?<=[\x20-\x7e])[\u200c\u200d]|[\u200c\u200d](?=[\x20-\x7e])/g;
const PLAIN = /^[\x20-\x7e]*$/;

/**
 * `text` with `mark` in place of each control, bidi and invisible character. Separators of lines become spaces,
 * broken surrogates U+FFFD. Doing it twice changes nothing.
 */
export function replaceHarmful(text: string, mark: "" | "\ufffd"): string {
  if (PLAIN.test(text)) return text;
  let clean = text.replace(LONE_SURROGATES, "\ufffd").replace(HARMFUL, mark);
  if (/[\u200c\u200d]/.test(clean)) {
    // Removing one joiner can leave the next one stray.
    for (let before = ""; before !== clean; ) {
      before = clean;
      clean = clean.replace(ASCII_JOINERS, mark).replace(STRAY_JOINERS, mark);
    }
  }
  return clean.replace(LINE_SEPARATORS, " ");
}

/**
 * What nobody sees, what shows other characters in another order, and what looks like a blank and is none. Joiners
 * and variation selectors inside an emoji, or a word of a script that needs them, are no such characters.
 */
const HIDDEN =
  /(?![\n\t\u200c\u200d])\p{C}|[\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}|(?!\u200c|\u200d|\ufe0f)\p{Default_Ignorable_Code_Point}/gu;
const JOINED = String.raw`(?=[^\x00-\x7f])[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]`;
const UNJOINED = new RegExp(
  `(?<!${JOINED})[\\u200c\\u200d]|[\\u200c\\u200d](?!${JOINED})|(?<![\\p{Extended_Pictographic}#*0-9])\\ufe0f`,
  "gu",
);

/**
 * Foreign text that a person decides on: all of it, in its lines and with its tabs. What eyes would miss is written
 * out, as in `⟨U+202E⟩`.
 */
export function writeOutHidden(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(UNJOINED, codeOf).replace(HIDDEN, codeOf);
}

/**
 * {@link writeOutHidden} on one line: blanks become single spaces.
 * @param max so many units of it are wanted: what comes out is longer only if the line is
 */
export function writeOutLine(text: string, max = Number.POSITIVE_INFINITY): string {
  const line = text.replace(/\s+/g, " ").trim();
  // Nothing becomes shorter, and whether a character hides is told by its neighbours.
  return writeOutHidden(line.slice(0, max + NEIGHBOURS));
}

const NEIGHBOURS = 8;
/** A text may hold one of them a hundred thousand times. */
const CODES = new Map<string, string>();
const MAX_CODES = 1_000;

function codeOf(character: string): string {
  const known = CODES.get(character);
  if (known !== undefined) return known;
  const code = character.codePointAt(0) ?? 0;
  const shown = `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  if (CODES.size < MAX_CODES) CODES.set(character, shown);
  return shown;
}

/**
 * Foreign text on one line: the name of a directory or a branch, a command, a title. Blanks become single spaces;
 * what a terminal would act on, or would hide or turn round, shows as U+FFFD.
 */
export function cleanLine(text: string): string {
  return replaceHarmful(text.replace(/\s+/g, " "), "\ufffd").trim();
}

/** {@link cleanLine} for text of several lines, which keep their blanks. */
export function cleanLines(text: string): string {
  const lines = text.split(/\r?\n/).map((line) =>
    line
      .split("\t")
      .map((part) => replaceHarmful(part, "\ufffd"))
      .join("\t"),
  );
  return lines.join("\n");
}
