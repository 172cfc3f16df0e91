/** What callers do with browser threads. */
import { parseAddress } from "../../shared/browser/address.ts";
import type { BrowserOp } from "../../shared/browser/ops.ts";
import type { BrowserState } from "../../shared/browser/state.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import { threadEnded } from "../threads/ending.ts";
import type { Threads } from "../threads/threads.ts";
import type { BrowserKind } from "./browser-kind.ts";
import type { BrowserAnswer } from "./door.ts";
import type { BrowserFolders } from "./folders.ts";
import { callOnce } from "./once.ts";

/** For a page that answers. */
const WAIT_MS = 10_000;

export interface BrowsersOptions {
  store: Pick<Store, "inputs">;
  threads: Threads;
  browserKind: BrowserKind;
  browserFolders: BrowserFolders;
}

export class Browsers {
  readonly #options: BrowsersOptions;

  constructor(options: BrowsersOptions) {
    this.#options = options;
  }

  /**
   * Does something with the page. What takes longer than ten seconds goes on; the state says that the page loads.
   * @throws AppError `not_found`, `unsupported`, `thread_ended`, `invalid_request`, `unavailable`, `unknown_outcome`
   */
  async act(threadId: ThreadId, op: BrowserOp): Promise<BrowserState> {
    return (await this.actAndRead(threadId, op, {})).state;
  }

  /**
   * As {@link act}, for a reader of the page's text.
   * @param inputId what comes again under it is not done again
   * @param textFrom the answer has the page's text from this character on
   */
  async actAndRead(
    threadId: ThreadId,
    op: BrowserOp,
    { inputId, textFrom }: { inputId?: string | undefined; textFrom?: number },
  ): Promise<BrowserAnswer> {
    const { store, browserKind, browserFolders: folders } = this.#options;
    const { status } = this.#get(threadId);
    if (status !== "running") throw threadEnded(threadId, browserKind.whyNoInput(status));
    if (op.do === "open") await browserKind.checkHost(parseAddress(op.url));
    return callOnce({ store, folders }, threadId, { op, waitMs: WAIT_MS, textFrom }, inputId);
  }

  /** Whether browsers can be opened: there is a Chromium. */
  get isThere(): boolean {
    return this.#options.browserKind.isThere;
  }

  /** @throws AppError `not_found`, `unsupported`, `unavailable` if it has shown nothing yet */
  getState(threadId: ThreadId): BrowserState {
    this.#get(threadId);
    const state = this.#options.browserFolders.findState(threadId);
    if (!state) throw new AppError("unavailable", "The browser is starting; try again.");
    return state;
  }

  /** A PNG. @throws AppError `not_found`, `unsupported` */
  async getPicture(threadId: ThreadId): Promise<Buffer> {
    this.#get(threadId);
    const picture = await this.#options.browserFolders.readPicture(threadId);
    if (!picture) throw new AppError("not_found", "There is no picture yet.");
    return picture;
  }

  #get(threadId: ThreadId): StoredThread {
    const thread = this.#options.threads.getStored(threadId);
    if (this.#options.browserFolders.has(threadId)) return thread;
    throw new AppError("unsupported", `Thread ${threadId} has no browser; /browser opens one.`);
  }
}
