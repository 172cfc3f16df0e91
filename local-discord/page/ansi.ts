/** ```ansi blocks as Discord shows them: bold, underline, eight colours each way, nothing else. */
import { el } from "./dom.js";

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with one
const SGR = /\u001b\[([\d;]*)m/g;

export function renderAnsi(text) {
  const fragment = document.createDocumentFragment();
  let style = { bold: false, underline: false, color: undefined, background: undefined };
  let from = 0;
  for (const match of text.matchAll(SGR)) {
    append(fragment, text.slice(from, match.index), style);
    style = applyCodes(style, match[1]);
    from = match.index + match[0].length;
  }
  append(fragment, text.slice(from), style);
  return fragment;
}

function applyCodes(style, codes) {
  let next = { ...style };
  for (const code of codes.split(";").map(Number)) {
    if (code === 0) next = { bold: false, underline: false, color: undefined, background: undefined };
    else if (code === 1) next.bold = true;
    else if (code === 4) next.underline = true;
    else if (code >= 30 && code <= 37) next.color = code;
    else if (code >= 40 && code <= 47) next.background = code;
  }
  return next;
}

function append(fragment, text, style) {
  if (text === "") return;
  const classes = [
    style.bold && "ansi-bold",
    style.underline && "ansi-underline",
    style.color && `ansi-${style.color}`,
    style.background && `ansi-${style.background}`,
  ].filter(Boolean);
  fragment.append(classes.length === 0 ? text : el("span", { class: classes.join(" ") }, text));
}
