/** Markdown's tree → nodes. Nothing is fetched, nothing is HTML. */
import { renderAnsi } from "./ansi.ts";
import { append, el } from "./dom.ts";
import { icon } from "./icons.ts";
import { type Block, type Inline, parseMarkdown } from "./markdown-parse.ts";
import type { Names } from "./names.ts";
import { timestamp } from "./timestamps.ts";

export function renderMarkdown(text: string, names: Names): DocumentFragment {
  const fragment = document.createDocumentFragment();
  append(
    fragment,
    parseMarkdown(text).map((block) => renderBlock(block, names)),
  );
  return fragment;
}

function renderBlock(block: Block, names: Names): Node {
  switch (block.kind) {
    case "lines":
      return inlines(el("span"), block.children, names);
    case "code":
      return codeBlock(block.text, block.language);
    case "heading": {
      const tags = ["h3", "h4", "h5"] as const;
      return inlines(el(tags[block.level - 1] ?? "h5", { class: "md-heading" }), block.children, names);
    }
    case "small":
      return inlines(el("small", { class: "md-small" }), block.children, names);
    case "item": {
      const marker = el("span", { class: "md-marker" }, block.marker);
      const row = el("div", { class: `md-item depth-${block.depth}` }, marker);
      row.append(inlines(el("div"), block.children, names));
      return row;
    }
    case "quote":
      return el(
        "blockquote",
        {},
        block.blocks.map((inner) => renderBlock(inner, names)),
      );
  }
}

function codeBlock(text: string, language: string | undefined): HTMLElement {
  return el("pre", { class: "code-block" }, el("code", {}, language === "ansi" ? renderAnsi(text) : text));
}

function inlines<Parent extends HTMLElement>(parent: Parent, parts: readonly Inline[], names: Names): Parent {
  append(
    parent,
    parts.map((part) => renderInline(part, names)),
  );
  return parent;
}

function renderInline(part: Inline, names: Names): Node {
  switch (part.kind) {
    case "text":
      return textWithBreaks(part.text);
    case "strong":
    case "em":
      return inlines(el(part.kind), part.children, names);
    case "underline":
      return inlines(el("u"), part.children, names);
    case "strike":
      return inlines(el("s"), part.children, names);
    case "spoiler":
      return spoiler(part.children, names);
    case "code":
      return el("code", { class: "inline-code" }, part.text);
    case "user": {
      const className = part.id === names.me() ? "mention me" : "mention";
      return el("span", { class: className }, `@${names.ofUser(part.id) ?? "unknown"}`);
    }
    case "channel":
      return channelMention(part.id, names);
    case "role":
      return el("span", { class: "mention" }, `@${names.ofRole(part.id) ?? "unknown-role"}`);
    case "everyone":
      return el("span", { class: "mention" }, `@${part.name}`);
    case "time":
      return timestamp(part.seconds, part.style);
    case "link":
      return link(part.address, part.label, names);
  }
}

function textWithBreaks(text: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  for (const [index, line] of text.split("\n").entries()) {
    if (index > 0) fragment.append(el("br"));
    fragment.append(line);
  }
  return fragment;
}

function spoiler(children: readonly Inline[], names: Names): HTMLElement {
  const element = inlines(
    el("span", { class: "spoiler", tabindex: 0, role: "button", "aria-label": "Spoiler, press to show" }),
    children,
    names,
  );
  const show = () => {
    element.classList.add("shown");
    element.removeAttribute("role");
    element.removeAttribute("aria-label");
  };
  // What lies below the cover must not be pressed by the press that lifts it.
  const lift = (event: Event) => {
    if (element.classList.contains("shown")) return;
    event.preventDefault();
    event.stopPropagation();
    show();
  };
  element.addEventListener("click", lift, true);
  element.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") lift(event);
  });
  return element;
}

function link(address: string, label: readonly Inline[] | undefined, names: Names): HTMLElement {
  const element = el("a", { href: address, target: "_blank", rel: "noopener noreferrer", title: address });
  if (label === undefined) element.textContent = address;
  else inlines(element, label, names);
  return element;
}

function channelMention(id: string, names: Names): HTMLElement {
  const channel = names.findChannel(id);
  if (!channel) return el("span", { class: "mention" }, "#unknown");
  const sign = channel.isThread ? icon("thread") : "# ";
  // No button: that would be one block, and a long name does not break over lines with the text around it.
  return el("a", { class: "mention", href: `#${id}` }, sign, channel.name);
}
