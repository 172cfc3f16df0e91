/**
 * A transcript of any length, of which the page holds only parts. Its bytes are divided into blocks: the newest are
 * read as they are written, older ones when somebody looks there, and what is far from the eye is forgotten. So
 * neither opening a thread nor keeping it open costs more the longer it is.
 */
import type { TranscriptReply } from "../../../../shared/agent/api.ts";
import type { ThreadEvent } from "../../../../shared/agent/events.ts";
import { findEvent } from "../../../../shared/agent/find-event.ts";
import { utf8Length } from "./format.ts";
import { type Row, Story } from "./story.ts";

export const BLOCK_BYTES = 64 * 1024;
/** Some 15 MB of memory at most. */
const MAX_LOADED_BLOCKS = 48;
const MAX_LOADS = 2;
const RETRY_MS = 1_000;

export interface Block {
  from: number;
  to: number;
  /** A line begins at `from`; before a block is loaded its bounds may lie inside of lines. */
  isExact: boolean;
  rows: readonly Row[] | undefined;
  /** The newest turn's end in it. */
  turnEndSeq: number;
  firstSeq: number;
  isLoading: boolean;
  /** While it is not loaded: as high as it was, if it has been drawn. */
  heightPx: number | undefined;
}

export type RangeReader = (
  since: number,
  limit: number,
) => Promise<Pick<TranscriptReply, "lines" | "offset">>;

export class Transcript {
  readonly #read: RangeReader;
  readonly #onLoad: () => void;
  readonly #story = new Story();
  #blocks: Block[] = [];
  /** What is in sight now. */
  #wanted: readonly Block[] = [];
  #loadCount = 0;
  #isShown: (event: ThreadEvent) => boolean = () => true;

  /** @param onLoad a block was loaded, or could not be. */
  constructor(read: RangeReader, onLoad: () => void) {
    this.#read = read;
    this.#onLoad = onLoad;
  }

  get blocks(): readonly Block[] {
    return this.#blocks;
  }

  /** Up to here it is divided. */
  get end(): number {
    return this.#blocks.at(-1)?.to ?? 0;
  }

  /** From where news are to be read: before the first ones the byte before them is needed. */
  get newsSince(): number {
    return this.#isEndExact ? this.end : this.end - 1;
  }

  /**
   * Divides what lies before the newest part.
   * @param at where the reading of news begins: at any byte
   */
  begin(at: number): void {
    this.#blocks = [];
    for (let from = 0; from < at; from += BLOCK_BYTES) {
      this.#blocks.push(newBlock(from, Math.min(from + BLOCK_BYTES, at)));
    }
    const [first] = this.#blocks;
    if (first) first.isExact = true;
  }

  /** Leaves out all events of which this is not true, of parts that are loaded later too. */
  show(isShown: (event: ThreadEvent) => boolean): void {
    this.#isShown = isShown;
    for (const { rows = [] } of this.#blocks) this.#sift(rows);
  }

  #sift(rows: readonly Row[]): readonly Row[] {
    for (const row of rows) row.isOut = !this.#isShown(row.event);
    return rows;
  }

