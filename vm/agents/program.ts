/** The agent's arguments as settings name them. */
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
