/** The scripts that look at a page, as texts: they run in the page, where nothing of ours is known. */

/**
 * Looks at a grid of points of the visible page. Each point costs the same, whatever the page holds, and what is covered
 * by something else is not found.
 */
export const FIND_SCRIPT = `function ({ picture, width, height, max }) {
  const CLICKABLE = "a[href],button,input:not([type=hidden]),select,textarea,summary,label,iframe,[onclick]," +
    "[contenteditable=''],[contenteditable=true],[role=button],[role=link],[role=checkbox],[role=radio],[role=tab]," +
    "[role=menuitem],[role=option],[role=switch],[role=textbox],[role=combobox]";
  const until = performance.now() + 1500;
  const chosen = new Map();
  const clickableOf = (element) => {
    if (chosen.has(element)) return chosen.get(element);
    let found = element.closest(CLICKABLE);
    if (!found && getComputedStyle(element).cursor === "pointer") {
      found = element;
      while (found.parentElement && getComputedStyle(found.parentElement).cursor === "pointer") found = found.parentElement;
      if (found === document.body || found === document.documentElement) found = null;
    }
    if (!found && element.getRootNode() instanceof ShadowRoot) found = clickableOf(element.getRootNode().host);
    if (found && found.localName === "label" && found.control) found = found.control;
    chosen.set(element, found);
    return found;
  };
  const elements = new Map();
  const look = (root, x, y, left, top) => {
    let element = root.elementFromPoint(x - left, y - top);
    while (element && element.shadowRoot) {
      const inner = element.shadowRoot.elementFromPoint(x - left, y - top);
      if (!inner || inner === element) break;
      element = inner;
    }
    if (!element) return;
    if (element.localName === "iframe" && element.contentDocument) {
      const rect = element.getBoundingClientRect();
      return look(element.contentDocument, x, y, left + rect.left + element.clientLeft, top + rect.top + element.clientTop);
    }
    const found = clickableOf(element);
    if (found && !elements.has(found)) elements.set(found, { left, top });
  };
  for (let y = 4; y < height && elements.size < max && performance.now() < until; y += 9)
    for (let x = 5; x < width && elements.size < max; x += 12) look(document, x, y, 0, 0);
  const textOf = (element) => {
    const own = element.getAttribute("aria-label") || element.getAttribute("placeholder") || element.getAttribute("title") ||
      (element.labels && element.labels[0] && element.labels[0].textContent) || "";
    const isSecret = element.type === "password";
    const value = element.localName === "input" && ["submit", "button", "reset"].includes(element.type) ? element.value : "";
    const shown = element.localName === "select" ? (element.selectedOptions[0] || {}).label || ""
      : element.localName === "input" || element.localName === "textarea" ? (isSecret ? "" : element.value)
      : (element.innerText || element.textContent || element.getAttribute("alt") || "");
    const text = value || [own, shown].filter(Boolean).join(": ") || element.getAttribute("name") || element.getAttribute("href") || "";
    return text.slice(0, 400).replace(/\\s+/g, " ").trim().slice(0, 80);
  };
  const toOf = (element) => {
    const link = element.closest("a[href]");
    const to = link ? link.href : element.type === "submit" && element.form ? element.formAction : "";
    return typeof to === "string" && to !== "" ? { to: to.slice(0, 2000) } : {};
  };
  const kindOf = (element) => {
    const role = element.getAttribute("role");
    if (element.localName === "a" || role === "link") return "link";
    if (element.localName === "select" || role === "combobox") return "choice";
    if (["checkbox", "radio"].includes(element.type) || ["checkbox", "radio", "switch"].includes(role)) return "box";
    if (element.localName === "input" && ["submit", "button", "reset", "image", "file"].includes(element.type)) return "button";
    if (element.localName === "input" || element.localName === "textarea" || element.isContentEditable || role === "textbox") return "field";
    if (element.localName === "iframe") return "frame";
    if (element.localName === "button" || element.localName === "summary" || role === "button") return "button";
    return "other";
  };
  const list = [...elements];
  const memory = (globalThis.threadmux ??= new Map());
  memory.set(picture, list.map(([element]) => new WeakRef(element)));
  for (const known of memory.keys()) if (known <= picture - 8) memory.delete(known);
  const root = document.scrollingElement || document.documentElement;
  return {
    marks: list.map(([element, { left, top }]) => {
      const rect = element.getClientRects()[0] || element.getBoundingClientRect();
      return { kind: kindOf(element), text: textOf(element), ...toOf(element), x: rect.left + left, y: rect.top + top, width: rect.width, height: rect.height };
    }),
    top: root.scrollTop,
    height: root.scrollHeight,
  };
}`;

