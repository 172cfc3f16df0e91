/** Foreign text inside a line or a code block of ours. Pure. */
import { formatBytes } from "../text.ts";

/**
 * Characters that a person can't see, that show other characters in another order, or that look like a blank and are
 * none. Joiners and variation selectors inside an emoji or a word of a script that needs them are no such characters.
 */
const HIDDEN =
  /(?![\n\t])\p{C}|[\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}|(?!\u200c|\u200d|\ufe0f)\p{Default_Ignorable_Code_Point}/gu;
const JOINED = String.raw`(?=[^\x00-\x7f])[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]`;
const STRAY_JOINERS = new RegExp(
  `(?<!${JOINED})[\\u200c\\u200d]|[\\u200c\\u200d](?!${JOINED})|(?<![\\p{Extended_Pictographic}#*0-9])\\ufe0f`,
  "gu",
);

/** Whoever decides on a text must see all of it: what is invisible is written out, as in `⟨U+202E⟩`. */
export function showHidden(text: string): string {
  return text.replace(STRAY_JOINERS, named).replace(HIDDEN, (character) => {
    return /[\u200c\u200d]/.test(character) ? character : named(character);
  });
}

function named(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** One line of plain text in Discord's markdown: nothing in it is bold, a link, a mention or a heading. */
export function inline(text: string, max = 200): string {
  const line = showHidden(text.replace(/\s+/g, " ").trim());
  return escapeMarkdown(clipEnd(line, max));
}

function escapeMarkdown(text: string): string {
  return text.replace(/[\\*_~`|<>[\]()#]/g, "\\$&").replace(/@(?=everyone|here)/g, "@\u200b");
}

/** At most `max` UTF-16 units, never through the middle of a surrogate pair. */
export function clipEnd(text: string, max: number): string {
  if (text.length <= max) return text;
  const kept = text.slice(0, max - 1);
  return `${/[\uD800-\uDBFF]$/.test(kept) ? kept.slice(0, -1) : kept}…`;
}

/**
 * A code block of at most `max` units that nothing inside can close. `isClipped`: its last line says that more follows.
 * @param wholeBytes of a text that is an excerpt: the length of the whole.
 */
export function codeBlock(
  text: string,
  max: number,
  info = "",
  wholeBytes?: number,
): { text: string; isClipped: boolean } {
  const safe = showHidden(text.replaceAll("\r\n", "\n")).replace(/`(?=`|$|\n)/g, "`\u200b");
  const room = max - info.length - 8;
  const isClipped = safe.length > room || wholeBytes !== undefined;
  const more = wholeBytes === undefined ? moreOf(safe) : `(cut: ${formatBytes(wholeBytes)} in all)`;
  const body = isClipped ? `${clipEnd(safe, room - MORE_UNITS)}\n${more}` : safe;
  return { text: `\`\`\`${info}\n${body.trim() === "" ? "\u200b" : body}\n\`\`\``, isClipped };
}

const MORE_UNITS = 60;

function moreOf(text: string): string {
  const lines = text.split("\n").length;
  const characters = `${text.length} characters`;
  return lines > 1 ? `(cut: ${lines} lines, ${characters} in all)` : `(cut: ${characters} in all)`;
}
