/** The agent's program: where it is, and its arguments as settings name them. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, resolve } from "node:path";

/** The file that `program` names, undefined where there is none that can be run. */
export function findProgram(program: string, path: string): string | undefined {
  const candidates = program.includes("/")
    ? [resolve(program)]
    : path
        .split(delimiter)
        .filter(isAbsolute)
        .map((folder) => resolve(folder, program));
  return candidates.find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return statSync(file).isFile();
    } catch {
      return false; // not there or not runnable: the next one
    }
  });
}

/**
 * Splits `AGENT_ARGS` at white space; single and double quotes keep words together. Nothing else is special.
 * @throws Error for a quote that is not closed.
 */
export function splitArgs(text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (const char of text) {
    if (quote !== undefined) {
      if (char === quote) quote = undefined;
      else word += char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= "";
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? "") + char;
    }
  }
  if (quote !== undefined) throw new Error(`a ${quote} is not closed`);
  if (word !== undefined) words.push(word);
  return words;
}
