/** A thread's name, and an agent's mode and model: shown, and changed where a person has changed them. */
import { findEngine } from "../../../shared/agent/engines/engines.ts";
import type { Thread } from "../../../shared/api.ts";
import { kindIn } from "../../../shared/kinds.ts";
import { ApiError, setMode, setModel, setTitle } from "./api.ts";
import { errorText, find, make } from "./dom.ts";
import type { ConsoleKinds } from "./kinds/kinds.ts";

export interface SettingsOptions {
  kinds: ConsoleKinds;
  onSaved: () => void;
  onSignedOut: () => void;
}

export class ThreadSettings {
  readonly #options: SettingsOptions;
  readonly #dialog = find<HTMLDialogElement>("#settings-dialog");
  readonly #problem = find("#settings-dialog .problem");
  readonly #title = find<HTMLInputElement>("#settings-title");
  readonly #mode = find<HTMLSelectElement>("#settings-mode");
  readonly #model = find<HTMLInputElement>("#settings-model");
  #thread: Pick<Thread, "threadId" | "title"> | undefined;

  constructor(options: SettingsOptions) {
    this.#options = options;
    find("#settings-cancel").addEventListener("click", () => this.#dialog.close());
    find("#settings-form").addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#save();
    });
  }

  show(thread: Thread): void {
    this.#thread = thread;
    this.#problem.textContent = "";
    this.#title.value = thread.title;
    this.#model.value = "";
    const modes = findEngine(thread.engine ?? undefined)?.capabilities.modes?.names ?? [];
    const asItIs = make("option", "", ["as it is"]);
    asItIs.value = "";
    this.#mode.replaceChildren(asItIs, ...modes.map((mode) => make("option", "", [mode])));
    find("#settings-agent").hidden = !kindIn(this.#options.kinds, thread.type).hasConversation;
    this.#dialog.showModal();
    this.#title.select();
  }

  /** What was refused says why, and stays to be mended; what was saved before it stays saved. */
  async #save(): Promise<void> {
    const thread = this.#thread;
    if (!thread) return;
    const { threadId } = thread;
    const [title, mode, model] = [this.#title, this.#mode, this.#model].map(({ value }) => value.trim());
    try {
      if (title && title !== thread.title) await setTitle(threadId, title);
      if (mode) await setMode(threadId, mode);
      if (model) await setModel(threadId, model);
      if (this.#thread === thread) this.#dialog.close();
      this.#options.onSaved();
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) {
        this.#dialog.close();
        this.#options.onSignedOut();
      }
      this.#problem.textContent = errorText(error);
    }
  }
}
