/** A text of an agent → Discord messages. Pure. */
import { toBlocks } from "./blocks.ts";
import { blanksBefore, type Line, MAX_CLOSING_UNITS, toLines } from "./carry.ts";

/** Discord takes 2,000 code points; a UTF-16 unit is at most one. */
export const MAX_MESSAGE_UNITS = 1_950;
const CLOSE = "\n```";
/** Stands in a code block without text: Discord shows no empty one. */
const BLANK = "\u200b";
/** A code block begins a page of its own rather than being cut, once this much of the page is used. */
const WORTH_A_PAGE = 1 / 3;
/** A page ends at a blank line rather than at its very end, if so much of it stays. */
const WORTH_A_BREAK = 1 / 2;
/** A word that is longer than a page is not begun in a rest that is smaller than this. */
const WORTH_A_PIECE = 1 / 10;

export interface SplitText {
  /** Each valid by itself, none empty, none with blanks at its ends that Discord would trim. */
  pages: string[];
  /** The first so many pages stay as they are, whatever is appended to the text. */
  sealed: number;
}

/**
 * Fences are closed at a page's end and opened again on the next; words are cut only if one alone is longer than a
 * page.
 * @param max UTF-16 units of a page
 */
export function splitMarkdown(text: string, max = MAX_MESSAGE_UNITS): SplitText {
  const layout = new Layout(max);
  const { blocks, open } = toBlocks(text);
  const lines = toLines(blocks);
  let sealed = 0;
  for (const [i, line] of lines.entries()) {
    // What is appended may change the open line and make it one of the passage before it.
    if (isBegin(lines, i) && i < open) sealed = layout.pages.length;
    layout.add(line);
  }
  return { pages: layout.finish(), sealed };
}

type Part = ReturnType<typeof toLines>[number];

function isBegin(lines: readonly Part[], i: number): boolean {
  const [before, line] = [lines[i - 1], lines[i]];
  return !before || !line || !("passage" in before && "passage" in line && before.passage === line.passage);
}

/** As it stands on a page: `line` if it is none of code. */
interface Shown {
  text: string;
  line: Line | undefined;
}

class Layout {
  readonly pages: string[] = [];
  readonly #max: number;
  /** The lines of the page that is being filled. */
  #lines: Shown[] = [];
  #units = 0;
  /** The blanks before its first line, which Discord would trim: its other lines lose as many, so that lists stay. */
  #indent = 0;

  constructor(max: number) {
    this.#max = max;
  }

  add(part: Part): void {
    if ("passage" in part) this.#addText(part);
    else this.#addCode(part.info, part.lines);
  }

  finish(): string[] {
    this.#endPage(this.#lines.length);
    return this.pages;
  }

  #addText(line: Line): void {
    if (this.#fits(line)) {
      this.#pushText(line);
      return;
    }
    if (unitsAlone(line) > this.#max) {
      this.#addLongText(line);
      return;
    }
    this.#endPage(this.#breakAt());
    // What stays from the page before may leave no room yet.
    if (!this.#fits(line)) this.#endPage(this.#lines.length);
    this.#pushText(line);
  }

  /** A whole page would not take it: it is cut, at a word's end if there is one. */
  #addLongText(line: Line): void {
    const { passage, to, again } = line;
    for (let rest = line; ; ) {
      if (this.#fits(rest)) {
        this.#pushText(rest);
        return;
      }
      const { from } = rest;
      const before = this.#show({ ...rest, to: from }).length;
      const room = this.#room() - before - MAX_CLOSING_UNITS;
      const isLong = unitsAlone(rest) > this.#max;
      const found = isLong ? wordEnd(passage.text, from, to, room, this.#max * WORTH_A_PIECE) : from;
      const at = found > from ? passage.place(found, from, this.#lines.length === 0) : from;
      if (at > from) this.#pushText({ ...rest, to: at });
      this.#endPage(at > from ? this.#lines.length : this.#breakAt());
      const next = at + (at > from ? blanksBefore(passage.text.slice(at, to)) : 0);
      if (at > from) rest = { ...line, from: next, lead: again, first: again };
    }
  }

  #addCode(info: string, lines: readonly string[]): void {
    const open = `\`\`\`${info}`;
    const frame = open.length + CLOSE.length + BLANK.length + 1;
    const whole = lines.reduce((sum, line) => sum + line.length + 1, frame);
    const isTooLong = whole > this.#room();
    if (isTooLong && (whole <= this.#max || this.#units > this.#max * WORTH_A_PAGE)) {
      this.#endPage(this.#lines.length);
    }
    let code: string[] = [];
    let units = frame;
    const close = () => {
      if (code.every((line) => line.trim() === "")) code.push(BLANK);
      this.#push([open, ...code].join("\n") + CLOSE);
      code = [];
      units = frame;
    };
    for (const line of lines) {
      for (let rest = line; ; ) {
        const room = this.#room() - units - 1;
        if (rest.length <= room) {
          code.push(rest);
          units += rest.length + 1;
          break;
        }
        if (code.length === 0 && this.#lines.length === 0) {
          const at = characterEnd(rest, room);
          code.push(rest.slice(0, at));
          rest = rest.slice(at);
        }
        if (code.length > 0) close();
        this.#endPage(this.#lines.length);
      }
    }
    close();
  }

  /** Units that one more line may have. */
  #room(): number {
    return this.#max - this.#units - (this.#lines.length > 0 ? 1 : 0);
  }

