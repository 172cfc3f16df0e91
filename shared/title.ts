/** A thread's name for people: one line that no program and no person can make act on a screen. */
import { cleanLine, replaceHarmful } from "./clean-text.ts";
import { clip } from "./clip.ts";
import { kindOf, type Typed } from "./kinds.ts";

/** As many characters as Discord allows in a thread's name. */
export const MAX_TITLE_CHARACTERS = 100;

/** `text` on one line, without what is harmful, cut to {@link MAX_TITLE_CHARACTERS}; it may be empty then. */
export function cleanTitle(text: string): string {
  // Blanks first, since the control characters among them are harmful, and again where something went.
  const clean = replaceHarmful(text.replace(/\s+/g, " "), "").replace(/\s+/g, " ").trim();
  const characters = [...clean];
  if (characters.length <= MAX_TITLE_CHARACTERS) return clean;
  return `${characters.slice(0, MAX_TITLE_CHARACTERS - 1).join("")}…`;
}

/** What a thread is called while nobody has named it. */
export function titleOf(dir: string, command: string): string {
  return cleanTitle(dir === "." ? command : `${dir} — ${command}`);
}

/** So that what stands behind it still has room. */
const MAX_NAMED_DIR = 50;
/** No more of a command is cleaned than can be shown. */
const MAX_NAMED_COMMAND = 480;

/** `🖥 dir — command`: a thread's name in Discord while nobody has named it, on one line and within Discord's limit. */
export function threadName({ dir, command, ...typed }: Typed & { dir: string; command: string }): string {
  const where = clip(cleanLine(dir), MAX_NAMED_DIR);
  const what = clip(command, MAX_NAMED_COMMAND);
  return clip(cleanLine(`${kindOf(typed).icon} ${where} — ${what}`), MAX_TITLE_CHARACTERS);
}

/** Whether nobody has named a thread of this title. */
export function isMadeTitle(title: string, thread: Typed & { dir: string; command: string }): boolean {
  return ["", titleOf(thread.dir, thread.command), threadName(thread)].includes(title);
}
