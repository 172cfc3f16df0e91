/**
 * The text without these characters at its end. In linear time: a pattern such as `/\n+$/` tries each of a run of them as
 * the beginning of the last one.
 */
export function trimEndOf(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}
