/** Elements from names, properties and children. Text only ever becomes text nodes. */

export type Child = Node | string | false | undefined | readonly Child[];
type Property = string | number | boolean | undefined | ((event: never) => void);

/**
 * `el("button", { class: "primary", type: "button", onclick: save }, "Save")`: functions become listeners,
 * false and undefined leave the attribute out.
 */
export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Record<string, Property> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") {
      element.addEventListener(name.replace(/^on/, ""), value as EventListener);
    } else if (name === "value") Reflect.set(element, "value", String(value));
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

export function append(parent: Node, children: readonly Child[]): void {
  for (const child of children) {
    if (child === undefined || child === false) continue;
    if (typeof child === "string") parent.appendChild(document.createTextNode(child));
    else if (child instanceof Node) parent.appendChild(child);
    else append(parent, child);
  }
}

/** Every id that is asked for stands in `index.html`. */
export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (!element) throw new Error(`index.html has no #${id}`);
  return element;
}

/** Oldest first; ids are decimal numbers too long for a Number. */
export function compareIds(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

/** One of the avatar colours, always the same for an id. */
export function hueOf(id: string): number {
  return Number(BigInt(id) % 7n) + 1;
}

export function clock(ms: number): string {
  return new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

export function day(ms: number): string {
  return new Date(ms).toLocaleDateString([], { year: "numeric", month: "long", day: "numeric" });
}

export function fileSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
