/** Foreign text inside a line or a code block of ours. Pure. */

/** Characters that a person can't see, or that show other characters in another order. */
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is made visible
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** Whoever decides on a text must see all of it: what is invisible is written out, as in `⟨U+202E⟩`. */
export function showHidden(text: string): string {
  return text.replace(HIDDEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
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

/** A code block of at most `max` units that nothing inside can close; how much is left out is said in its last line. */
export function codeBlock(text: string, max: number, info = ""): string {
  const safe = showHidden(text.replaceAll("\r\n", "\n")).replace(/`(?=`|$|\n)/g, "`\u200b");
  const room = max - info.length - 8;
  const isClipped = safe.length > room;
  const body = isClipped ? `${clipEnd(safe, room - 40)}\n(${safe.length} characters in all)` : safe;
  return `\`\`\`${info}\n${body.trim() === "" ? "\u200b" : body}\n\`\`\``;
}
