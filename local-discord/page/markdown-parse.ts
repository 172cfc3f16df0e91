/** Discord's Markdown, the part that bots use: text → a tree. Pure; every character of foreign text stays text. */
import { type InlineRule, scanInline } from "../../shared/inline-rules.ts";
import { trimEndOf } from "../../shared/trim-end.ts";

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "strong" | "em" | "underline" | "strike" | "spoiler"; children: Inline[] }
  | { kind: "code"; text: string }
  | { kind: "user" | "channel" | "role"; id: string }
  | { kind: "everyone"; name: string }
  | { kind: "time"; seconds: number; style: string }
  | { kind: "link"; address: string; label: Inline[] | undefined };

export type Block =
  | { kind: "lines"; children: Inline[] }
  | { kind: "code"; language: string | undefined; text: string }
  | { kind: "heading"; level: number; children: Inline[] }
  | { kind: "small"; children: Inline[] }
  | { kind: "item"; depth: number; marker: string; children: Inline[] }
  | { kind: "quote"; blocks: Block[] };

/** Deeper than this nobody writes; what is nested deeper stays as it was typed. */
const MAX_DEPTH = 6;
const MAX_ITEM_DEPTH = 5;

/** A fence closes at the next three backticks, wherever they stand; there is no escaping inside. */
const FENCE = /```(?:([\w+#.-]+)\n)?\n*([\s\S]*?)```/g;

export function parseMarkdown(text: string, depth = 0): Block[] {
  const blocks: Block[] = [];
  let from = 0;
  FENCE.lastIndex = 0;
  const quoteAt = depth >= MAX_DEPTH ? -1 : text.search(/^>>> /m);
  for (const match of text.matchAll(FENCE)) {
    if (quoteAt >= 0 && quoteAt < match.index) break;
    const [whole, language, code = ""] = match;
    if (code === "" && language === undefined) continue;
    parseLines(blocks, text.slice(from, match.index).replace(/\n$/, ""), depth);
    const body = trimEndOf(code, "\n");
    // Discord takes no word for a language if nothing stands below it.
    blocks.push(
      body === "" && language !== undefined
        ? { kind: "code", language: undefined, text: language }
        : { kind: "code", language, text: body },
    );
    from = match.index + whole.length;
    if (text[from] === "\n") from += 1;
  }
  if (quoteAt < from) {
    parseLines(blocks, text.slice(from), depth);
    return blocks;
  }
  // ">>> " quotes all that follows, fences included.
  parseLines(blocks, text.slice(from, quoteAt).replace(/\n$/, ""), depth);
  blocks.push({ kind: "quote", blocks: parseMarkdown(text.slice(quoteAt + 4), depth + 1) });
  return blocks;
}

/** Headings, quotes, lists and small print are told by how a line begins; what lies between them is text. */
function parseLines(blocks: Block[], text: string, depth: number): void {
  if (text === "") return;
  let plain: string[] = [];
  let quoted: string[] = [];
  const flush = () => {
    if (plain.length > 0) blocks.push({ kind: "lines", children: parseInline(plain.join("\n")) });
    plain = [];
    if (quoted.length > 0)
      blocks.push({ kind: "quote", blocks: parseMarkdown(quoted.join("\n"), depth + 1) });
    quoted = [];
  };
  for (const line of text.split("\n")) {
    const quote = depth < MAX_DEPTH ? /^> (.*)$/.exec(line) : null;
    const block = quote ? undefined : parseBlockLine(line);
    if ((quote && plain.length > 0) || (!quote && quoted.length > 0) || block) flush();
    if (quote) quoted.push(quote[1] ?? "");
    else if (block) blocks.push(block);
    else plain.push(line);
  }
  flush();
}

function parseBlockLine(line: string): Block | undefined {
  const heading = /^(#{1,3}) +(\S.*)$/.exec(line);
  if (heading) {
    const [, marks = "", rest = ""] = heading;
    return { kind: "heading", level: marks.length, children: parseInline(rest) };
  }
  const small = /^-# +(\S.*)$/.exec(line);
  if (small) return { kind: "small", children: parseInline(small[1] ?? "") };
  const item = /^( *)([-*]|\d{1,9}\.) +(\S.*)$/.exec(line);
  if (!item) return undefined;
  const [, indent = "", mark = "", rest = ""] = item;
  return {
    kind: "item",
    depth: Math.min(Math.ceil(indent.length / 2), MAX_ITEM_DEPTH),
    marker: /\d/.test(mark) ? mark : "•",
    children: parseInline(rest),
  };
}

const nested =
  (kind: "strong" | "em" | "underline" | "strike" | "spoiler") =>
  (match: RegExpExecArray, depth: number): Inline => ({
    kind,
    children: parseInline(match[1] ?? "", depth + 1),
  });

/** In order of precedence, for matches that begin at the same character. */
const RULES: readonly InlineRule<Inline>[] = [
  { pattern: /\\([!-/:-@[-`{-~])/g, make: ([, sign = ""]) => ({ kind: "text", text: sign }) },
  {
    pattern: /``([\s\S]+?)``(?!`)|`([^`]+)`/g,
    make: ([, double, single]) => ({ kind: "code", text: double ?? single ?? "" }),
  },
  { pattern: /<@!?(\d{1,20})>/g, make: ([, id = ""]) => ({ kind: "user", id }) },
  { pattern: /<#(\d{1,20})>/g, make: ([, id = ""]) => ({ kind: "channel", id }) },
  { pattern: /<@&(\d{1,20})>/g, make: ([, id = ""]) => ({ kind: "role", id }) },
  {
    pattern: /<t:(-?\d{1,13})(?::([tTdDfFR]))?>/g,
    make: ([, seconds, style = "f"]) => ({ kind: "time", seconds: Number(seconds), style }),
  },
  { pattern: /@(everyone|here)\b/g, make: ([, name = ""]) => ({ kind: "everyone", name }) },
  {
    // A label that is an address itself could lie about where it leads: it stays as it was typed.
    pattern: /\[(?![^\]\n]{0,300}:\/\/)([^\]\n]{1,300})\]\(<?(https?:\/\/[^\s)>]+)>?\)/g,
    make: ([, label = "", address = ""], depth) => ({
      kind: "link",
      address,
      label: parseInline(label, depth + 1),
    }),
  },
  {
    pattern: /<(https?:\/\/[^\s>]+)>|(https?:\/\/[^\s<]+[^\s<.,:;"')\]!?])/g,
    make: ([, bracketed, bare]) => ({ kind: "link", address: bracketed ?? bare ?? "", label: undefined }),
  },
  { pattern: /\*\*([\s\S]+?)\*\*(?!\*)/g, make: nested("strong") },
  { pattern: /__([\s\S]+?)__(?!_)/g, make: nested("underline") },
  { pattern: /~~([\s\S]+?)~~/g, make: nested("strike") },
  { pattern: /\|\|([\s\S]+?)\|\|/g, make: nested("spoiler") },
  { pattern: /\*(?!\s)([^*]+?)\*/g, make: nested("em") },
  { pattern: /(?<!\w)_(?!\s)([^_]+?)_(?!\w)/g, make: nested("em") },
];

export function parseInline(text: string, depth = 0): Inline[] {
  return depth > MAX_DEPTH ? [{ kind: "text", text }] : scanInline(text, RULES, depth);
}
