/** Foreign text as it is, with what eyes would miss written out. Pure. */

/** Controls, formats (bidi, zero width, tags), unassigned and private ones, odd blanks. */
const HIDDEN = /\p{C}|\p{Zl}|\p{Zp}|(?! )\p{Zs}|\p{Default_Ignorable_Code_Point}|\u2800/gu;

const SHORT: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** One line: each hidden character is its code, such as `\u{202e}`. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (char) => SHORT[char] ?? `\\u{${char.codePointAt(0)?.toString(16)}}`);
}

/** {@link visible}, and at most so long. */
export function visibleStart(text: string, max: number): string {
  const shown = visible(text.slice(0, max + 1));
  return shown.length > max ? `${shown.slice(0, max - 1)}…` : shown;
}
