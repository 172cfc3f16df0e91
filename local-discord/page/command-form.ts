/** A slash command being filled in: one labelled field an option, the required ones first. */
import type { SeenCommand } from "../seen.ts";
import type { CommandChoice } from "../types.ts";
import { type FileField, post } from "./api.ts";
import {
  type CommandField,
  drawField,
  type FieldLists,
  fieldValue,
  fileOf,
  isEmpty,
  markProblem,
} from "./command-field.ts";
import { el, errorText } from "./dom.ts";
import { icon } from "./icons.ts";
import type { Listbox } from "./listbox.ts";

const TYPING_PAUSE_MS = 120;

export interface CommandFormContext extends FieldLists {
  listbox: Listbox;
  channelId: string;
  onSend: (body: { name: string; options: object }, files: readonly FileField[]) => Promise<void>;
  onCancel: () => void;
}

export class CommandForm {
  readonly element: HTMLElement;
  readonly #context: CommandFormContext;
  readonly #command: SeenCommand;
  readonly #fields: CommandField[] = [];
  readonly #rows = el("div", { class: "command-fields" });
  readonly #error = el("p", { class: "form-error", role: "alert" });
  #asking: AbortController | undefined;

  constructor(command: SeenCommand, context: CommandFormContext) {
    this.#command = command;
    this.#context = context;
    this.element = this.#draw();
  }

  focus(): void {
    const target = this.#fields[0]?.control ?? this.element.querySelector<HTMLElement>(".send");
    target?.focus();
  }

  #draw(): HTMLElement {
    const { name, description } = this.#command;
    const more = this.#drawOptions();
    const cancel = { "aria-label": "Cancel the command", onclick: () => this.#context.onCancel() };
    const form = el(
      "form",
      { class: "command-form", "aria-label": `/${name}`, novalidate: true },
      el(
        "div",
        { class: "command-head" },
        el("strong", { class: "command-name" }, `/${name}`),
        el("span", { class: "command-about" }, description),
        el("button", { type: "button", class: "icon-button", ...cancel }, icon("close")),
      ),
      this.#rows,
      more.childElementCount > 0 && more,
      this.#error,
      el(
        "div",
        { class: "command-foot" },
        el("small", { class: "hint only-wide" }, "Enter goes on, Esc cancels"),
        el("button", { type: "submit", class: "button primary send" }, "Send"),
      ),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#send();
    });
    form.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#context.onCancel();
    });
    return form;
  }

  /** Required options stand there at once; the others come when their chip is pressed. */
  #drawOptions(): HTMLElement {
    const more = el("div", { class: "command-more" });
    for (const option of this.#command.options) {
      if (option.required) this.#add(drawField(option, this.#context));
      else {
        const chip = el(
          "button",
          { type: "button", class: "chip", title: option.description },
          `+ ${option.name}`,
        );
        chip.addEventListener("click", () => {
          chip.remove();
          this.#add(drawField(option, this.#context)).control.focus();
        });
        more.append(chip);
      }
    }
    return more;
  }

  #add(field: CommandField): CommandField {
    const { control } = field;
    control.addEventListener("focus", () => this.#suggest(field, 0));
    control.addEventListener("input", () => {
      field.chosen = undefined;
      markProblem(field, "");
      this.#suggest(field, TYPING_PAUSE_MS);
    });
    control.addEventListener("blur", () => {
      this.#asking?.abort();
      this.#context.listbox.close();
    });
    control.addEventListener("keydown", (event) => this.#key(event as KeyboardEvent, field));
    this.#fields.push(field);
    this.#rows.append(field.row);
    return field;
  }

  #key(event: KeyboardEvent, field: CommandField): void {
    if (this.#context.listbox.handleKey(event)) return;
    if (event.key !== "Enter" || event.isComposing || field.control.tagName === "SELECT") return;
    event.preventDefault();
    const next = this.#nextEmpty(field);
    if (next) next.control.focus();
    else void this.#send();
  }

  #nextEmpty(field: CommandField): CommandField | undefined {
    return this.#fields.find((entry) => entry !== field && entry.option.required && isEmpty(entry));
  }

  /** Fixed choices are filtered here, completions come from the bot, at every key stroke anew. */
  #suggest(field: CommandField, delayMs: number): void {
    const { option, control } = field;
    const choices = option.choices ?? [];
    if (!option.autocomplete && choices.length > 0) {
      const typed = control.value.toLowerCase();
      const fitting = choices.filter((choice) => choice.name.toLowerCase().includes(typed));
      this.#offer(field, field.chosen === undefined ? fitting : choices, "None of the choices fits.");
      return;
    }
    if (!option.autocomplete) return;
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    setTimeout(() => void this.#complete(field, asking.signal), delayMs);
  }

  async #complete(field: CommandField, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { option, control } = field;
    const body = {
      channelId: this.#context.channelId,
      name: this.#command.name,
      options: { ...this.#values(), [option.name]: control.value },
      focused: option.name,
    };
    try {
      const { choices } = await post<{ choices: CommandChoice[] }>("/page/autocomplete", body, { signal });
      if (signal.aborted) return;
      this.#offer(field, choices, "No completions. What you typed is sent as it is.");
    } catch (error) {
      if (!signal.aborted) this.#offer(field, [], errorText(error));
    }
  }

  #offer(field: CommandField, choices: readonly CommandChoice[], note: string): void {
    const { option, control } = field;
    this.#context.listbox.show(control, {
      title: option.description,
      note,
      // Typed text counts as it stands unless a completion is picked on purpose.
      selects: !option.autocomplete || choices[0]?.name.startsWith(control.value) === true,
      items: choices.map((choice) => ({
        label: choice.name,
        choose: () => {
          control.value = choice.name;
          field.chosen = choice.value;
          markProblem(field, "");
          this.#nextEmpty(field)?.control.focus();
        },
      })),
    });
  }

  #values(): Record<string, string | number | boolean> {
    const values: Record<string, string | number | boolean> = {};
    for (const field of this.#fields) {
      const value = fieldValue(field);
      if (value !== undefined) values[field.option.name] = value;
    }
    return values;
  }

  async #send(): Promise<void> {
    const missing = this.#fields.filter((field) => field.option.required && isEmpty(field));
    for (const field of missing) markProblem(field, "This is needed.");
    if (missing[0]) {
      missing[0].control.focus();
      return;
    }
    const files = this.#fields.flatMap((field): FileField[] => {
      const file = fileOf(field);
      return file ? [[field.option.name, file]] : [];
    });
    try {
      await this.#context.onSend({ name: this.#command.name, options: this.#values() }, files);
    } catch (error) {
      this.#error.textContent = errorText(error);
    }
  }
}
