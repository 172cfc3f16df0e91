/** Of a message: buttons and lists to choose from; of the newer layout components the texts and what is inside. */
import type { SeenMessage } from "../seen.ts";
import type { Component } from "../types.ts";
import { el } from "./dom.ts";
import { renderMarkdown } from "./markdown.ts";
import type { MessageActions } from "./message-tools.ts";
import type { Names } from "./names.ts";

const BUTTON_STYLES: Record<number, string> = {
  1: "primary",
  2: "secondary",
  3: "success",
  4: "danger",
  5: "secondary",
};
const LINK_STYLE = 5;

export function drawControls(message: SeenMessage, names: Names, actions: MessageActions): HTMLElement {
  const draw = (component: Component): HTMLElement => {
    switch (component.type) {
      case 2:
        return drawButton(message, component, actions);
      case 3:
        return drawSelect(message, component, actions);
      case 10:
        return el("div", { class: "content" }, renderMarkdown(textOf(component["content"]), names));
      case 14:
        return el("hr");
      default: {
        const accessory = component["accessory"] as Component | undefined;
        const inside = [...(component.components ?? []), ...(accessory ? [accessory] : [])];
        return el("div", { class: component.type === 1 ? "control-row" : "control-box" }, inside.map(draw));
      }
    }
  };
  return el("div", { class: "controls" }, message.components.map(draw));
}

function drawButton(message: SeenMessage, component: Component, actions: MessageActions): HTMLElement {
  const emoji = textOf(Reflect.get(Object(component["emoji"]), "name"));
  const label = [emoji, textOf(component["label"])].filter((part) => part !== "").join(" ");
  const style = Number(component["style"]);
  if (style === LINK_STYLE) {
    const href = safeLink(textOf(component["url"]));
    const target = { target: "_blank", rel: "noopener noreferrer" };
    return el("a", { class: "button secondary", href, ...target }, label, " ↗");
  }
  const button = el(
    "button",
    {
      type: "button",
      class: `button ${BUTTON_STYLES[style] ?? "secondary"}`,
      disabled: component["disabled"] === true,
    },
    label,
  );
  button.addEventListener("click", () => actions.operate(message, textOf(component["custom_id"]), [button]));
  return button;
}

interface Option {
  label: string;
  value: string;
  description: string;
  isDefault: boolean;
}

function optionsOf(component: Component): Option[] {
  const options = Array.isArray(component["options"]) ? component["options"] : [];
  return options.map((option: unknown) => {
    const read = (field: string): unknown => Reflect.get(Object(option), field);
    return {
      label: textOf(read("label")),
      value: textOf(read("value")),
      description: textOf(read("description")),
      isDefault: read("default") === true,
    };
  });
}

function drawSelect(message: SeenMessage, component: Component, actions: MessageActions): HTMLElement {
  const most = Number(component["max_values"] ?? 1);
  const least = Number(component["min_values"] ?? 1);
  const isOne = most === 1 && least === 1;
  return isOne
    ? drawSingleSelect(message, component, actions)
    : drawMultipleSelect(message, component, actions, { least, most });
}

function drawSingleSelect(message: SeenMessage, component: Component, actions: MessageActions): HTMLElement {
  const options = optionsOf(component);
  const placeholder = textOf(component["placeholder"]) || "Choose…";
  const hasDefault = options.some((option) => option.isDefault);
  const select = el(
    "select",
    { class: "select", "aria-label": placeholder, disabled: component["disabled"] === true },
    el("option", { value: "", disabled: true, selected: !hasDefault }, placeholder),
    options.map(({ label, value, description, isDefault }) =>
      el("option", { value, selected: isDefault }, description === "" ? label : `${label} — ${description}`),
    ),
  );
  select.addEventListener("change", () =>
    actions.operate(message, textOf(component["custom_id"]), [select], [select.value]),
  );
  return select;
}

function drawMultipleSelect(
  message: SeenMessage,
  component: Component,
  actions: MessageActions,
  { least, most }: { least: number; most: number },
): HTMLElement {
  const placeholder = textOf(component["placeholder"]) || "Choose…";
  const isDisabled = component["disabled"] === true;
  const boxes = optionsOf(component).map(({ label, value, description, isDefault }) => {
    const box = el("input", { type: "checkbox", value, checked: isDefault, disabled: isDisabled });
    const small = description !== "" && el("small", {}, description);
    return { box, row: el("label", { class: "choice" }, box, el("span", {}, label, small)) };
  });
  const send = el("button", { type: "button", class: "button primary choose" }, "Choose");
  const chosen = () => boxes.filter(({ box }) => box.checked).map(({ box }) => box.value);
  const check = () => {
    const count = chosen().length;
    send.disabled = isDisabled || count < least || count > most;
  };
  for (const { box } of boxes) box.addEventListener("change", check);
  send.addEventListener("click", () =>
    actions.operate(
      message,
      textOf(component["custom_id"]),
      [send, ...boxes.map(({ box }) => box)],
      chosen(),
    ),
  );
  check();
  const bounds = el("small", { class: "hint" }, least === most ? `${most}` : `${least} to ${most}`);
  return el(
    "fieldset",
    { class: "choices" },
    el("legend", {}, placeholder, " ", bounds),
    boxes.map(({ row }) => row),
    send,
  );
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function safeLink(address: string): string {
  return /^https?:\/\//.test(address) ? address : "about:blank";
}