  /** If the page ended behind it, what is open there could be closed. */
  #fits(line: Line): boolean {
    return this.#show(line).length + unitsOf(line.passage.close(line.from, line.to)) <= this.#room();
  }

  #show(line: Line): string {
    const { passage, from, to, lead, first } = line;
    if (this.#lines.length > 0) return this.#dedent(lead) + passage.text.slice(from, to);
    const { at, marks } = passage.open(from, to);
    return this.#dedent(first) + marks + passage.text.slice(at, to);
  }

  #pushText(line: Line): void {
    // Discord trims blank lines at a message's start.
    if (this.#lines.length === 0 && isBlank(line)) return;
    const text = this.#show(line);
    if (this.#lines.length === 0) this.#indent = blanksBefore(line.first);
    this.#push(text, line);
  }

  #dedent(lead: string): string {
    const indent = this.#lines.length === 0 ? lead.length : this.#indent;
    return lead.slice(Math.min(indent, blanksBefore(lead)));
  }

  #push(text: string, line?: Line): void {
    this.#units += text.length + (this.#lines.length > 0 ? 1 : 0);
    this.#lines.push({ text, line });
  }

  /** How many lines stay on a page that is full: up to its last blank line, if that is far enough down. */
  #breakAt(): number {
    let units = 0;
    let at = this.#lines.length;
    for (const [i, { text }] of this.#lines.entries()) {
      if (text.trim() === "" && units > this.#max * WORTH_A_BREAK) at = i;
      units += text.length + 1;
    }
    return at;
  }

  #endPage(keep: number): void {
    const page = closed(this.#lines.slice(0, keep));
    if (page !== "") this.pages.push(page);
    const rest = this.#lines.slice(keep);
    this.#lines = [];
    this.#units = 0;
    this.#indent = 0;
    for (const { text, line } of rest) {
      if (line) this.#pushText(line);
      else this.#push(text);
    }
  }
}

/** A message of these lines. What is open at its end is closed; a mark that opens there, and blank lines, stay away. */
function closed(lines: Shown[]): string {
  for (let end = lines.length; end > 0; end--) {
    const { text, line } = lines[end - 1] as Shown;
    const above = lines.slice(0, end - 1).map(({ text }) => text);
    if (!line) return [...above, text].join("\n").trim();
    const { at, marks } = line.passage.close(line.from, line.to);
    const isEmpty = at <= line.from || text.length <= line.to - at;
    if (!isEmpty) return [...above, text.slice(0, text.length - (line.to - at)) + marks].join("\n").trim();
  }
  return "";
}

/** Nothing of it would be seen at a page's beginning. */
function isBlank({ passage, from, to }: Line): boolean {
  const { at } = passage.open(from, to);
  return passage.text.slice(at, to).trim() === "";
}

/** The most that it takes on a page of its own. */
function unitsAlone({ passage, from, to, lead, first }: Line): number {
  const opened = unitsOf(passage.open(from, to));
  return Math.max(lead.length, first.length + opened) + to - from + unitsOf(passage.close(from, to));
}

function unitsOf({ marks }: { marks: string }): number {
  return marks.length;
}

/**
 * Where to cut `text` between `from` and `to` so that at most `max` units stay: behind a word; `from` if none ends there.
 * @param least a word is not begun in a rest of a page that is smaller than this.
 */
function wordEnd(text: string, from: number, to: number, max: number, least: number): number {
  const near = text.slice(from, Math.min(to, from + Math.max(0, max) + 1));
  const at = near.search(/\s\S*$/);
  if (at > blanksBefore(near)) return from + at;
  return max > least ? from + characterEnd(near, max) : from;
}

function characterEnd(text: string, max: number): number {
  const at = Math.max(1, Math.min(max, text.length));
  const isPair = at < text.length && /[\uD800-\uDBFF]/.test(text[at - 1] ?? "");
  return isPair ? Math.max(1, at - 1) : at;
}
