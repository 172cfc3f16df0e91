/** Elements from names, properties and children. Text only ever becomes text nodes. */

/**
 * `el("button", { class: "primary", type: "button", onclick: save }, "Save")`: functions become listeners,
 * false and undefined leave the attribute out.
 */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== false));
  return element;
}

export function byId(id) {
  return document.getElementById(id);
}

/** Oldest first; ids are decimal numbers too long for a Number. */
export function compareIds(a, b) {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

/** One of the avatar colours, always the same for an id. */
export function hueOf(id) {
  return Number(BigInt(id) % 7n) + 1;
}

export function clock(ms) {
  return new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

export function day(ms) {
  return new Date(ms).toLocaleDateString([], { year: "numeric", month: "long", day: "numeric" });
}

export function fileSize(bytes) {
  if (bytes < 1024) return `${bytes} bytes`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
