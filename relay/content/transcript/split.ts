/** A text of an agent → Discord messages. Pure. */
import { type Block, toBlocks } from "./blocks.ts";
import { CarriedLine } from "./carry.ts";

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
const FENCE = "```";

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
  let sealed = 0;
  for (const [i, block] of blocks.entries()) {
    // What is appended may change the open block, and with it the page on which that begins.
    if (i === open) sealed = layout.pages.length;
    layout.add(block);
  }
  return { pages: layout.finish(), sealed };
}

class Layout {
  readonly pages: string[] = [];
  readonly #max: number;
  /** Of the page that is being filled. */
  #lines: string[] = [];
  #units = 0;
  /** The blanks before its first line, which Discord would trim: its other lines lose as many, so that lists stay. */
  #indent = 0;

  constructor(max: number) {
    this.#max = max;
  }

  add(block: Block): void {
    if (block.kind === "line") this.#addText(block.text);
    else this.#addCode(block.info, block.lines);
  }

  finish(): string[] {
    this.#endPage(this.#lines.length);
    return this.pages;
  }

  #addText(line: string): void {
    if (line.length > this.#max) {
      this.#addLongText(line);
      return;
    }
    if (this.#dedent(line).length > this.#room()) this.#endPage(this.#breakAt());
    // What stays from the page before may leave no room yet.
    if (this.#dedent(line).length > this.#room()) this.#endPage(this.#lines.length);
    this.#pushText(line);
  }

  /** A whole page would not take it: it is cut, at a word's end if there is one. */
  #addLongText(line: string): void {
    const carried = new CarriedLine(line);
    for (let done = 0; ; ) {
      const lead = done === 0 ? "" : carried.opening(done);
      const rest = lead + line.slice(done);
      if (this.#dedent(rest).length <= this.#room()) {
        this.#pushText(rest);
        return;
      }
      const isLong = rest.length > this.#max;
      const room = this.#room() - carried.reserved;
      const found = isLong ? wordEnd(rest, room, this.#max * WORTH_A_PIECE) : 0;
      const at = found > lead.length ? carried.placeNear(done + found - lead.length) : done;
      if (at > done) this.#pushText((lead + line.slice(done, at)).trimEnd() + carried.closing(at));
      this.#endPage(at > done ? this.#lines.length : this.#breakAt());
      if (at > done) done = at + blanksBefore(line.slice(at));
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

  #pushText(line: string): void {
    if (this.#lines.length === 0) this.#indent = blanksBefore(line);
    this.#push(this.#dedent(line));
  }

  #dedent(line: string): string {
    const indent = this.#lines.length === 0 ? blanksBefore(line) : this.#indent;
    return line.slice(Math.min(indent, blanksBefore(line)));
  }

  #push(line: string): void {
    if (this.#lines.length === 0 && line.trim() === "") return; // Discord trims blank lines at a message's start
    this.#units += line.length + (this.#lines.length > 0 ? 1 : 0);
    this.#lines.push(line);
  }

  /** How many lines stay on a page that is full: up to its last blank line, if that is far enough down. */
  #breakAt(): number {
    let units = 0;
    let at = this.#lines.length;
    for (const [i, line] of this.#lines.entries()) {
      if (line.trim() === "" && units > this.#max * WORTH_A_BREAK) at = i;
      units += line.length + 1;
    }
    return at;
  }

  #endPage(keep: number): void {
    const page = this.#lines.slice(0, keep).join("\n").trim();
    if (page !== "") this.pages.push(page);
    const rest = this.#lines.slice(keep);
    this.#lines = [];
    this.#units = 0;
    this.#indent = 0;
    for (const line of rest) {
      if (line.startsWith(FENCE)) this.#push(line);
      else this.#pushText(line);
    }
  }
}

/**
 * Where to cut `text` so that at most `max` units stay: behind a word; 0 if no word ends there.
 * @param least a word is not begun in a rest of a page that is smaller than this.
 */
function wordEnd(text: string, max: number, least: number): number {
  const at = text.slice(0, Math.max(0, max) + 1).search(/\s\S*$/);
  if (at > blanksBefore(text)) return at;
  return max > least ? characterEnd(text, max) : 0;
}

function blanksBefore(line: string): number {
  const first = line.charCodeAt(0);
  if (first > 0x20 && first < 0x7f) return 0;
  return line.length - line.trimStart().length;
}

function characterEnd(text: string, max: number): number {
  const at = Math.max(1, Math.min(max, text.length));
  const isPair = at < text.length && /[\uD800-\uDBFF]/.test(text[at - 1] ?? "");
  return isPair ? Math.max(1, at - 1) : at;
}
