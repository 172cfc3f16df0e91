/** Asks whether a thread is to be ended, and ends it. */
import type { Thread } from "../../../shared/api.ts";
import { kindIn } from "../../../shared/kinds.ts";
import { ApiError, endThread } from "./api.ts";
import { errorText, find } from "./dom.ts";
import type { ConsoleKinds } from "./kinds/kinds.ts";

export interface EndOptions {
  kinds: ConsoleKinds;
  onEnded: () => void;
  onSignedOut: () => void;
}

export class EndThread {
  readonly #options: EndOptions;
  readonly #dialog = find<HTMLDialogElement>("#end-dialog");
  readonly #problem = find("#end-dialog .problem");
  readonly #button = find<HTMLButtonElement>("#end-now");
  #threadId = "";

  constructor(options: EndOptions) {
    this.#options = options;
    this.#button.addEventListener("click", () => void this.#end());
    find("#end-not").addEventListener("click", () => this.close());
  }

  /** @param below how many open threads end with it */
  ask({ threadId, number, title, type }: Thread, below: number): void {
    this.#threadId = threadId;
    this.#problem.textContent = "";
    find("#end-question").textContent = `End ${number === null ? title : `#${number} ${title}`}?`;
    const also =
      below === 0 ? "" : ` So ${below === 1 ? "does the thread" : `do ${below} threads`} below it.`;
    find("#end-what").textContent =
      `${kindIn(this.#options.kinds, type).ends}${also} What it has said stays.`;
    this.#dialog.showModal();
    find("#end-not").focus();
  }

  close(): void {
    this.#dialog.close();
  }

  async #end(): Promise<void> {
    const threadId = this.#threadId;
    this.#button.disabled = true;
    try {
      await endThread(threadId);
      if (this.#threadId === threadId) this.close();
      this.#options.onEnded();
    } catch (error) {
      const status = error instanceof ApiError ? error.status : 0;
      if (status === 401) {
        this.close();
        this.#options.onSignedOut();
      }
      this.#problem.textContent = errorText(error);
    } finally {
      this.#button.disabled = false;
    }
  }
}
