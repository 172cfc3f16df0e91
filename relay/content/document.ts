/** A thread's log as the pages that Discord shows: the state machine behind one streamed thread. Pure. */
import { type Chunk, splitChunk, splitChunkAt } from "../../shared/chunk.ts";
import { type Candidate, Checkpoints, type LogEvent } from "./checkpoints.ts";
import { isHighSurrogate } from "./emulator.ts";
import type { Page } from "./filling.ts";
import { Frames } from "./frames.ts";
import { decodeMark, encodeMark, type Mark } from "./mark.ts";
import { type OpenRows, Pager } from "./pager.ts";
import { fitScreen, gapNotice, openGapNotice, wrapRows } from "./pages.ts";
import { findPlainEnd } from "./plain-lines.ts";
import { type Line, Screen } from "./screen.ts";
import { turns } from "./turns.ts";

export interface DocumentOptions {
  readonly cols: number;
  readonly rows: number;
  /** Where in the log the first byte stands; 0 unless older bytes are gone. */
  readonly offset?: number;
  /** Show colours in Discord's `ansi` blocks. */
  readonly isAnsi?: boolean;
  /** How many sealed pages may wait for delivery before older ones become a gap. */
  readonly maxBacklogPages?: number;
}

/** One message as it should be now. */
export interface PageView {
  /**
   * `log`: a part of the terminal's text. `gap`: says what is missing here. `screen`: the picture of a full-screen
   * program, after the last page of the log.
   */
  readonly kind: "log" | "gap" | "screen";
  /** Counted over the whole thread from 0; for a `screen` counted apart: how many there were before it. */
  readonly index: number;
  /** Never empty and at most 1,900 UTF-16 units. */
  readonly text: string;
  /** It will not change any more. A flood's gap grows until the page after it has begun. */
  readonly isSealed: boolean;
}

/** Where a forced page begins: below the row where a person types, or with the screen's first row. */
export type BreakPlace = "cursor" | "screen";

/** So much plain text is taken at once: most of it never reaches the emulator. */
const PLAIN_SLICE_UNITS = 65_536;
/** So much of anything else: at its worst this takes some milliseconds. */
const SLICE_UNITS = 1024;

/**
 * Fed with a thread's log from the start (or from a mark), it always knows the pages that are not delivered yet.
 * Page numbers and texts follow from the bytes, the resizes, the breaks and what was begun; never from how the
 * text was cut or when it came. Memory is bounded by the screen and `maxBacklogPages`.
 */
export class Document {
  readonly #isAnsi: boolean;
  readonly #screen: Screen;
  readonly #pager: Pager;
  readonly #frames: Frames;
  readonly #checkpoints: Checkpoints;
  /** Events that the mark had and the log has not reached again. */
  readonly #toReplay: LogEvent[];
  #offset: number;
  #confirmed: number;

  constructor(options: DocumentOptions, from?: Mark) {
    const state = from === undefined ? undefined : decodeMark(from);
    this.#isAnsi = options.isAnsi ?? false;
    this.#offset = from?.offset ?? options.offset ?? 0;
    this.#toReplay = [...(state?.events ?? [])];
    this.#pager = new Pager(
      {
        isAnsi: this.#isAnsi,
        ...(options.maxBacklogPages === undefined ? {} : { maxBacklogPages: options.maxBacklogPages }),
        onCollapse: (index, count, size) => this.#checkpoints.collapse(index, count, size),
      },
      state?.pager,
    );
    const colours = this.#isAnsi;
    const frames = new Frames(this.#pager, colours, state?.frames);
    this.#frames = frames;
    const listener = {
      onSettled: frames.push.bind(frames),
      onPlainRows: frames.pushPlainRows.bind(frames),
      onErased: frames.erase.bind(frames),
      onScrollbackErased: frames.eraseScrollback.bind(frames),
      onMovedUp: frames.moveUp.bind(frames),
    };
    this.#screen =
      state === undefined
        ? new Screen({ cols: options.cols, rows: options.rows, colours }, listener)
        : Screen.restore(state.screen, { colours }, listener);
    this.#confirmed = state?.pager.gap?.index ?? this.#pager.index;
    this.#checkpoints = new Checkpoints(this.#candidate());
    this.#replayHere();
  }

