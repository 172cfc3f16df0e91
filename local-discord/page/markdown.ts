/** Discord's Markdown, the part that bots use: text → nodes. Nothing is fetched, nothing is HTML. */
import { renderAnsi } from "./ansi.js";
import { el } from "./dom.js";
import { icon } from "./icons.js";

/**
 * @param text the message's content
 * @param context `{ nameOfUser(id), channelOf(id), openChannel(id), me }` for mentions
 */
export function renderMarkdown(text, context) {
  const fragment = document.createDocumentFragment();
  let from = 0;
  // A fence closes at the next three backticks, wherever they stand; there is no escaping inside.
  for (const match of text.matchAll(/```(?:([\w+#.-]+)\n)?\n*([\s\S]*?)```/g)) {
    if (match[2] === "" && match[1] === undefined) continue;
    renderLines(fragment, text.slice(from, match.index).replace(/\n$/, ""), context);
    fragment.append(codeBlock(match[2].replace(/\n+$/, ""), match[1]));
    from = match.index + match[0].length;
    if (text[from] === "\n") from += 1;
  }
  renderLines(fragment, text.slice(from), context);
  return fragment;
}

function codeBlock(text, language) {
  const code = el("code", {});
  if (language === "ansi") code.append(renderAnsi(text));
  else code.textContent = text;
  return el("pre", { class: "code-block" }, code);
}

/** Headings, quotes, lists and small print are told by how a line begins. */
function renderLines(parent, text, context) {
  if (text === "") return;
  const lines = text.split("\n");
  let needsBreak = false;
  for (const line of lines) {
    const block = renderBlockLine(line, context);
    if (block) {
      parent.append(block);
      needsBreak = false;
      continue;
    }
    if (needsBreak) parent.append(el("br"));
    renderInline(parent, line, context);
    needsBreak = true;
  }
}

function renderBlockLine(line, context) {
  const kinds = [
    [/^(#{1,3}) +(.+)$/, (match) => el(`h${match[1].length + 2}`, { class: "md-heading" }), 2],
    [/^-# +(.+)$/, () => el("small", { class: "md-small" }), 1],
    [/^> (.*)$/, () => el("blockquote", {}), 1],
    [
      /^( *)[-*] +(.+)$/,
      (match) => el("div", { class: match[1].length >= 2 ? "md-item deep" : "md-item" }),
      2,
    ],
  ];
  for (const [pattern, make, group] of kinds) {
    const match = pattern.exec(line);
    if (!match) continue;
    const block = make(match);
    renderInline(block, match[group], context);
    return block;
  }
  return undefined;
}

/** In order of precedence; each turns its match into a node. */
const INLINE = [
  [/\\([\\`*_~|<>#[\]()@-])/, (match) => document.createTextNode(match[1])],
  [/``(.+?)``(?!`)|`([^`]+)`/, (match) => el("code", { class: "inline-code" }, match[1] ?? match[2])],
  [/<@!?(\d+)>/, (match, context) => userMention(match[1], context)],
  [/<#(\d+)>/, (match, context) => channelMention(match[1], context)],
  [/<t:(-?\d+)(?::([tTdDfFR]))?>/, (match) => timestamp(Number(match[1]), match[2])],
  [/@(everyone|here)\b/, (match) => el("span", { class: "mention" }, `@${match[1]}`)],
  [/\[([^\]\n]+)\]\(<?(https?:\/\/[^\s)>]+)>?\)/, (match, context) => link(match[2], match[1], context)],
  [/<(https?:\/\/[^\s>]+)>|(https?:\/\/[^\s<]+[^\s<.,:;"')\]!?])/, (match) => link(match[1] ?? match[2])],
  [/\*\*(.+?)\*\*(?!\*)/, (match, context) => nested("strong", match[1], context)],
  [/__(.+?)__(?!_)/, (match, context) => nested("u", match[1], context)],
  [/~~(.+?)~~/, (match, context) => nested("s", match[1], context)],
  [/\|\|(.+?)\|\|/, (match, context) => spoiler(match[1], context)],
  [/\*(?!\s)([^*\n]+?)\*/, (match, context) => nested("em", match[1], context)],
  [/(?<![\w])_(?!\s)([^_\n]+?)_(?![\w])/, (match, context) => nested("em", match[1], context)],
];

function renderInline(parent, text, context) {
  let rest = text;
  while (rest !== "") {
    let first;
    for (const [pattern, make] of INLINE) {
      const match = pattern.exec(rest);
      if (match && (!first || match.index < first.match.index)) first = { match, make };
    }
    if (!first) break;
    parent.append(rest.slice(0, first.match.index), first.make(first.match, context));
    rest = rest.slice(first.match.index + first.match[0].length);
  }
  parent.append(rest);
}

function nested(tag, text, context) {
  const element = el(tag);
  renderInline(element, text, context);
  return element;
}

function spoiler(text, context) {
  const element = nested("span", text, context);
  element.className = "spoiler";
  element.tabIndex = 0;
  element.setAttribute("role", "button");
  element.setAttribute("aria-label", "Spoiler, press to show");
  const show = () => {
    element.classList.add("shown");
    element.removeAttribute("role");
    element.removeAttribute("aria-label");
  };
  element.addEventListener("click", show);
  element.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") show();
  });
  return element;
}

function link(address, label, context) {
  const element = el("a", { href: address, target: "_blank", rel: "noopener noreferrer" });
  if (label === undefined) element.textContent = address;
  else renderInline(element, label, context);
  return element;
}

function userMention(id, context) {
  const isMe = id === context.me;
  return el("span", { class: isMe ? "mention me" : "mention" }, `@${context.nameOfUser(id) ?? "unknown"}`);
}

function channelMention(id, context) {
  const channel = context.channelOf(id);
  if (!channel) return el("span", { class: "mention" }, "#unknown");
  const mark = channel.isThread ? icon("thread") : "# ";
  return el(
    "button",
    { class: "mention", type: "button", onclick: () => context.openChannel(id) },
    mark,
    channel.name,
  );
}

function timestamp(seconds, style = "f") {
  const date = new Date(seconds * 1000);
  const full = date.toLocaleString();
  const formats = {
    t: () => date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }),
    T: () => date.toLocaleTimeString(),
    d: () => date.toLocaleDateString(),
    D: () => date.toLocaleDateString([], { dateStyle: "long" }),
    R: () => relative(date.getTime()),
  };
  const text = Number.isNaN(date.getTime()) ? "Invalid date" : (formats[style] ?? (() => full))();
  return el("time", { class: "md-time", title: full }, text);
}

function relative(ms) {
  const seconds = Math.round((ms - Date.now()) / 1000);
  const units = [
    ["day", 86_400],
    ["hour", 3_600],
    ["minute", 60],
  ];
  const format = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  for (const [unit, size] of units) {
    if (Math.abs(seconds) >= size) return format.format(Math.round(seconds / size), unit);
  }
  return format.format(seconds, "second");
}
