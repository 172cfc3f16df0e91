/**
 * The events of all threads for whoever reads them. A reader gets the next ones when it has taken those before, so
 * what waits for it is bounded; one that takes too long is cut off, and goes on where it was when it comes again.
 */
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { EventRow } from "../store/events.ts";
import type { Store } from "../store/store.ts";
import { type Frame, framesOf, idFrame, resetFrame, type Told } from "./frames.ts";
import { Pages, within } from "./pages.ts";
import { Tail } from "./tail.ts";
import { type Turn, Turns } from "./turns.ts";

/** What is given to a reader at once, and one event more. */
const SLICE_BYTES = 64 * 1024;
/** How many new rows are read in one go: some milliseconds' work. */
const SLICE_ROWS = 500;
const PAGES_BYTES = 8 * 1024 * 1024;
const TAIL_BYTES = 2 * 1024 * 1024;
/** What the first reader after a while finds made: those who all come again after a restart have missed no more. */
const TAIL_ROWS = 2_000;
/** How often readers are looked at: who hears nothing gets a sign of life, who takes nothing is cut off. */
const LOOK_MS = 15_000;
const MAX_READERS = 500;

export interface EventFilter {
  threads?: ReadonlySet<string> | undefined;
  types?: ReadonlySet<string> | undefined;
  tags?: ReadonlySet<string> | undefined;
}

/** Where a reader's events go. */
export interface Sink {
  /** @returns false if no more is wanted before {@link Reader.onDrain} */
  write: (bytes: Buffer) => boolean;
  /** The reader is too slow, or the sidecar ends. */
  end: () => void;
}

export interface HubOptions extends Told {
  store: Store;
  tagsOf: (threadId: ThreadId) => readonly string[];
  lookMs?: number;
  maxReaders?: number;
  log: Log;
}

/** One who reads. */
interface Reader {
  readonly filter: EventFilter;
  readonly sink: Sink;
  /** It has all that it wants up to this event. */
  cursor: number;
  /** It has not taken what it was given; `isLate` since the look before. */
  isFull: boolean;
  isLate: boolean;
  /** It was given nothing since the look before. */
  isQuiet: boolean;
}

export class EventHub {
  readonly #options: HubOptions;
  readonly #readers = new Set<Reader>();
  readonly #tags = new Map<string, ReadonlySet<string>>();
  /** There while somebody reads. */
  #tail: Tail | undefined;
  /** What those read who are further behind. */
  readonly #pages: Pages;
  /** Who is to be given something, in turn. */
  readonly #due = new Set<Reader>();
  readonly #turns: Turns;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Readers that were cut off because they took too long. */
  dropped = 0;

