/** The names of keys that Discord offers while somebody types one. */
import { KEY_WORDS } from "../../shared/key-words.ts";

/** Names that begin with, then names that contain what was typed. */
export function completeKey(typed: string): string[] {
  const wanted = typed.toLowerCase();
  return [
    ...new Set([
      ...KEY_WORDS.filter((name) => name.startsWith(wanted)),
      ...KEY_WORDS.filter((name) => name.includes(wanted)),
    ]),
  ];
}