  /** The state that `mark` holds. The size and what waits come from the mark; feed the log from `mark.offset` on. */
  static restore(mark: Mark, options: Omit<DocumentOptions, "cols" | "rows" | "offset"> = {}): Document {
    return new Document({ cols: 80, rows: 24, ...options }, mark);
  }

  /** Where in the log the next byte is expected. */
  get offset(): number {
    return this.#offset;
  }

  /** The screen itself: title, bells, size, rows, the full-screen program. */
  get screen(): Omit<Screen, "write" | "takeSettled" | "resize"> {
    return this.#screen;
  }

  /**
   * Feeds the next piece of the log. Whole characters; an escape sequence may be cut. Blocks for about 0.1 s per MB:
   * cut what is longer than 64 KiB, or use {@link feedLong}.
   */
  feed(chunk: Chunk): void {
    this.#write(chunk);
    this.#checkpoints.add(this.#candidate());
  }

  /**
   * {@link feed} for any length: lets the event loop run every few milliseconds. One call at a time. Once `signal`
   * fires it takes no more of the text: {@link offset} says where it stopped.
   */
  async feedLong(chunk: Chunk, signal?: AbortSignal): Promise<void> {
    for (let left = chunk; left.text !== ""; ) {
      if (turns.isOver) await turns.next();
      if (signal?.aborted) return;
      const [slice, rest] = splitChunk(left, this.#lengthOfSlice(left.text));
      this.#write(slice);
      left = rest;
    }
    if (turns.isOver) await turns.next();
    if (signal?.aborted) return;
    this.#checkpoints.add(this.#candidate());
  }

  /** As much as takes no longer than the event loop may stand still. */
  #lengthOfSlice(text: string): number {
    let end = Math.min(text.length, SLICE_UNITS);
    if (this.#screen.takesPlainText) {
      end = Math.max(end, findPlainEnd(text, 0, Math.min(text.length, PLAIN_SLICE_UNITS)));
    }
    return end < text.length && isHighSurrogate(text.charCodeAt(end - 1)) ? end + 1 : end;
  }

