/** One option of a slash command as a labelled field. */
import type { CommandOption } from "../types.ts";
import { el } from "./dom.ts";

/** Discord's option types, as far as they look different. */
const Type = {
  integer: 4,
  boolean: 5,
  user: 6,
  channel: 7,
  role: 8,
  mentionable: 9,
  number: 10,
  attachment: 11,
} as const;

export interface CommandField {
  option: CommandOption;
  control: HTMLInputElement | HTMLSelectElement;
  problem: HTMLElement;
  row: HTMLElement;
  /** The value of the suggestion that was picked, while the text is still the suggestion's. */
  chosen: string | number | undefined;
}

/** Ids with names, for options that name somebody or something. */
export interface FieldLists {
  users: () => [string, string][];
  roles: () => [string, string][];
  channels: () => [string, string][];
}

export function drawField(option: CommandOption, lists: FieldLists): CommandField {
  const id = `option-field-${option.name}`;
  const control = drawControl(option, id, lists);
  const problem = el("small", { class: "field-problem", id: `${id}-problem` });
  const needed = option.required === true && el("span", { class: "needed", "aria-hidden": "true" }, "*");
  const label = el("label", { for: id, title: option.description }, option.name, needed);
  const row = el("div", { class: "command-row" }, label, control, problem);
  return { option, control, problem, row, chosen: undefined };
}

function drawControl(
  option: CommandOption,
  id: string,
  lists: FieldLists,
): HTMLInputElement | HTMLSelectElement {
  const shared = {
    id,
    "aria-required": option.required ? "true" : undefined,
    "aria-describedby": `${id}-problem`,
    class: "field",
  };
  const choose = (entries: readonly (readonly [string, string])[]) =>
    el(
      "select",
      shared,
      el("option", { value: "" }, option.description),
      entries.map(([value, label]) => el("option", { value }, label)),
    );
  switch (option.type) {
    case Type.boolean:
      return choose([
        ["true", "True"],
        ["false", "False"],
      ]);
    case Type.user:
      return choose(lists.users());
    case Type.role:
      return choose(lists.roles());
    case Type.mentionable:
      return choose([...lists.users(), ...lists.roles()]);
    case Type.channel:
      return choose(lists.channels());
    case Type.attachment:
      return el("input", { ...shared, type: "file" });
    default:
      return el("input", { ...shared, ...textProperties(option) });
  }
}

function textProperties(option: CommandOption): Record<string, string | undefined> {
  const suggestions = hasSuggestions(option)
    ? { role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false" }
    : {};
  return {
    type: "text",
    inputmode: isNumeric(option) ? "decimal" : undefined,
    placeholder: option.description,
    autocomplete: "off",
    autocapitalize: "off",
    autocorrect: "off",
    spellcheck: "false",
    enterkeyhint: "next",
    ...suggestions,
  };
}

/** What is filled in, in the option's own type; `undefined` for nothing, and for files. */
export function fieldValue(field: CommandField): string | number | boolean | undefined {
  const { option, control, chosen } = field;
  if (isEmpty(field) || option.type === Type.attachment) return undefined;
  if (chosen !== undefined) return chosen;
  if (option.type === Type.boolean) return control.value === "true";
  if (isNumeric(option)) return Number(control.value);
  return option.choices?.find((choice) => choice.name === control.value)?.value ?? control.value;
}

export function fileOf({ control }: CommandField): File | undefined {
  return control instanceof HTMLInputElement ? (control.files?.[0] ?? undefined) : undefined;
}

export function isEmpty({ control }: CommandField): boolean {
  return control.type === "file" && control instanceof HTMLInputElement
    ? (control.files?.length ?? 0) === 0
    : control.value.trim() === "";
}

export function markProblem({ problem, control }: CommandField, text: string): void {
  problem.textContent = text;
  control.setAttribute("aria-invalid", text === "" ? "false" : "true");
}

function hasSuggestions(option: CommandOption): boolean {
  return option.autocomplete === true || (option.choices?.length ?? 0) > 0;
}

function isNumeric(option: CommandOption): boolean {
  return option.type === Type.integer || option.type === Type.number;
}
