/** Decides whether a relay reads the messages that an earlier one sent, before it edits them. */
import type { Ledger } from "./ledger.ts";
import type { Step } from "./pump.ts";

/** The most messages that are edited without a look; more are read with one request. */
const MAX_EDITED_UNREAD = 2;
/** How long the look waits for output that makes it needless, in milliseconds. */
const WAIT_MS = 3_000;

export interface FirstLookOptions {
  ledger: Pick<Ledger, "unread" | "read" | "noteEdit">;
  /** Others write there too. */
  isShared?: boolean | undefined;
  waitScale?: number | undefined;
  now: () => number;
}

/**
 * Messages of an earlier process may show something else, or be gone. Where output comes, an edit finds that out as
 * well as a look does: a relay that starts with many threads looks little up.
 */
export class FirstLook {
  readonly #options: FirstLookOptions;
  readonly #at: number;
  #hasMoved = false;

  constructor(options: FirstLookOptions) {
    this.#options = options;
    this.#at = options.now() + WAIT_MS * (options.waitScale ?? 1);
  }

  /** Output has come. @returns whether it is the first */
  noteMoved(): boolean {
    const isFirst = !this.#hasMoved;
    this.#hasMoved = true;
    return isFirst;
  }

  /** The look that is to be taken before anything is edited; undefined if none is needed (any more). */
  next(pages: readonly { readonly key: string }[]): Step | undefined {
    const { ledger, isShared = false } = this.#options;
    const unread = ledger.unread(pages.map(({ key }) => key));
    if (unread.length === 0) return undefined;
    const isFew = unread.length <= MAX_EDITED_UNREAD && !isShared;
    if (!isFew || !this.#hasMoved) return { at: isFew ? this.#at : 0, run: () => ledger.read(unread) };
    for (const { key } of unread) ledger.noteEdit(key, undefined);
    return undefined;
  }
}