/** Finds the middle of what can be seen of an element, or says why it can't be clicked. */
export const LOCATE_SCRIPT = `function ({ picture, index, typed }) {
  const list = globalThis.threadmux && globalThis.threadmux.get(picture);
  if (!list) return { why: "unknown" };
  const element = list[index] && list[index].deref();
  if (!element || !element.isConnected) return { why: "gone" };
  if (typed !== null && element.localName === "select") {
    const wanted = typed.trim().toLowerCase();
    const options = [...element.options].slice(0, 5000);
    const option = options.find((one) => one.label.trim().toLowerCase() === wanted) ||
      options.find((one) => one.label.trim().toLowerCase().startsWith(wanted));
    if (!option || option.disabled) return { why: "no choice", text: options.slice(0, 20).map((one) => one.label.trim().slice(0, 60)).join(", ") };
    element.value = option.value;
    option.selected = true;
    element.dispatchEvent(new Event("input", { bubbles: true }));
    element.dispatchEvent(new Event("change", { bubbles: true }));
    return { why: "chosen", text: option.label.slice(0, 80) };
  }
  let left = 0;
  let top = 0;
  for (let view = element.ownerDocument.defaultView; view && view !== window; view = view.parent) {
    const frame = view.frameElement;
    if (!frame) return { why: "gone" };
    const rect = frame.getBoundingClientRect();
    left += rect.left + frame.clientLeft;
    top += rect.top + frame.clientTop;
  }
  const seen = (rect) => {
    const x1 = Math.max(rect.left + left, 0), x2 = Math.min(rect.right + left, innerWidth);
    const y1 = Math.max(rect.top + top, 0), y2 = Math.min(rect.bottom + top, innerHeight);
    return x2 - x1 >= 1 && y2 - y1 >= 1 ? { x: (x1 + x2) / 2, y: (y1 + y2) / 2, x1, x2, y1, y2 } : null;
  };
  const place = [...element.getClientRects()].map(seen).find(Boolean);
  if (!place) return { why: "hidden" };
  const isField = (element.localName === "input" && !["checkbox", "radio", "submit", "button", "reset", "image", "file", "range", "color"].includes(element.type)) ||
    element.localName === "textarea" || element.isContentEditable;
  const root = element.getRootNode();
  const isHit = (x, y) => {
    const hit = root.elementFromPoint ? root.elementFromPoint(x - left, y - top) : null;
    return !!hit && (hit === element || element.contains(hit) || hit.contains(element) ||
      (hit.localName === "label" && hit.control === element) || !!(hit.closest && hit.closest("label") && hit.closest("label").control === element));
  };
  const { x, y, x1, x2, y1, y2 } = place;
  const points = [[x, y], [x1 + (x2 - x1) / 4, y], [x2 - (x2 - x1) / 4, y], [x, y1 + (y2 - y1) / 4], [x, y2 - (y2 - y1) / 4]];
  const free = points.find(([px, py]) => isHit(px, py));
  if (!free) return { why: "covered" };
  if (typed !== null && isField && element.select) { element.focus(); element.select(); }
  return { x: free[0], y: free[1], isField };
}`;

/** Reads a part of the text that the page shows. */
export const TEXT_SCRIPT = `function ({ from, max }) {
  const root = document.body || document.documentElement;
  const all = root ? (root.innerText === undefined ? root.textContent : root.innerText) || "" : "";
  return { text: all.slice(from, from + max), length: all.length };
}`;
