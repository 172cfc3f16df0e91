/** Foreign text inside a line or a code block of ours. Pure. */
import { writeOutHidden, writeOutLine } from "../../../shared/clean-text.ts";
import { formatBytes } from "../text.ts";

/** File names in place of absolute paths: where a directory lies on the VM is nothing for a channel. */
export function withoutFolders(text: string): string {
  return text
    .replace(/'\/(?:[^'\n]*\/)?([^'/\n]*)'/g, "'$1'") // as git quotes a path, blanks and all
    .replace(/(^|[\s'"`(=]|:(?!\/\/))\/(?:[^\s'"`]*\/)?([^\s'"`/]*)/g, "$1$2");
}

/** One line of plain text in Discord's markdown: nothing in it is bold, a link, a mention or a heading. */
export function inline(text: string, max = 200): string {
  return escapeMarkdown(clipEnd(writeOutLine(text, max), max));
}

/** {@link inline} of what a call does: its subject, such as a command, is code. @param name the tool's, if one is called */
export function inlineTitle(title: string, max: number, name?: string): string {
  if (name === undefined) return inline(title, max);
  const line = clipEnd(writeOutLine(title, max), max);
  const isNamed = line === name || line.startsWith(`${name} `);
  const subject = isNamed ? line.slice(name.length + 1) : line;
  return [isNamed ? escapeMarkdown(name) : "", subject === "" ? "" : codeSpan(subject)]
    .filter((part) => part !== "")
    .join(" ");
}

/** One line as code, in which no link and no mention is one. */
function codeSpan(line: string): string {
  if (!line.includes("`")) return `\`${line}\``;
  // Two backticks hold single ones; nothing in Discord's markdown holds more.
  return `\`\` ${line.replace(/`{2,}/g, (run) => "ˋ".repeat(run.length))} \`\``;
}

/** Addresses are code: Discord makes a link of each that is none, whatever is escaped in it. */
function escapeMarkdown(text: string): string {
  return text
    .split(/(https?:\/\/\S+)/i)
    .map((part, i) => (i % 2 === 1 ? codeSpan(part) : escapeSigns(part)))
    .join("");
}

function escapeSigns(text: string): string {
  return text.replace(/[\\*_~`|<>[\]()#]/g, "\\$&").replace(/@(?=everyone|here)/g, "@\u200b");
}

/** At most `max` UTF-16 units, never through the middle of a surrogate pair. */
export function clipEnd(text: string, max: number): string {
  if (text.length <= max) return text;
  const kept = text.slice(0, max - 1);
  return `${/[\uD800-\uDBFF]$/.test(kept) ? kept.slice(0, -1) : kept}…`;
}

/** {@link clipEnd} of Markdown of ours: no half of an escape stays at the end, and no code is left open. */
export function clipMarkdown(text: string, max: number): string {
  if (text.length <= max) return text;
  const kept = clipEnd(text, max - 3)
    .slice(0, -1)
    .trimEnd();
  let open = "";
  for (let at = 0; at < kept.length; at++) {
    if (kept[at] === "\\" && open === "") at += 1;
    else if (kept[at] === "`") {
      const run = kept[at + 1] === "`" ? "``" : "`";
      if (open === "") open = run;
      else if (open === run) open = "";
      at += run.length - 1;
    }
    // The escape's other half was cut off.
    if (at >= kept.length) return `${kept.slice(0, -1)}…`;
  }
  return `${kept}…${open === "``" ? " ``" : open}`;
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
  const room = max - info.length - 8;
  const whole = text.replaceAll("\r\n", "\n");
  // Nothing becomes shorter.
  const near = whole.slice(0, Math.max(0, room) + NEIGHBOURS);
  const safe = writeOutHidden(near).replace(/`(?=`|$|\n)/g, "`\u200b");
  const isClipped = safe.length > room || wholeBytes !== undefined;
  const more = wholeBytes === undefined ? moreOf(whole) : `(cut: ${formatBytes(wholeBytes)} in all)`;
  const body = isClipped ? `${clipEnd(safe, room - MORE_UNITS)}\n${more}` : safe;
  return { text: `\`\`\`${info}\n${body.trim() === "" ? "\u200b" : body}\n\`\`\``, isClipped };
}

const MORE_UNITS = 60;
/** Whether a character hides is told by those beside it. */
const NEIGHBOURS = 8;

function moreOf(text: string): string {
  const lines = text.split("\n").length;
  const characters = `${text.length} characters`;
  return lines > 1 ? `(cut: ${lines} lines, ${characters} in all)` : `(cut: ${characters} in all)`;
}
