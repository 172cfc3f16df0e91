/** The elements that the composer is made of. */
import { el } from "./dom.ts";
import { icon } from "./icons.ts";

export interface ComposerParts {
  listRoot: HTMLElement;
  input: HTMLTextAreaElement;
  picker: HTMLInputElement;
  attach: HTMLButtonElement;
  replyBar: HTMLElement;
  fileBar: HTMLElement;
  error: HTMLElement;
  box: HTMLFormElement;
  formPlace: HTMLElement;
}

export function drawComposer(): ComposerParts {
  const input = el("textarea", {
    id: "composer-input",
    rows: "1",
    role: "combobox",
    "aria-expanded": "false",
    "aria-autocomplete": "list",
    "aria-haspopup": "listbox",
    enterkeyhint: "send",
    maxlength: "4000",
  });
  const picker = el("input", {
    type: "file",
    multiple: true,
    class: "visually-hidden",
    tabindex: "-1",
    "aria-hidden": "true",
  });
  const names = (label: string) => ({ "aria-label": label, title: label });
  const attach = el(
    "button",
    { type: "button", class: "icon-button", ...names("Attach files") },
    icon("attach"),
  );
  const send = el("button", { type: "submit", class: "icon-button send", ...names("Send") }, icon("send"));
  return {
    listRoot: el("div", { id: "suggestions", class: "listbox", hidden: true }),
    input,
    picker,
    attach,
    replyBar: el("div", { class: "reply-bar", hidden: true }),
    fileBar: el("div", { class: "file-bar", hidden: true }),
    error: el("p", { class: "form-error", role: "alert" }),
    box: el("form", { class: "composer-box" }, attach, picker, input, send),
    formPlace: el("div"),
  };
}
