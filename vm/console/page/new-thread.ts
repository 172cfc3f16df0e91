/** The form that makes a thread. */
import type { CreateRequest } from "../../../shared/api.ts";
import { kindIn, type ThreadType } from "../../../shared/kinds.ts";
import { ApiError, createThread, getThread, listDirs } from "./api.ts";
import { errorText, find, isSendKey, isTouched, make } from "./dom.ts";
import { EngineFields } from "./engine-fields.ts";
import type { Making } from "./kinds/kind.ts";
import type { ConsoleKinds } from "./kinds/kinds.ts";
import { newId } from "./new-id.ts";

/** A completion is asked for once nobody has typed for so long. */
const DIRS_MS = 150;
/** People read and type it; it is one among the threads of a machine. */
const ID_BYTES = 5;
const UNSURE = "It may have begun: press Start again, it begins once.";

export interface NewThreadOptions {
  kinds: ConsoleKinds;
  onMade: (threadId: string) => void;
  onCancel: () => void;
  onSignedOut: () => void;
}

export class NewThread {
  readonly #options: NewThreadOptions;
  readonly #form = find<HTMLFormElement>("#make");
  readonly #dir = find<HTMLInputElement>("#make-dir");
  readonly #command = find<HTMLTextAreaElement>("#make-command");
  readonly #address = find<HTMLInputElement>("#make-address");
  readonly #title = find<HTMLInputElement>("#make-title");
  readonly #problem = find("#make-problem");
  readonly #start = find<HTMLButtonElement>("#make button[type=submit]");
  /** The id of a thread whose request was not answered: it may have begun. */
  #unsure: string | undefined;
  #dirsTimer: number | undefined;
  readonly #engines: EngineFields;

  constructor(options: NewThreadOptions) {
    this.#options = options;
    this.#engines = new EngineFields(options.onSignedOut);
    find("#make-kinds").append(...choices(options.kinds));
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
    if (!isTouched()) this.#words.focus(); // a phone's keyboard would cover the form
  }

  get #type(): ThreadType {
    return new FormData(this.#form).get("type") as ThreadType; // its radio buttons are kinds
  }

  get #making(): Making {
    return makingOf(this.#options.kinds, this.#type);
  }

  /** The field with the chosen kind's command. */
  get #words(): HTMLInputElement | HTMLTextAreaElement {
    return this.#making.isAddress ? this.#address : this.#command;
  }

  #showKind(): void {
    const { commandLabel, isAddress, hasDirectory, hasWorktree, hasEngine } = this.#making;
    show("#make-dir", hasDirectory);
    show("#make-command", !isAddress);
    show("#make-address", isAddress);
    find(isAddress ? "#make-address-label" : "#make-command-label").textContent = commandLabel;
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
    const { hasDirectory, hasWorktree, hasEngine } = this.#making;
    const isAlone = hasWorktree && find<HTMLInputElement>("#make-worktree").checked;
    const agent = {
      ...(hasEngine && this.#engines.chosen()),
      ...(isAlone && { workspace: "worktree" as const }),
    };
    const title = this.#title.value.trim();
    return {
      threadId,
      type,
      dir: hasDirectory ? this.#dir.value.trim() : ".",
      command: this.#words.value,
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
      this.#words.value = "";
      this.#title.value = "";
      this.#options.onMade(threadId);
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) this.#options.onSignedOut();
      this.#problem.textContent =
        this.#unsure !== undefined ? `${errorText(error)} ${UNSURE}` : errorText(error);
      if (!isTouched()) this.#words.focus();
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

function makingOf(kinds: ConsoleKinds, type: ThreadType): Making {
  const { making } = kindIn(kinds, type);
  if (!making) throw new Error(`the form makes no ${type}`);
  return making;
}

/** A radio button for each kind that the form makes; the first one is chosen. */
function choices(kinds: ConsoleKinds): HTMLLabelElement[] {
  const types = Object.entries(kinds).flatMap(([type, { making }]) => (making ? [type] : []));
  return types.map((type, at) => {
    const radio = make("input");
    Object.assign(radio, { type: "radio", name: "type", value: type, checked: at === 0 });
    return make("label", "", [radio, ` ${makingOf(kinds, type).choice}`]);
  });
}

/** A field that is not shown is not asked for either. */
function show(field: string, isShown: boolean): void {
  const input = find<HTMLInputElement>(field);
  input.hidden = !isShown;
  input.disabled = !isShown;
  find(`${field}-label`).hidden = !isShown;
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
