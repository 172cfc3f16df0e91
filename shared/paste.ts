/**
 * A pasted text, and the frame in which a terminal hands it to a program that asked for one ("bracketed paste", DEC
 * mode 2004): the program takes all of it as text, none of it as keys. Pure.
 */

/** `true`: a paste; `false`: typed as it is; `auto`: a paste if it has several lines. */
export type Paste = boolean | "auto";

/** The frame's own beginning and end, in 7 and in 8 bits. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about them
const FRAME = /(?:\u001b\[|\u009b)20[01]~/g;
/**
 * Characters with which a text could leave its frame: those that begin a sequence, and those at which the kernel sends
 * a signal or holds the terminal, also while a program reads key by key (C-c, C-\, C-z, C-q, C-s).
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about them
const LEAVES_FRAME = /[\u0003\u0011\u0013\u001a\u001b\u001c\u0080-\u009f]/g;

export function isPasted(text: string, paste: Paste): boolean {
  if (paste !== "auto") return paste && text !== "";
  // A carriage return is the key Enter, whoever sends it.
  return text.trimEnd().includes("\n");
}

/** Each line ends as if Enter were pressed; programs in raw mode know no other line end. */
export function asLines(text: string): string {
  return text.replace(/\r?\n/g, "\r");
}

/** The text as it goes between the frame's two ends. It can't end the frame, whatever it holds. */
export function insideFrame(text: string): string {
  return asLines(text.replace(FRAME, "").replace(LEAVES_FRAME, ""));
}
