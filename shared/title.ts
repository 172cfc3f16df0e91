/** A thread's name for people: one line that no program and no person can make act on a screen. */
import { replaceHarmful } from "./clean-text.ts";

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
