/** Which entries' messages are listed now, and which of those are as they will stay. */
import type { Page } from "../content.ts";
import type { Entry } from "./entries.ts";
import { type RenderOptions, renderEntry } from "./render.ts";

/**
 * How many complete messages are listed at once. They are sent one after the other, so a longer list would only make
 * each look at a long backlog dear. Those behind them are listed when these are delivered.
 */
const MAX_LISTED = 16;

/** An entry as it was listed. */
interface Listed {
  readonly entry: Entry;
  readonly keys: readonly string[];
  readonly isSealed: boolean;
}

export class Listing {
  /** Keys of pages whose messages stay as they are. */
  readonly #confirmed = new Set<string>();
  /** Keys of asks whose messages are as they should be, and change once more if they are asked again. */
  readonly #standing = new Set<string>();
  #listed: readonly Listed[] = [];

  /** How many of the first entries are listed. */
  get count(): number {
    return this.#listed.length;
  }

  /** The pages that are not confirmed, of the first entries. */
  list(entries: readonly Entry[], options: RenderOptions): Page[] {
    const open: Page[] = [];
    const listed: Listed[] = [];
    let sealedCount = 0;
    for (const entry of entries) {
      if (sealedCount >= MAX_LISTED) break;
      const pages = renderEntry(entry, options);
      const left = pages.filter(({ key }) => !this.#confirmed.has(key));
      open.push(...left);
      // A page that may still change can wait for long. It is no reason to leave out others.
      sealedCount += left.filter(({ isSealed, key }) => isSealed && !this.#standing.has(key)).length;
      const isSealed = pages.every((page) => page.isSealed);
      listed.push({ entry, keys: pages.map(({ key }) => key), isSealed });
    }
    this.#listed = listed;
    return open;
  }

  /** @returns those of the keys that were listed, and whose messages change no more */
  confirm(keys: readonly string[]): Set<string> {
    const entries = new Map(this.#listed.flatMap(({ entry, keys }) => keys.map((key) => [key, entry])));
    const confirmed = new Set<string>();
    for (const key of keys) {
      const entry = entries.get(key);
      if (entry?.kind === "ask" && entry.mayComeBack) this.#standing.add(key);
      else if (entry) confirmed.add(key);
    }
    for (const key of confirmed) {
      this.#confirmed.add(key);
      this.#standing.delete(key);
    }
    return confirmed;
  }

  /** Forgets the entries all of whose messages are as they will stay. @returns them */
  forget(): Set<Entry> {
    const isDone = ({ keys, isSealed }: Listed) => isSealed && keys.every((key) => this.#confirmed.has(key));
    const done = this.#listed.filter(isDone);
    for (const key of done.flatMap(({ keys }) => keys)) this.#confirmed.delete(key);
    this.#listed = this.#listed.filter((listed) => !done.includes(listed));
    return new Set(done.map(({ entry }) => entry));
  }
}
