/** The agent's arguments as settings name them. */
import { BYPASS_MODE } from "../../shared/agent/controls.ts";

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

/** The argument by which claude would do everything without asking, or could be told to. */
export function findBypass(args: readonly string[]): string | undefined {
  const flag = args.find((arg) => /^--(allow-)?dangerously-skip-permissions(=|$)/.test(arg));
  if (flag !== undefined) return flag;
  const isBypass = (arg: string, at: number) =>
    arg === `--permission-mode=${BYPASS_MODE}` ||
    (arg === BYPASS_MODE && args[at - 1] === "--permission-mode");
  return args.some(isBypass) ? `--permission-mode ${BYPASS_MODE}` : undefined;
}