  /** News: whole lines that begin where the transcript ended so far. @returns their events */
  append(lines: string, offset: number): ThreadEvent[] {
    const from = this.end;
    const { events, start } = parseLines(lines, { from, offset, isExact: this.#isEndExact });
    this.#moveBound(this.#blocks.at(-1), start);
    if (events.length === 0 && offset === start) return events;
    const rows = this.#sift(this.#story.add(events));
    const last = this.#blocks.at(-1);
    if (last?.rows && offset - last.from <= BLOCK_BYTES) {
      last.rows = [...last.rows, ...rows];
      last.to = offset;
      note(last, events);
    } else {
      const block = { ...newBlock(start, offset), isExact: true, rows };
      note(block, events);
      this.#blocks.push(block);
    }
    this.#setOpenSince();
    return events;
  }

  /**
   * Loads what is looked at, and forgets what is far from it.
   * @param first index of the first block in view @param last and of the last one
   */
  want(first: number, last: number): void {
    this.#wanted = this.#blocks.slice(first, last + 1);
    this.#loadWanted();
    const middle = (first + last) / 2;
    const loaded = this.#blocks
      .map((block, index) => ({ block, distance: Math.abs(index - middle) }))
      .filter(({ block }) => block.rows !== undefined && block !== this.#blocks.at(-1))
      .sort((a, b) => b.distance - a.distance);
    for (const { block } of loaded.slice(0, Math.max(0, loaded.length - MAX_LOADED_BLOCKS))) {
      this.#forget(block);
    }
  }

  showsRunning(toolCallId: string): boolean {
    return this.#story.showsRunning(toolCallId);
  }

  get #isEndExact(): boolean {
    const last = this.#blocks.at(-1);
    return last === undefined || last.rows !== undefined;
  }

  /** Who scrolls fast passes by many blocks: those that are out of sight again are not loaded. */
  #loadWanted(): void {
    for (const block of this.#wanted) {
      if (this.#loadCount >= MAX_LOADS) return;
      if (!block.rows && !block.isLoading && this.#blocks.includes(block)) void this.#load(block);
    }
  }

  async #load(block: Block): Promise<void> {
    block.isLoading = true;
    this.#loadCount += 1;
    try {
      const { from, to, isExact } = block;
      // The byte before tells whether a line begins here.
      const since = isExact ? from : from - 1;
      const { lines, offset } = await this.#read(since, to - since);
      if (this.#blocks.includes(block))
        this.#take(block, parseLines(lines, { from, offset, isExact }), offset);
    } catch {
      // The news are read over the same line: what is wrong is said there. The next look tries again.
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    block.isLoading = false;
    this.#loadCount -= 1;
    this.#onLoad();
    this.#loadWanted();
  }

  #take(block: Block, { events, start }: Parsed, offset: number): void {
    const at = this.#blocks.indexOf(block);
    const end = Math.max(block.to, offset);
    const head: Block[] = [];
    // Its bound was moved since it was asked for: what it begins with was not in the answer.
    if (block.isExact && block.from < start) head.push({ ...newBlock(block.from, start), isExact: true });
    else this.#moveBound(this.#blocks[at - 1], start);
    // A line that its end lies in goes on in the next block, or in a block of its own if that one is loaded.
    for (const next of this.#blocks.slice(at + 1)) {
      if (next.isExact) break;
      Object.assign(next, { from: offset, to: Math.max(next.to, offset), isExact: next.to > offset });
      if (next.isExact) break;
    }
    const isWhole = this.#blocks[at + 1]?.from === offset || offset >= end;
    if (!isWhole) this.#blocks.splice(at + 1, 0, { ...newBlock(offset, end), isExact: true });
    Object.assign(block, {
      from: start,
      to: offset,
      isExact: true,
      rows: this.#sift(this.#story.add(events)),
    });
    note(block, events);
    this.#blocks.splice(at, 0, ...head);
    this.#blocks = this.#blocks.filter(({ from, to }) => from < to);
    this.#setOpenSince();
  }

  /** The line that goes on behind `block` ends at `start`. */
  #moveBound(block: Block | undefined, start: number): void {
    if (block && !block.rows) block.to = start;
  }

  #forget(block: Block): void {
    this.#story.forget(block.rows ?? []);
    block.heightPx = (block.rows ?? []).reduce(
      (sum, row) => sum + (row.isHidden || row.isOut ? 0 : (row.heightPx ?? 0)),
      0,
    );
    block.rows = undefined;
    this.#setOpenSince();
  }

  /** A call without a result runs if all that came after it is here, and no turn's end is among it. */
  #setOpenSince(): void {
    let since = Number.POSITIVE_INFINITY;
    for (const block of [...this.#blocks].reverse()) {
      if (!block.rows) break;
      if (block.turnEndSeq > 0) {
        since = block.turnEndSeq;
        break;
      }
      since = block.firstSeq;
    }
    this.#story.setOpenSince(since);
  }
}

function newBlock(from: number, to: number): Block {
  return {
    from,
    to,
    isExact: false,
    rows: undefined,
    turnEndSeq: 0,
    firstSeq: Number.POSITIVE_INFINITY,
    isLoading: false,
    heightPx: undefined,
  };
}

function note(block: Block, events: readonly ThreadEvent[]): void {
  for (const event of events) {
    block.firstSeq = Math.min(block.firstSeq, event.seq);
    if (event.type === "turn_end") block.turnEndSeq = Math.max(block.turnEndSeq, event.seq);
  }
}

interface Parsed {
  events: ThreadEvent[];
  /** Where the first of them begins. */
  start: number;
}

/** @param isExact a line begins at `from`; if not, `lines` begin with the end of the one before. */
function parseLines(
  lines: string,
  { from, offset, isExact }: { from: number; offset: number; isExact: boolean },
): Parsed {
  const whole = isExact ? lines : lines.slice(lines.indexOf("\n") + 1);
  const start = isExact ? from : offset - utf8Length(whole);
  const events: ThreadEvent[] = [];
  for (const line of whole.split("\n")) {
    const event = findEvent(line);
    if (event) events.push(event);
  }
  return { events, start };
}
