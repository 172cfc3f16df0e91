/** Older events, a page at a time: each is made once for all who catch up together. */
import type { EventRow } from "../store/events.ts";
import type { Frame } from "./frames.ts";

/** Ids of one page; a page is read in a millisecond. */
const PAGE_IDS = 256;
const MAX_PAGES = 64;

interface Page {
  readonly rows: readonly EventRow[];
  /** Who has all rows that it wants has all up to here. */
  readonly end: number;
  /** Those that somebody wanted, by id. */
  readonly frames: Map<number, Frame>;
  /** The size of the frames. */
  bytes: number;
}

export interface PagesOptions {
  /** The first so many rows after an id. */
  list: (afterId: number, limit: number) => EventRow[];
  /** The newest id that was given. */
  newest: () => number;
  framesOf: (rows: readonly EventRow[]) => Frame[];
  /** What one call of {@link Pages.next} gives, and one event more. */
  sliceBytes: number;
  maxBytes: number;
}

export class Pages {
  readonly #options: PagesOptions;
  /** By the id after which they begin, that which was used last at the end. */
  readonly #pages = new Map<number, Page>();

  constructor(options: PagesOptions) {
    this.#options = options;
  }

  /** The next events after an id that are wanted, and the id up to which there are no others of that page. */
  next(after: number, isWanted: (row: EventRow) => boolean): { frames: Frame[]; end: number } {
    const page = this.#find(after);
    const wanted = page.rows.filter((row) => row.eventId > after && isWanted(row));
    const slice = within(wanted, this.#options.sliceBytes);
    for (const frame of this.#options.framesOf(slice.filter(({ eventId }) => !page.frames.has(eventId)))) {
      page.frames.set(frame.id, frame);
      page.bytes += frame.bytes.length;
    }
    this.#shrink();
    const frames = slice.flatMap(({ eventId }) => page.frames.get(eventId) ?? []);
    return { frames, end: slice.length < wanted.length ? (slice.at(-1)?.eventId ?? after) : page.end };
  }

  clear(): void {
    this.#pages.clear();
  }

  #find(after: number): Page {
    const from = after - (after % PAGE_IDS);
    const known = this.#pages.get(from);
    const page = known ?? this.#read(from);
    // A page to which rows may still come is not kept.
    if (page.end < from + PAGE_IDS) return page;
    this.#pages.delete(from);
    this.#pages.set(from, page);
    return page;
  }

  #read(from: number): Page {
    const found = this.#options.list(from, PAGE_IDS + 1);
    const rows = found.filter(({ eventId }) => eventId <= from + PAGE_IDS);
    // Ids leap at each start of the sidecar: nobody goes through the pages in between.
    const beyond = found.at(rows.length);
    const end = beyond ? beyond.eventId - 1 : this.#options.newest();
    return { rows, end, frames: new Map(), bytes: 0 };
  }

  /** Forgets the pages that were not used for the longest time. */
  #shrink(): void {
    let kept = [...this.#pages.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    for (const [from, { bytes }] of this.#pages) {
      if (kept <= this.#options.maxBytes && this.#pages.size <= MAX_PAGES) return;
      this.#pages.delete(from);
      kept -= bytes;
    }
  }
}

/** The first of them that together are not larger than that; at least one. */
export function within(rows: readonly EventRow[], maxBytes: number): EventRow[] {
  let bytes = 0;
  const end = rows.findIndex((row) => {
    const isOver = bytes > maxBytes;
    bytes += row.bytes ?? row.body?.length ?? 0;
    return isOver;
  });
  return end < 0 ? [...rows] : rows.slice(0, end);
}
