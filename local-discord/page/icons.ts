/** Small line drawings: emoji look different everywhere, and are missing on some machines. */

const SVG = "http://www.w3.org/2000/svg";

/** Paths in a box of 24 by 24. */
const PATHS = {
  archive: "M4 8h16M4 8V5h16v3M5 8v11h14V8M12 11v5M9.5 13.5 12 16l2.5-2.5",
  attach: "M12 5v14M5 12h14",
  bell: "M6 17V11a6 6 0 0112 0v6l1.5 2h-15zM10 21h4M12 5V3",
  "bell-off": "M6 17V11a6 6 0 0112 0v6l1.5 2h-15zM10 21h4M4 4l16 16",
  close: "M6 6l12 12M18 6 6 18",
  eye: "M2 12s4-7 10-7 10 7 10 7-4 7-10 7S2 12 2 12zM12 9a3 3 0 100 6 3 3 0 000-6z",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  lock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 017 0v3",
  menu: "M4 7h16M4 12h16M4 17h16",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  pencil: "M5 19l1-4L16 5l3 3L9 18zM14 7l3 3",
  reply: "M9 6 4 11l5 5M4 11h10a6 6 0 016 6v1",
  restore: "M4 8h16M4 8V5h16v3M5 8v11h14V8M12 16v-5M9.5 13.5 12 11l2.5 2.5",
  send: "M4 5l16 7-16 7 3-7zM7 12h7",
  thread: "M4 5h16v10h-8l-5 4v-4H4zM8 9h8M8 11.5h5",
  trash: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13M10.5 11v5M13.5 11v5",
  unlock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 016.8-1.2",
} as const;

export type IconName = keyof typeof PATHS;

/** Decoration only: whoever shows it says in words what it means. */
export function icon(name: IconName): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}
