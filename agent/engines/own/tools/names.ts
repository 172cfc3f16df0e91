/** File names as the model reads them: one line each, and so that it can name the file again. Pure. */
import { cleanLine } from "../../../../shared/clean-text.ts";

/** A name with characters in it that would break a line, or that nobody sees, is written as a JSON string. */
export function quotedName(name: string): string {
  if (!name.includes('"') && cleanLine(name) === name) return name;
  return JSON.stringify(name).replace(/[^\x20-\x7e]/gu, (character) =>
    cleanLine(`a${character}a`) === `a${character}a` ? character : escaped(character),
  );
}

function escaped(character: string): string {
  return Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
  ).join("");
}
