/** The form that makes a thread. */
import type { CreateRequest } from "../../../shared/api.ts";
import type { ThreadType } from "../../../shared/kinds.ts";
import { ApiError, createThread, getThread, listDirs } from "./api.ts";
import { errorText, find, isSendKey, isTouched, make } from "./dom.ts";
import { EngineFields } from "./engine-fields.ts";
import { CONSOLE_KINDS } from "./kinds/kinds.ts";
import { newId } from "./new-id.ts";

/** A completion is asked for once nobody has typed for so long. */
const DIRS_MS = 150;
/** People read and type it; it is one among the threads of a machine. */
const ID_BYTES = 5;
const UNSURE = "It may have begun: press Start again, it begins once.";

export interface NewThreadOptions {
  onMade: (threadId: string) => void;
  onCancel: () => void;
  onSignedOut: () => void;
}

export class NewThread {
  readonly #options: NewThreadOptions;
  readonly #form = find<HTMLFormElement>("#make");
  readonly #dir = find<HTMLInputElement>("#make-dir");
  readonly #command = find<HTMLTextAreaElement>("#make-command");
  readonly #title = find<HTMLInputElement>("#make-title");
  readonly #problem = find("#make .problem");
  readonly #start = find<HTMLButtonElement>("#make button[type=submit]");
  /** The id of a thread whose request was not answered: it may have begun. */
  #unsure: string | undefined;
  #dirsTimer: number | undefined;
  readonly #engines: EngineFields;

  constructor(options: NewThreadOptions) {
    this.#options = options;
    this.#engines = new EngineFields(options.onSignedOut);
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#submit();
    });
    this.#form.addEventListener("change", () => this.#showKind());
    find("#make-cancel").addEventListener("click", options.onCancel);
    this.#dir.addEventListener("input", () => {
      window.clearTimeout(this.#dirsTimer);
      this.#dirsTimer = window.setTimeout(() => void this.#complete(), DIRS_MS);
    });
    this.#command.addEventListener("keydown", (event) => {
      if (!isSendKey(event)) return;
      event.preventDefault();
      this.#form.requestSubmit();
    });
  }

  /** What was typed before is still there. */
  open(): void {
    find("#make-agent").hidden = true; // so that the engines are asked for anew
    this.#showKind();
    void this.#complete();
    if (!isTouched()) this.#command.focus(); // a phone's keyboard would cover the form
  }

  get #type(): ThreadType {
    return new FormData(this.#form).get("type") as ThreadType; // its radio buttons are the kinds
  }

  #showKind(): void {
    const { commandLabel, hasWorktree, hasEngine } = CONSOLE_KINDS[this.#type];
    find("#make-command-label").textContent = commandLabel;
    find("#make-worktree-label").hidden = !hasWorktree;
    const engine = find("#make-agent");
    if (hasEngine && engine.hidden) void this.#engines.show();
    engine.hidden = !hasEngine;
  }

  async #complete(): Promise<void> {
    try {
      const dirs = await listDirs(this.#dir.value === "." ? "" : this.#dir.value);
      const options = dirs.map((dir) => {
        const option = make("option");
        option.value = dir;
        return option;
      });
      find("#make-dirs").replaceChildren(...options);
    } catch (error) {
      // The directory can be typed; what is wrong with the sidecar the list of threads says.
      if (error instanceof ApiError && error.status === 401) this.#options.onSignedOut();
    }
  }

  #wanted(threadId: string): CreateRequest {
    const type = this.#type;
    const { hasWorktree, hasEngine } = CONSOLE_KINDS[type];
    const isAlone = hasWorktree && find<HTMLInputElement>("#make-worktree").checked;
    const agent = {
      ...(hasEngine && this.#engines.chosen()),
      ...(isAlone && { workspace: "worktree" as const }),
    };
    const title = this.#title.value.trim();
    return {
      threadId,
      type,
      dir: this.#dir.value.trim(),
      command: this.#command.value,
      ...(title === "" ? {} : { title }),
      ...(Object.keys(agent).length > 0 ? { agent } : {}),
      ...(find<HTMLInputElement>("#make-discord").checked ? { home: "discord" } : {}),
    };
  }

  async #submit(): Promise<void> {
    if (this.#start.disabled) return;
    this.#start.disabled = true;
    this.#problem.textContent = "";
    try {
      const threadId = await this.#make();
      this.#command.value = "";
      this.#title.value = "";
      this.#options.onMade(threadId);
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) this.#options.onSignedOut();
      this.#problem.textContent =
        this.#unsure !== undefined ? `${errorText(error)} ${UNSURE}` : errorText(error);
    } finally {
      this.#start.disabled = false;
    }
  }

  /** @returns its id @throws ApiError; if nobody knows whether it began, it stays to be sent again */
  async #make(): Promise<string> {
    const last = this.#unsure;
    if (last !== undefined && (await isThere(last))) {
      this.#unsure = undefined;
      return last;
    }
    // Under the id of what may still be on its way, also with other words: there will be one thread.
    const wanted = this.#wanted(last ?? newId(ID_BYTES));
    this.#unsure = wanted.threadId;
    try {
      await createThread(wanted);
    } catch (error) {
      const status = error instanceof ApiError ? error.status : 0;
      const isThereNow = last !== undefined && status === 409 && (await isThere(last));
      if (!(error instanceof ApiError && error.isPassing)) this.#unsure = undefined;
      if (!isThereNow) throw error;
    }
    this.#unsure = undefined;
    return wanted.threadId;
  }
}

async function isThere(threadId: string): Promise<boolean> {
  try {
    await getThread(threadId);
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}
