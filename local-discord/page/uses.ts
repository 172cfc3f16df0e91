/** Commands, buttons and forms in use: what was not answered yet is shown, and forms are opened. */
import type { SeenMessage, SeenUse } from "../seen.ts";
import { post } from "./api.ts";
import { formDialog } from "./dialogs.ts";
import { byId, el } from "./dom.ts";

type Control = HTMLButtonElement | HTMLSelectElement | HTMLInputElement;

interface UsesPage {
  currentId: () => string | undefined;
  keepView: (change: () => void) => void;
  showProblem: (error: unknown) => void;
}

export class Uses {
  readonly #waiting = new Map<string, SeenUse>();
  /** Controls that stay off until their interaction was answered. */
  readonly #busy = new Map<string, readonly Control[]>();
  readonly #page: UsesPage;

  constructor(page: UsesPage) {
    this.#page = page;
  }

  clear(): void {
    this.#waiting.clear();
    for (const id of this.#busy.keys()) this.#free(id);
  }

  note(use: SeenUse): void {
    if (use.state === "acknowledged") {
      this.#waiting.delete(use.id);
      if (use.form) void this.#answerForm(use.id, use.form);
    } else this.#waiting.set(use.id, use);
    if (use.state !== "waiting") this.#free(use.id);
    this.draw();
  }

  /** Uses a component of a message. */
  async operate(
    message: SeenMessage,
    customId: string,
    controls: readonly Control[],
    values?: readonly string[],
  ): Promise<void> {
    for (const control of controls) control.disabled = true;
    try {
      const body = { messageId: message.id, customId, ...(values ? { values } : {}) };
      const use = await post<SeenUse>("/page/components", body);
      // The event that tells of the answer may have been quicker than this reply.
      const isWaiting = use.state === "waiting" && this.#waiting.get(use.id)?.state === "waiting";
      this.#busy.set(use.id, controls);
      if (!isWaiting) this.#free(use.id);
    } catch (error) {
      for (const control of controls) control.disabled = false;
      this.#page.showProblem(error);
    }
  }

  async runMessageCommand(message: SeenMessage, name: string): Promise<void> {
    try {
      await post("/page/message-commands", { channelId: message.channelId, messageId: message.id, name });
    } catch (error) {
      this.#page.showProblem(error);
    }
  }

  /** Below the messages: what was sent and not answered yet, and what nobody answered. */
  draw(): void {
    const rows = [...this.#waiting.values()]
      .filter((use) => use.channelId === this.#page.currentId())
      .filter((use) => use.state === "failed" || use.name !== undefined)
      .map((use) => this.#drawUse(use));
    this.#page.keepView(() => byId("pending").replaceChildren(...rows));
  }

  #drawUse(use: SeenUse): HTMLElement {
    const isFailed = use.state === "failed";
    const what = use.name ?? "This interaction";
    const dismiss = () => {
      this.#waiting.delete(use.id);
      this.draw();
    };
    return el(
      "li",
      { class: `message system pending${isFailed ? " failed" : ""}` },
      el(
        "div",
        { class: "content" },
        isFailed ? `${what}: the application did not respond. ` : `Sending ${what}…`,
        isFailed && el("button", { type: "button", class: "link", onclick: dismiss }, "Dismiss"),
      ),
    );
  }

  #free(id: string): void {
    for (const control of this.#busy.get(id) ?? []) control.disabled = false;
    this.#busy.delete(id);
  }

  async #answerForm(interactionId: string, form: NonNullable<SeenUse["form"]>): Promise<void> {
    const values = await formDialog(form);
    if (!values) return;
    try {
      await post("/page/forms", { interactionId, values });
    } catch (error) {
      this.#page.showProblem(error);
    }
  }
}
