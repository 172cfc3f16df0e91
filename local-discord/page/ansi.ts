/** ```ansi blocks as Discord shows them: bold, underline, eight colours each way, nothing else. */
import { el } from "./dom.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with one
const SGR = /\u001b\[([\d;]*)m/g;

interface Style {
  isBold: boolean;
  isUnderlined: boolean;
  colour: number | undefined;
  background: number | undefined;
}

const PLAIN: Style = { isBold: false, isUnderlined: false, colour: undefined, background: undefined };

export function renderAnsi(text: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  let style = PLAIN;
  let from = 0;
  for (const match of text.matchAll(SGR)) {
    appendRun(fragment, text.slice(from, match.index), style);
    style = applyCodes(style, match[1] ?? "");
    from = match.index + match[0].length;
  }
  appendRun(fragment, text.slice(from), style);
  return fragment;
}

function applyCodes(style: Style, codes: string): Style {
  let next = { ...style };
  for (const code of codes.split(";").map(Number)) {
    if (code === 0) next = { ...PLAIN };
    else if (code === 1) next.isBold = true;
    else if (code === 4) next.isUnderlined = true;
    else if (code >= 30 && code <= 37) next.colour = code;
    else if (code >= 40 && code <= 47) next.background = code;
  }
  return next;
}

function appendRun(parent: DocumentFragment, text: string, style: Style): void {
  if (text === "") return;
  const classes = [
    style.isBold && "ansi-bold",
    style.isUnderlined && "ansi-underline",
    style.colour !== undefined && `ansi-${style.colour}`,
    style.background !== undefined && `ansi-${style.background}`,
  ].filter(Boolean);
  parent.append(classes.length === 0 ? text : el("span", { class: classes.join(" ") }, text));
}
