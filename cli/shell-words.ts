/**
 * A shell's command line from arguments: one argument is a command line already; of several, each reaches the
 * program as it is.
 */
export function toCommandLine(words: readonly string[]): string {
  const [only = ""] = words;
  return words.length === 1 ? only : words.map(quoteWord).join(" ");
}

function quoteWord(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
