/** What threads take on disk: their logs, and what their kinds keep in files of their own. */
import { isOpen } from "../../shared/api.ts";
import { kindIn } from "../../shared/kinds.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import { diskBytesOf } from "../streams/disk.ts";
import { sizeOfLog } from "../streams/log-file.ts";
import type { Kinds } from "./kinds/kinds.ts";
import type { ThreadFiles } from "./thread-files.ts";
import type { UserSpace } from "./user-space.ts";

/** A thread's files may be thousands: they are counted again only after this many times what counting them took. */
const REST_FACTOR = 100;
/** While no program of the thread runs, only a person's files come to them. */
const REST_MS = 10 * 60_000;

export interface SizesOptions {
  store: Store;
  files: ThreadFiles;
  kinds: Kinds;
  userSpace: UserSpace;
}

export interface SizedThread {
  row: StoredThread;
  logBytes: number;
  kindBytes: number;
}

export class Sizes {
  readonly #options: SizesOptions;
  /** What a thread's kind keeps of it, as counted last; by the thread's marker, since an id may be used again. */
  readonly #counted = new Map<string, { bytes: number; freshUntil: number; run: string }>();

  constructor(options: SizesOptions) {
    this.#options = options;
  }

  /** What all logs take now. */
  get logBytes(): number {
    const rows = this.#options.store.threads.list("all");
    return rows.reduce((sum, row) => sum + this.#logBytesOf(row), 0);
  }

  /** What all threads keep in files beside their logs, as {@link list} counted last. */
  get kindBytes(): number {
    return [...this.#counted.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** All threads with their sizes. Counting many files takes a while: rows may have changed when this resolves. */
  async list(): Promise<SizedThread[]> {
    const rows = this.#options.store.threads.list("all");
    const markers = new Set(rows.map(({ marker }) => marker));
    for (const marker of this.#counted.keys()) if (!markers.has(marker)) this.#counted.delete(marker);
    const sized: SizedThread[] = [];
    for (const row of rows) {
      const kindBytes = await this.#count(row);
      sized.push({ row, logBytes: this.#logBytesOf(row), kindBytes });
    }
    return sized;
  }

  #logBytesOf({ threadId }: StoredThread): number {
    return sizeOfLog(this.#options.files.logs.path(threadId)).diskBytes;
  }

  /** The files of an ended thread never change. */
  async #count({ threadId, type, status, marker, panePid }: StoredThread): Promise<number> {
    const known = this.#counted.get(marker);
    const run = `${status} ${panePid}`;
    const startedAt = performance.now();
    if (known?.run === run && (!isOpen(status) || startedAt < known.freshUntil)) return known.bytes;
    const { kinds, userSpace } = this.#options;
    const bytes =
      (await kindIn(kinds, type).diskBytes(threadId)) + (await diskBytesOf(userSpace.pathOf(threadId)));
    const now = performance.now();
    const restMs = Math.max((now - startedAt) * REST_FACTOR, status === "running" ? 0 : REST_MS);
    this.#counted.set(marker, { bytes, freshUntil: now + restMs, run });
    return bytes;
  }
}
