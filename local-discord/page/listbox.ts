/** A list of suggestions under keyboard and finger, tied to the field that it belongs to. */
import { el } from "./dom.ts";

export interface Suggestion {
  label: string;
  detail?: string;
  choose: () => void;
}

export class Listbox {
  readonly #root: HTMLElement;
  #input: HTMLElement | undefined;
  #items: readonly Suggestion[] = [];
  #active = -1;

  constructor(root: HTMLElement) {
    this.#root = root;
    root.setAttribute("role", "listbox");
    // The field keeps the focus, so that a phone keeps its keyboard.
    root.addEventListener("pointerdown", (event) => event.preventDefault());
  }

  get isOpen(): boolean {
    return !this.#root.hidden && this.#items.length > 0;
  }

  /** Shows `items` for `input`; `note` stands in their place if there are none. */
  show(
    input: HTMLElement,
    list: { title: string; items: readonly Suggestion[]; note?: string; selects?: boolean },
  ): void {
    this.#untie();
    const { title, items, note = "Nothing fits.", selects = true } = list;
    this.#input = input;
    this.#items = items;
    this.#root.setAttribute("aria-label", title);
    const options = items.map((item, index) =>
      el(
        "div",
        {
          class: "option",
          role: "option",
          id: `option-${index}`,
          "aria-selected": "false",
          onclick: () => this.#choose(index),
          onpointermove: () => this.#activate(index, false),
        },
        el("span", { class: "option-label" }, item.label),
        item.detail !== undefined && el("span", { class: "option-detail" }, item.detail),
      ),
    );
    this.#root.replaceChildren(
      el("div", { class: "listbox-title", "aria-hidden": "true" }, title),
      ...(items.length > 0 ? options : [el("div", { class: "listbox-note" }, note)]),
    );
    this.#root.hidden = false;
    input.setAttribute("aria-expanded", "true");
    input.setAttribute("aria-controls", this.#root.id);
    this.#active = -1;
    if (selects && items.length > 0) this.#activate(0, true);
  }

  close(): void {
    this.#untie();
    this.#root.hidden = true;
    this.#items = [];
    this.#active = -1;
  }

  /** Whether the key was for the list. */
  handleKey(event: KeyboardEvent): boolean {
    if (!this.isOpen || event.isComposing) return false;
    const count = this.#items.length;
    if (event.key === "ArrowDown") this.#activate((this.#active + 1) % count, true);
    else if (event.key === "ArrowUp") this.#activate((this.#active - 1 + count) % count, true);
    else if ((event.key === "Enter" || event.key === "Tab") && !event.shiftKey && this.#active >= 0) {
      this.#choose(this.#active);
    } else if (event.key === "Escape") this.close();
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  #activate(index: number, scrolls: boolean): void {
    const options = this.#root.querySelectorAll(".option");
    options[this.#active]?.setAttribute("aria-selected", "false");
    this.#active = index;
    const option = options[index];
    if (!option) return;
    option.setAttribute("aria-selected", "true");
    if (scrolls) option.scrollIntoView({ block: "nearest" });
    this.#input?.setAttribute("aria-activedescendant", option.id);
  }

  #choose(index: number): void {
    const item = this.#items[index];
    this.close();
    item?.choose();
  }

  #untie(): void {
    this.#input?.removeAttribute("aria-activedescendant");
    this.#input?.setAttribute("aria-expanded", "false");
  }
}
