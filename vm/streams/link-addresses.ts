/** Says where the links in terminal output lead (OSC 8), behind their text. */
import stripAnsi from "strip-ansi";
import { parseTerminalLink, type TerminalLink, tellsAddress } from "../../shared/terminal-link.ts";

/** No part may match what begins another sequence: no character is looked at from more than one start. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with a control character
const LINK = /(?:\x1b\]|\x9d)8;([^\x07\x18\x1a\x1b\x80-\x9f]*)(?:\x07|\x1b\\|\x9c)/g;
/** A longer text than this, with its colours, is no address. */
const MAX_TEXT_UNITS = 2_048;
/** A program that draws its links again and again has each told once. */
const MAX_KNOWN = 16;
/** If a sequence was never over, the address is not taken for a part of it. */
const ENDS_SEQUENCE = "\x1b[m";

/** The last links in a piece of terminal output whose text does not tell their address, the newest last. */
export function linksIn(output: string): TerminalLink[] {
  const links = new LinkAddresses();
  links.push(output);
  links.end();
  return links.told;
}

export class LinkAddresses {
  #open: { address: string; raw: string } | undefined;
  readonly #known = new Map<string, TerminalLink>();

  /** The last links whose text does not tell their address, the newest last. */
  get told(): TerminalLink[] {
    return [...this.#known.values()];
  }

  /** The text with addresses put in. Whole escape sequences. */
  push(text: string): string {
    let told = "";
    let start = 0;
    for (const { 0: sequence, 1: data = "", index } of text.matchAll(LINK)) {
      const part = text.slice(start, index);
      this.#take(part);
      const address = parseTerminalLink(data);
      // The same link may be opened anew where a line was wrapped.
      const isSame = address !== undefined && address === this.#open?.address;
      told += part + (isSame ? "" : this.end()) + sequence;
      if (!isSame) this.#open = address === undefined ? undefined : { address, raw: "" };
      start = index + sequence.length;
    }
    const rest = text.slice(start);
    this.#take(rest);
    return told + rest;
  }

  /** Ends the open link. @returns its address, to stand behind its text; empty if the text tells it */
  end(): string {
    if (this.#open === undefined) return "";
    const { address, raw } = this.#open;
    this.#open = undefined;
    const text = stripAnsi(raw).replace(/[\r\n]/g, "");
    if (text.trim() === "" || tellsAddress(text, address)) return "";
    const key = `${text} ${address}`;
    const isKnown = this.#known.delete(key);
    this.#known.set(key, { text: text.trim(), address });
    if (this.#known.size > MAX_KNOWN) this.#known.delete(this.#known.keys().next().value ?? "");
    return isKnown ? "" : `${ENDS_SEQUENCE} (${address})`;
  }

  #take(text: string): void {
    if (this.#open === undefined) return;
    const room = MAX_TEXT_UNITS - this.#open.raw.length;
    if (room > 0) this.#open.raw += text.slice(0, room);
  }
}