  #write(chunk: Chunk): void {
    let rest = chunk;
    for (let event = this.#toReplay[0]; event && event.offset < chunk.end; event = this.#toReplay[0]) {
      const [before, after] = splitChunkAt(rest, event.offset);
      this.#screen.write(before.text);
      this.#offset = before.end;
      rest = after;
      this.#replayHere();
    }
    this.#screen.write(rest.text);
    this.#offset = chunk.end;
    this.#replayHere();
  }

  /** The terminal has another size from here on. */
  resize(cols: number, rows: number): void {
    this.#happen({ offset: this.#offset, kind: "resize", cols, rows });
  }

  /**
   * What comes next goes to a new page. `cursor`: rows up to the one where the cursor stands stay where they are
   * (a person typed: their echo stays above). `screen`: the whole screen moves on, so that the page before can be
   * sealed at once (it grows old, or it stands above a full-screen program's picture).
   */
  breakPage(place: BreakPlace = "cursor"): void {
    this.#happen({ offset: this.#offset, kind: place === "cursor" ? "break" : "break-screen" });
  }

  /**
   * The log's bytes from here to `offset` were gone before they could be read. A gap stands at this place: what the
   * screen showed is settled above it, and the screen begins anew below it.
   */
  skipTo(offset: number): void {
    if (offset > this.#offset) this.#happen({ offset: this.#offset, kind: "lost", to: offset });
    this.#replayHere();
  }

  /** As {@link breakPage} below the cursor, once the log has come to `offset`. */
  breakPageAt(offset: number): void {
    this.#toReplay.push({ offset, kind: "break" });
    this.#toReplay.sort((a, b) => a.offset - b.offset);
    this.#replayHere();
  }

  /** The messages from the first one not confirmed on, in order. Live ones may shrink in number again. */
  pages(): PageView[] {
    const rows = this.#openRows();
    const { sealed, live } = this.#pager.pages(rows);
    const views: PageView[] = [];
    for (const page of sealed) {
      if (page.index < this.#confirmed) continue;
      views.push(page.isGap ? this.#gap(page, rows.live) : this.#view(page, true));
    }
    for (const page of live) views.push(this.#view(page, false));
    const alternate = this.#screen.alternate;
    if (alternate !== undefined) {
      const text = wrapRows(fitScreen(alternate.lines, alternate.cursor.y, this.#isAnsi), this.#isAnsi);
      views.push({ kind: "screen", index: this.#screen.alternates - 1, text, isSealed: false });
    }
    return views;
  }

  /**
   * How many pages the log has, delivered ones included. Messages of pages beyond (the program erased rows, or
   * after a restart a flood left fewer pages) are to be deleted, or to show `BLANK_PAGE`.
   */
  get pageCount(): number {
    return (this.#pager.pages(this.#openRows()).live.at(-1)?.index ?? this.#pager.index - 1) + 1;
  }

  /** See {@link Pager.squeeze}. @returns whether the page was broken for it. */
  squeeze(room: number, reserved: number): boolean {
    const isCrowded = this.#pager.isCrowded(room, this.#openRows());
    if (isCrowded) this.breakPage("screen");
    this.#pager.squeeze(room, reserved, this.#openRows());
    return isCrowded;
  }

  /** Call before sending: pages below `index` have a message, or will. A flood leaves them, and freezes a gap. */
  begin(index: number): void {
    this.#pager.begin(index);
  }

  /** Pages below `index`, all sealed, are delivered as they are: they are not listed any more. */
  confirm(index: number): void {
    this.#confirmed = Math.max(this.#confirmed, Math.min(index, this.#pager.index));
    this.#pager.confirm(this.#confirmed);
  }

  /**
   * From here a new document goes on with the same pages. At the latest point where everything before is
   * confirmed; undefined when it does not fit `maxBytes` (the screen is too full): keep the older mark.
   */
  mark(maxBytes = 3072): Mark | undefined {
    const candidate = this.#checkpoints.newest(this.#confirmed);
    return candidate === undefined ? undefined : encodeMark(candidate, this.#toReplay, maxBytes);
  }

  #openRows(): OpenRows {
    const live = this.#screen.live();
    return { held: this.#frames.rows(live), live };
  }

  #view(page: { index: number; rows: readonly string[] }, isSealed: boolean): PageView {
    return { kind: "log", index: page.index, text: wrapRows(page.rows, this.#isAnsi), isSealed };
  }

  #gap(page: Page, newest: readonly Line[]): PageView {
    const isOpen = this.#pager.isOpen(page);
    const isFlood = isOpen && page.size.lines > 0;
    const text = isFlood ? openGapNotice(page.size, newest, this.#isAnsi) : gapNotice(page.size);
    return { kind: "gap", index: page.index, text, isSealed: !isOpen };
  }

  #candidate(): Candidate | undefined {
    const screen = this.#screen.snapshot();
    return screen === undefined
      ? undefined
      : {
          offset: this.#offset,
          screen,
          pager: this.#pager.snapshot(),
          frames: this.#frames.snapshot(),
          events: [],
        };
  }

  #replayHere(): void {
    while (this.#toReplay[0] !== undefined && this.#toReplay[0].offset <= this.#offset) {
      this.#happen(this.#toReplay.shift() as LogEvent);
    }
  }

  /** The first row that the next line of output can take. */
  #belowCursor(): number {
    const { row, isBlank } = this.#screen.cursorRow;
    return this.#pager.settled + row + (isBlank ? 0 : 1);
  }

  #happen(event: LogEvent): void {
    // Read again after a restart, these bytes are part of a longer piece that is gone.
    if (event.kind === "lost" && event.to <= this.#offset) return;
    this.#checkpoints.record(event);
    switch (event.kind) {
      case "resize":
        this.#screen.resize(event.cols, event.rows);
        this.#pager.limitBreaks(this.#belowCursor());
        break;
      case "break":
        this.#frames.flush(this.#screen.live());
        this.#pager.breakBefore(this.#belowCursor());
        break;
      case "break-screen":
        this.#frames.separate(this.#screen.live());
        this.#pager.breakBefore(this.#pager.settled);
        break;
      case "lost":
        this.#screen.cut();
        this.#frames.flush([]);
        this.#pager.lose(event.to - this.#offset);
        this.#offset = event.to;
        break;
      default:
        throw new Error(`unknown event ${JSON.stringify(event satisfies never)}`);
    }
  }
}
