/** How an agent's turn is started: program and arguments, no shell in between. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, resolve } from "node:path";

export interface AgentConfig {
  /** A name to look up on PATH, or a path. */
  program: string;
  args: readonly string[];
}

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
 * The argument vector of one turn: it begins a conversation of that id, or goes on with it. The message itself is the
 * program's standard input: everybody on the machine can read arguments.
 */
export function turnArgv(
  agent: AgentConfig,
  turn: { file: string; session: string; isFirst: boolean },
): string[] {
  return [turn.file, "-p", turn.isFirst ? "--session-id" : "--resume", turn.session, ...agent.args];
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
