/** A slash command being filled in: one labelled field an option, the required ones first. */
import { post } from "./api.js";
import { el } from "./dom.js";
import { icon } from "./icons.js";

const Type = {
  string: 3,
  integer: 4,
  boolean: 5,
  user: 6,
  channel: 7,
  mentionable: 9,
  number: 10,
  attachment: 11,
};
const TYPING_PAUSE_MS = 120;

export class CommandForm {
  #context;
  #command;
  #listbox;
  #fields = [];
  #error;
  #asking;

  /** `context`: `{ listbox, channelId(), users(), channels(), onSend(body, files), onCancel() }` */
  constructor(command, context) {
    this.#command = command;
    this.#context = context;
    this.#listbox = context.listbox;
    this.element = this.#draw();
  }

  focus() {
    (this.#fields[0]?.control ?? this.element.querySelector(".send"))?.focus();
  }

  #draw() {
    const { options, name, description } = this.#command;
    const rows = el("div", { class: "command-fields" });
    const more = el("div", { class: "command-more" });
    const add = (option) => {
      const field = this.#field(option);
      this.#fields.push(field);
      rows.append(field.row);
      return field;
    };
    for (const option of options) {
      if (option.required) add(option);
      else {
        const chip = el(
          "button",
          { type: "button", class: "chip", title: option.description },
          `+ ${option.name}`,
        );
        chip.addEventListener("click", () => {
          chip.remove();
          add(option).control.focus();
        });
        more.append(chip);
      }
    }
    this.#error = el("p", { class: "form-error", role: "alert" });
    const form = el(
      "form",
      { class: "command-form", "aria-label": `/${name}`, novalidate: true },
      el(
        "div",
        { class: "command-head" },
        el("strong", { class: "command-name" }, `/${name}`),
        el("span", { class: "command-about" }, description),
        el(
          "button",
          {
            type: "button",
            class: "icon-button",
            "aria-label": "Cancel the command",
            onclick: () => this.#context.onCancel(),
          },
          icon("close"),
        ),
      ),
      rows,
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

  #field(option) {
    const id = `option-field-${option.name}`;
    const control = this.#control(option, id);
    const problem = el("small", { class: "field-problem", id: `${id}-problem` });
    const row = el(
      "div",
      { class: "command-row" },
      el(
        "label",
        { for: id, title: option.description },
        option.name,
        option.required && el("span", { class: "needed", "aria-hidden": "true" }, "*"),
      ),
      control,
      problem,
    );
    const field = { option, control, problem, row, chosen: undefined };
    control.addEventListener("focus", () => this.#suggest(field, 0));
    control.addEventListener("input", () => {
      field.chosen = undefined;
      this.#mark(field, "");
      this.#suggest(field, TYPING_PAUSE_MS);
    });
    control.addEventListener("blur", () => {
      this.#asking?.abort();
      this.#listbox.close();
    });
    control.addEventListener("keydown", (event) => this.#key(event, field));
    return field;
  }

  #control(option, id) {
    const shared = {
      id,
      "aria-required": option.required ? "true" : undefined,
      "aria-describedby": `${id}-problem`,
    };
    const choose = (entries) =>
      el(
        "select",
        { ...shared, class: "field" },
        el("option", { value: "" }, option.description),
        entries.map(([value, label]) => el("option", { value }, label)),
      );
    if (option.type === Type.boolean)
      return choose([
        ["true", "True"],
        ["false", "False"],
      ]);
    if (option.type === Type.user || option.type === Type.mentionable) return choose(this.#context.users());
    if (option.type === Type.channel) return choose(this.#context.channels());
    if (option.type === Type.attachment) return el("input", { ...shared, class: "field", type: "file" });
    const isNumber = option.type === Type.integer || option.type === Type.number;
    return el("input", {
      ...shared,
      class: "field",
      type: "text",
      inputmode: isNumber ? "decimal" : undefined,
      placeholder: option.description,
      autocomplete: "off",
      autocapitalize: "off",
      autocorrect: "off",
      spellcheck: "false",
      enterkeyhint: "next",
      role: hasSuggestions(option) ? "combobox" : undefined,
      "aria-autocomplete": hasSuggestions(option) ? "list" : undefined,
      "aria-expanded": hasSuggestions(option) ? "false" : undefined,
    });
  }

  #key(event, field) {
    if (this.#listbox.handleKey(event)) return;
    if (event.key !== "Enter" || event.isComposing || field.control.tagName === "SELECT") return;
    event.preventDefault();
    const next = this.#fields.find((entry) => entry !== field && entry.option.required && isEmpty(entry));
    if (next) next.control.focus();
    else void this.#send();
  }

  /** Fixed choices are filtered here, completions come from the bot, at every key stroke anew. */
  #suggest(field, delayMs) {
    const { option, control } = field;
    if (option.choices?.length > 0 && !option.autocomplete) {
      const typed = control.value.toLowerCase();
      const fitting = option.choices.filter((choice) => choice.name.toLowerCase().includes(typed));
      this.#offer(field, field.chosen === undefined ? fitting : option.choices);
      return;
    }
    if (!option.autocomplete) return;
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    setTimeout(async () => {
      if (asking.signal.aborted) return;
      const body = {
        channelId: this.#context.channelId(),
        name: this.#command.name,
        options: { ...this.#values(), [option.name]: control.value },
        focused: option.name,
      };
      try {
        const { choices } = await post("/page/autocomplete", body, { signal: asking.signal });
        if (!asking.signal.aborted) this.#offer(field, choices);
      } catch (error) {
        if (!asking.signal.aborted) this.#offer(field, [], error.message);
      }
    }, delayMs);
  }

  #offer(field, choices, note = "No completions. What you typed is sent as it is.") {
    const { option, control } = field;
    this.#listbox.show(control, {
      title: option.description,
      items: choices.map((choice) => ({ label: choice.name, value: choice })),
      note: option.autocomplete ? note : "None of the choices fits.",
      // Typed text counts as it stands unless a completion is picked on purpose.
      selects: !option.autocomplete || choices[0]?.name.startsWith(control.value) === true,
      onChoose: ({ value: choice }) => {
        control.value = choice.name;
        field.chosen = choice.value;
        this.#mark(field, "");
        const next = this.#fields.find((entry) => entry !== field && entry.option.required && isEmpty(entry));
        next?.control.focus();
      },
    });
  }

  /** What is filled in, in each option's type. */
  #values() {
    const values = {};
    for (const field of this.#fields) {
      const { option, control, chosen } = field;
      if (isEmpty(field) || option.type === Type.attachment) continue;
      if (chosen !== undefined) values[option.name] = chosen;
      else if (option.type === Type.boolean) values[option.name] = control.value === "true";
      else if (option.type === Type.integer || option.type === Type.number) {
        values[option.name] = Number(control.value);
      } else {
        const fixed = option.choices?.find((choice) => choice.name === control.value);
        values[option.name] = fixed ? fixed.value : control.value;
      }
    }
    return values;
  }

  async #send() {
    const missing = this.#fields.filter((field) => field.option.required && isEmpty(field));
    for (const field of missing) this.#mark(field, "This is needed.");
    if (missing.length > 0) {
      missing[0].control.focus();
      return;
    }
    const files = this.#fields
      .filter((field) => field.option.type === Type.attachment && !isEmpty(field))
      .map((field) => [field.option.name, field.control.files[0]]);
    try {
      await this.#context.onSend({ name: this.#command.name, options: this.#values() }, files);
    } catch (error) {
      this.#error.textContent = error.message;
    }
  }

  #mark(field, problem) {
    field.problem.textContent = problem;
    field.control.setAttribute("aria-invalid", problem === "" ? "false" : "true");
  }
}

function hasSuggestions(option) {
  return option.autocomplete === true || option.choices?.length > 0;
}

function isEmpty({ control }) {
  return control.type === "file" ? control.files.length === 0 : control.value.trim() === "";
}