  constructor(options: HubOptions) {
    this.#options = options;
    const { store } = options;
    this.#pages = new Pages({
      list: (afterId, limit) => store.events.list(afterId, limit),
      newest: () => store.events.newest(),
      framesOf: (rows) => framesOf(rows, options),
      sliceBytes: SLICE_BYTES,
      maxBytes: PAGES_BYTES,
    });
    this.#turns = new Turns({
      take: (turn) => this.#take(turn),
      onError: (error) => options.log.error({ err: error }, "could not read events; trying again"),
    });
    store.events.listen((type) => this.#notice(type));
  }

  get readers(): number {
    return this.#readers.size;
  }

  /**
   * Gives the events after `since`, and those to come, to `sink`.
   * @param since 0: all that are kept; undefined: those to come.
   * @returns what to call when the sink has taken all, and when the reader has gone.
   * @throws AppError `rate_limited` if too many read
   */
  add(
    { since, filter }: { since?: number | undefined; filter: EventFilter },
    sink: Sink,
  ): { onDrain: () => void; onGone: () => void } {
    const { store, maxReaders = MAX_READERS, lookMs = LOOK_MS } = this.#options;
    if (this.#isClosed) throw new AppError("unavailable", "The sidecar is about to end.");
    if (this.#readers.size >= maxReaders) {
      throw new AppError("rate_limited", `${maxReaders} readers of events are connected; that is all.`);
    }
    const [floor, newest] = [store.events.floor(), store.events.newest()];
    const isKnown = since === undefined || since === 0 || (since >= floor && since <= newest);
    const cursor = since === undefined ? newest : isKnown ? Math.max(since, floor) : floor;
    const reader: Reader = { filter, sink, cursor, isFull: false, isLate: false, isQuiet: false };
    this.#readers.add(reader);
    this.#timer ??= setInterval(() => this.#look(), lookMs).unref();
    this.#give(reader, isKnown ? idFrame(cursor) : resetFrame(cursor));
    const goOn = () => {
      if (this.#readers.has(reader)) this.#due.add(reader);
      this.#turns.plan();
    };
    goOn();
    return {
      onDrain: () => {
        reader.isFull = false;
        reader.isLate = false;
        goOn();
      },
      onGone: () => this.#remove(reader),
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#turns.close();
    for (const reader of [...this.#readers]) this.#end(reader);
  }

  /** There is something new, in a transaction that has not ended. */
  #notice(type: string): void {
    // Another thread may come to have the files of one that is removed.
    if (type === "thread_removed") this.#pages.clear();
    if (this.#readers.size === 0) this.#forget();
    else this.#turns.notice();
  }

  /** Gives something to those who wait, one after the other, until the turn is over. @returns what is left to do */
  #take({ endMs, isNews }: Turn): Pick<Turn, "isNews"> | undefined {
    if (this.#readers.size === 0) {
      this.#forget(); // what is new would be missing
      return undefined;
    }
    const tail = this.#tail ?? new Tail(this.#options.store.events.idBefore(TAIL_ROWS), TAIL_BYTES);
    const isNewsLeft = isNews || !this.#tail ? this.#load(tail) : false;
    this.#tail = tail;
    // Who wants more comes again after all others.
    for (const reader of this.#due) {
      this.#due.delete(reader);
      if (!reader.isFull && this.#serve(reader, tail)) this.#due.add(reader);
      if (performance.now() >= endMs) break;
    }
    return this.#due.size > 0 || isNewsLeft ? { isNews: isNewsLeft } : undefined;
  }

  /** Reads what is new, for all. @returns whether there is more */
  #load(tail: Tail): boolean {
    const { store } = this.#options;
    const found = store.events.list(tail.end, SLICE_ROWS);
    const rows = within(found, TAIL_BYTES / 2);
    for (const { type, threadId } of rows) if (type === "thread_created") this.#tags.delete(threadId);
    tail.push(framesOf(rows, this.#options));
    for (const reader of this.#readers) this.#due.add(reader);
    return rows.length < found.length || found.length === SLICE_ROWS;
  }

  /** Gives it the next slice. @returns whether it wants more at once */
  #serve(reader: Reader, tail: Tail): boolean {
    if (reader.cursor >= tail.end) return false;
    if (tail.holds(reader.cursor)) return this.#pass(reader, tail.after(reader.cursor), tail.end);
    const floor = this.#options.store.events.floor();
    if (reader.cursor < floor) {
      reader.cursor = floor; // what it was about to read went meanwhile
      this.#give(reader, resetFrame(floor));
      return true;
    }
    const { frames, end } = this.#pages.next(reader.cursor, (row) => this.#isWanted(reader.filter, row));
    this.#pass(reader, frames, end);
    return !reader.isFull;
  }

  /**
   * Gives the next of these, as much as one slice holds.
   * @param end it has all up to here if all of them were given
   * @returns whether some are left, and are wanted
   */
  #pass(reader: Reader, frames: Iterable<Frame>, end: number): boolean {
    const slice: Buffer[] = [];
    let bytes = 0;
    for (const frame of frames) {
      if (bytes >= SLICE_BYTES) {
        this.#give(reader, Buffer.concat(slice));
        return !reader.isFull;
      }
      reader.cursor = frame.id;
      if (!this.#isWanted(reader.filter, frame)) continue;
      slice.push(frame.bytes);
      bytes += frame.bytes.length;
    }
    reader.cursor = end;
    const [only] = slice;
    if (only) this.#give(reader, slice.length === 1 ? only : Buffer.concat(slice));
    return false;
  }

  #give(reader: Reader, bytes: Buffer): void {
    reader.isQuiet = false;
    reader.isFull = !reader.sink.write(bytes);
  }

  #isWanted(
    { threads, types, tags }: EventFilter,
    { threadId, type }: Pick<EventRow, "threadId" | "type">,
  ): boolean {
    if (threads && !threads.has(threadId)) return false;
    if (types && !types.has(type)) return false;
    if (!tags) return true;
    const known = this.#tags.get(threadId) ?? new Set(this.#options.tagsOf(threadId));
    this.#tags.set(threadId, known);
    return [...tags].some((tag) => known.has(tag));
  }

  #look(): void {
    for (const reader of [...this.#readers]) {
      if (reader.isLate) {
        this.dropped += 1;
        this.#end(reader);
      } else if (reader.isFull) reader.isLate = true;
      else if (reader.isQuiet) this.#give(reader, idFrame(reader.cursor));
      reader.isQuiet = !reader.isFull;
    }
    if ([...this.#readers].every(({ cursor }) => this.#tail?.holds(cursor))) this.#pages.clear();
  }

  #end(reader: Reader): void {
    this.#remove(reader);
    reader.sink.end();
  }

  #remove(reader: Reader): void {
    this.#readers.delete(reader);
    this.#due.delete(reader);
    if (this.#readers.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (this.#isClosed) this.#forget();
  }

  #forget(): void {
    this.#tail = undefined;
    this.#pages.clear();
    this.#tags.clear();
  }
}
