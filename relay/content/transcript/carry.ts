/** Lines that Discord reads as one text: what is open where a message ends is closed there and opened again. Pure. */
import type { Block } from "./blocks.ts";
import { findLinks, findSpans, lastBefore, type Span } from "./marks.ts";

/** All of Discord's marks open at once: `**`, `*`, `__`, `_`, `~~`, `||` and two backticks behind a blank. */
export const MAX_CLOSING_UNITS = 13;

/** A line, or a piece of one. */
export interface Line {
  passage: Passage;
  /** The place in the passage's text. */
  from: number;
  to: number;
  /** Stands before it: its indent, and what makes it a quote, an item or a heading. */
  lead: string;
  /** Stands there if a message begins with it: a further line of an item is one of the item. */
  first: string;
  /** Stands before what is cut off from it. */
  again: string;
}

/** A mark may open in one line of it and close in another. */
export class Passage {
  readonly text: string;
  readonly #spans: readonly Span[];
  readonly #links: readonly { from: number; to: number }[];

  constructor(text: string) {
    this.text = text;
    this.#spans = findSpans(text);
    this.#links = findLinks(text);
  }

  /**
   * The last place up to `at` that is not inside of a mark, an escape or a link; `from` if there is none behind it.
   * @param isForced then it is `at`: a whole page does not take it.
   */
  place(at: number, from: number, isForced: boolean): number {
    let place = at;
    const link = lastBefore(this.#links, at);
    if (link && at < link.to) place = link.from;
    if (/(?:^|[^\\])(?:\\\\)*\\$/.test(this.text.slice(Math.max(from, place - 100), place))) place -= 1;
    for (const { mark, from: opened, to } of this.#around(place)) {
      if (place < opened + mark.length) place = opened;
      else if (place > to) place = to;
    }
    return place > from ? place : isForced ? at : from;
  }

  /** Where a message ends that would end at `to`, and what closes it: a mark does not stay that opens at its end. */
  close(from: number, to: number): { at: number; marks: string } {
    for (let at = to; ; ) {
      at -= blanksAfter(this.text.slice(from, at));
      const open = this.#openAt(at);
      const empty = open.find((span) => at <= span.from + span.mark.length);
      if (!empty || at <= from) {
        const marks = open.map(({ mark }) => mark).join("");
        // Three backticks in a row would begin a block of code.
        const isBeside = marks.startsWith("`") && this.text[at - 1] === "`";
        return { at: Math.max(from, at), marks: isBeside ? ` ${marks}` : marks };
      }
      at = empty.from;
    }
  }

  /** Where a message begins that would begin at `from`, and what opens it: a mark that closes there stays away. */
  open(from: number, to: number): { at: number; marks: string } {
    for (let at = from; ; ) {
      const open = this.#openAt(at);
      if (open.length > 0) at += blanksBefore(this.text.slice(at, to));
      const over = open.find((span) => span.to <= at);
      if (!over || at >= to) {
        const opening = open.map(({ mark }) => mark).reverse();
        const marks = opening.join("");
        const isBeside = marks.endsWith("`") && this.text[at] === "`";
        return { at: Math.min(at, to), marks: isBeside ? `${marks} ` : marks };
      }
      at = over.to + over.mark.length;
    }
  }

  /** The innermost first. */
  #openAt(at: number): Span[] {
    return this.#around(at).filter(({ to }) => at <= to);
  }

  /** Those that began before `at` and whose closing mark is not over. */
  #around(at: number): Span[] {
    const around: Span[] = [];
    if (this.#spans.length === 0) return around;
    for (let span = lastBefore(this.#spans, at); span; span = span.parent)
      if (at < span.to + span.mark.length) around.push(span);
    return around;
  }
}

type Code = Extract<Block, { kind: "code" }>;

/**
 * The lines that belong together share a passage: those of a paragraph or a quote, blank ones too, and those of an item.
 * A block of code ends it.
 */
export function toLines(blocks: readonly Block[]): (Line | Code)[] {
  const found: (Line | Code)[] = [];
  let open: OpenPassage | undefined;
  for (const [i, block] of blocks.entries()) {
    const read = block.kind === "line" ? readLine(block.text, i === blocks.length - 1) : undefined;
    if (!read || !open?.takes(read)) {
      found.push(...(open?.lines() ?? []));
      open = read && new OpenPassage(read);
    }
    if (read) open?.add(read);
    else if (block.kind === "code") found.push(block);
  }
  return [...found, ...(open?.lines() ?? [])];
}

interface ReadLine {
  isQuote: boolean;
  /** Blanks, behind the quote's mark if it is one. */
  indent: string;
  /** An item's, a heading's or small print's. */
  mark: string;
  body: string;
}

class OpenPassage {
  readonly #begin: ReadLine;
  readonly #read: ReadLine[] = [];

  constructor(begin: ReadLine) {
    this.#begin = begin;
  }

  takes({ isQuote, indent, mark, body }: ReadLine): boolean {
    if (isQuote !== this.#begin.isQuote || mark !== "") return false;
    return this.#begin.mark === "" || (ITEM.test(this.#begin.mark) && (body === "" || indent !== ""));
  }

  add(line: ReadLine): void {
    this.#read.push(line);
  }

  lines(): Line[] {
    const passage = new Passage(this.#read.map(({ body }) => body).join("\n"));
    const quote = this.#begin.isQuote ? "> " : "";
    const again = this.#begin.mark === "" ? quote : quote + this.#begin.indent + this.#begin.mark;
    let from = 0;
    return this.#read.map(({ indent, mark, body }) => {
      const lead = quote + indent + mark;
      const begin = from;
      from += body.length + 1;
      const first = this.#begin.mark === "" || body === "" ? lead : again;
      return { passage, from: begin, to: begin + body.length, lead, first, again };
    });
  }
}

const MAX_QUOTED_INDENT = 20;
const ITEM = /^(?:[-*]|\d{1,9}\.) /;

function readLine(line: string, isLast: boolean): ReadLine {
  // Discord has no quotes in quotes: three signs quote all that follows. One sign alone does not quote either.
  const quote = /^ *(?:> |>>> )/.exec(line)?.[0] ?? (!isLast && /^ *>$/.test(line) ? line : "");
  const rest = line.slice(quote.length);
  const blanks = blanksBefore(rest);
  // Nothing that is written again on each page may be long.
  const indent = rest.slice(0, quote === "" ? blanks : Math.min(blanks, MAX_QUOTED_INDENT));
  const text = rest.slice(blanks);
  const begin = /^(?:[-*]|\d{1,9}\.|-#|#{1,3}) +(?=\S)/.exec(text)?.[0] ?? "";
  const found = begin === "" ? "" : `${begin.trimEnd()} `;
  // Behind blanks a heading is none.
  const mark = indent === "" || ITEM.test(found) ? found : "";
  return { isQuote: quote !== "", indent, mark, body: mark === "" ? text : text.slice(begin.length) };
}

export function blanksBefore(line: string): number {
  const first = line.charCodeAt(0);
  if (first > 0x20 && first < 0x7f) return 0;
  return line.length - line.trimStart().length;
}

function blanksAfter(line: string): number {
  return line.length - line.trimEnd().length;
}
