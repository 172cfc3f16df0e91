/** Markdown's tree → nodes. Nothing is fetched, nothing is HTML, nothing hides where it leads. */
import { cleanLines } from "../../../../shared/clean-text.ts";
import { make } from "../dom.ts";
import { type Block, type Inline, parseMarkdown } from "./markdown-parse.ts";

export function renderMarkdown(text: string): HTMLElement {
  return make("div", "markdown", parseMarkdown(cleanLines(text)).map(renderBlock));
}

function renderBlock(block: Block): HTMLElement {
  switch (block.kind) {
    case "paragraph":
      return make("p", "", block.children.map(renderInline));
    case "heading":
      // Below the page's own headings.
      return make(
        block.level === 1 ? "h3" : block.level === 2 ? "h4" : "h5",
        "",
        block.children.map(renderInline),
      );
    case "item": {
      const row = make("div", "item", [
        make("span", "marker", [block.marker]),
        make("div", "", block.children.map(renderInline)),
      ]);
      row.style.marginLeft = `${block.depth * 18}px`;
      return row;
    }
    case "quote":
      return make("blockquote", "", block.children.map(renderInline));
    case "rule":
      return make("hr");
    case "code":
      return make("pre", "", [make("code", "", [block.text])]);
  }
}

function renderInline(part: Inline): Node {
  switch (part.kind) {
    case "text":
      return document.createTextNode(part.text);
    case "code":
      return make("code", "", [part.text]);
    case "strong":
    case "em":
      return make(part.kind, "", part.children.map(renderInline));
    case "strike":
      return make("s", "", part.children.map(renderInline));
    case "link":
      return renderLink(part.address, part.label);
  }
}

/** A label may lie about where it leads, so the host stands behind it. */
function renderLink(address: string, label: string | undefined): Node {
  if (!URL.canParse(address)) return document.createTextNode(label ?? address);
  const { host, protocol, href } = new URL(address);
  if (protocol !== "https:" && protocol !== "http:") return document.createTextNode(label ?? address);
  const link = make("a", "", [label ?? address]);
  Object.assign(link, { href, target: "_blank", rel: "noopener noreferrer", title: href });
  if (label === undefined) return link;
  return make("span", "", [link, make("span", "host", [` (${host})`])]);
}
