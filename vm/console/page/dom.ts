/** Making and finding elements. Foreign text becomes text nodes alone: nothing here takes HTML. */

export function find<T extends HTMLElement = HTMLElement>(selector: string): T {
  const element = document.querySelector<T>(selector);
  if (!element) throw new Error(`no ${selector} in the page`);
  return element;
}

/** The first of its name in an element of ours. */
export function findIn<K extends keyof HTMLElementTagNameMap>(
  parent: HTMLElement,
  name: K,
): HTMLElementTagNameMap[K] {
  const element = parent.querySelector(name);
  if (!element) throw new Error(`no ${name} in the element`);
  return element;
}

export function make<K extends keyof HTMLElementTagNameMap>(
  name: K,
  className = "",
  children: readonly (Node | string)[] = [],
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  if (className !== "") element.className = className;
  element.append(...children);
  return element;
}

export function makeButton(label: string, onPress: () => void, className = ""): HTMLButtonElement {
  const button = make("button", className, [label]);
  button.type = "button";
  button.addEventListener("click", onPress);
  return button;
}

/** Whether a key in a field of several lines sends it. A phone's keyboard has no Shift+Enter: there Enter is a new line. */
export function isSendKey({ key, shiftKey, isComposing }: KeyboardEvent): boolean {
  return key === "Enter" && !shiftKey && !isComposing && !isTouched();
}

/** The person has a finger, not a mouse. */
export function isTouched(): boolean {
  return matchMedia("(pointer: coarse)").matches;
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** xterm.js puts its rules into `<style>` elements; the page's policy lets only those in that have the nonce. */
export function giveStylesTheNonce(): void {
  const nonce = find<HTMLMetaElement>('meta[name="style-nonce"]').content;
  const createElement = document.createElement.bind(document);
  document.createElement = (name: string, options?: ElementCreationOptions) => {
    const element = createElement(name, options);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  };
}
