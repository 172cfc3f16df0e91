/** The Markdown that agents write, its light part: text → a tree. Pure; every character of foreign text stays text. */
import { type InlineRule, scanInline } from "../../../../shared/inline-rules.ts";

export type Inline =
  | { kind: "text" | "code"; text: string }
  | { kind: "strong" | "em" | "strike"; children: Inline[] }
  /** `label` undefined: the address as it was written. */
  | { kind: "link"; address: string; label: string | undefined };

export type Block =
  | { kind: "paragraph"; children: Inline[] }
  | { kind: "heading"; level: number; children: Inline[] }
  | { kind: "item"; depth: number; marker: string; children: Inline[] }
  | { kind: "quote"; children: Inline[] }
  | { kind: "rule" }
  | { kind: "code"; text: string };

const MAX_DEPTH = 4;
const MAX_ITEM_DEPTH = 6;
/** A longer line is shown as it is. */
const MAX_INLINE_CHARACTERS = 4_000;

export function parseMarkdown(text: string): Block[] {
  const blocks: Block[] = [];
  let paragraph: string[] = [];
  const flush = () => {
    if (paragraph.length > 0) blocks.push({ kind: "paragraph", children: parseInline(paragraph.join("\n")) });
    paragraph = [];
  };
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const fence = /^ {0,8}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence !== undefined) {
      flush();
      const body: string[] = [];
      // A fence that never closes goes to the end.
      for (at++; at < lines.length && !isClosing(lines[at] ?? "", fence); at++) body.push(lines[at] ?? "");
      blocks.push({ kind: "code", text: body.join("\n") });
    } else if (isTableRow(line)) {
      flush();
      const rows: string[] = [];
      for (; at < lines.length && isTableRow(lines[at] ?? ""); at++) rows.push(lines[at] ?? "");
      at--;
      blocks.push({ kind: "code", text: alignTable(rows) });
    } else if (line.trim() === "") {
      flush();
    } else {
      const block = parseLine(line);
      if (block) {
        flush();
        blocks.push(block);
      } else paragraph.push(line);
    }
  }
  flush();
  return blocks;
}

function isClosing(line: string, fence: string): boolean {
  const rest = line.trim();
  return rest.startsWith(fence) && rest.replaceAll(fence[0] ?? "`", "") === "";
}

function isTableRow(line: string): boolean {
  return /^ {0,3}\|.*\|\s*$/.test(line);
}

const MAX_TABLE_COLUMNS = 40;
const MAX_CELL_CHARACTERS = 60;

/** Columns under one another, without the marks. */
function alignTable(rows: readonly string[]): string {
  const cells = rows.map((row) => row.trim().slice(1, -1).split("|").slice(0, MAX_TABLE_COLUMNS).map(trim));
  const isRule = (row: readonly string[]) => row.every((cell) => /^:?-+:?$/.test(cell));
  const told = cells.filter((row) => !isRule(row));
  const columns = Math.max(0, ...cells.map(({ length }) => length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.min(MAX_CELL_CHARACTERS, Math.max(1, ...told.map((row) => (row[column] ?? "").length))),
  );
  const draw = (row: readonly string[]) =>
    widths
      .map((length, i) => (isRule(row) ? "─".repeat(length) : (row[i] ?? "").padEnd(length)))
      .join("  ")
      .trimEnd();
  return cells.map(draw).join("\n");
}

const trim = (cell: string) => cell.trim();

function parseLine(line: string): Block | undefined {
  const heading = /^(#{1,6}) +(\S.*)$/.exec(line);
  if (heading) {
    return { kind: "heading", level: heading[1]?.length ?? 1, children: parseInline(heading[2] ?? "") };
  }
  if (/^ {0,3}([-*_])(?: *\1){2,} *$/.test(line)) return { kind: "rule" };
  const item = /^(\s*)([-*+]|\d{1,9}[.)]) +(\S.*)$/.exec(line);
  if (item) {
    const [, indent = "", mark = "", rest = ""] = item;
    const box = /^\[([ xX])\] (.*)$/.exec(rest);
    return {
      kind: "item",
      depth: Math.min(Math.floor(indent.replaceAll("\t", "    ").length / 2), MAX_ITEM_DEPTH),
      marker: box ? (box[1] === " " ? "☐" : "☑") : /\d/.test(mark) ? mark : "•",
      children: parseInline(box ? (box[2] ?? "") : rest),
    };
  }
  const quote = /^ {0,3}> ?(.*)$/.exec(line);
  return quote ? { kind: "quote", children: parseInline(quote[1] ?? "") } : undefined;
}

const nested =
  (kind: "strong" | "em" | "strike") =>
  (match: RegExpExecArray, depth: number): Inline => ({
    kind,
    children: parseInline(match[1] ?? match[2] ?? "", depth + 1),
  });

/** In order of precedence, for matches that begin at the same character. Each looks at a bounded number of them. */
const RULES: readonly InlineRule<Inline>[] = [
  { pattern: /\\([!-/:-@[-`{-~])/g, make: ([, sign = ""]) => ({ kind: "text", text: sign }) },
  {
    pattern: /(?<!`)``([^\n]{1,1000}?)``(?!`)|`([^`\n]{1,1000})`/g,
    make: ([, double, single]) => ({ kind: "code", text: double ?? single ?? "" }),
  },
  {
    // Pictures are never fetched: they are links like any other.
    pattern: /!?\[([^[\]\n]{1,300})\]\((https?:\/\/[^\s()<>]{1,1000})\)/g,
    make: ([, label = "", address = ""]) => ({ kind: "link", address, label }),
  },
  {
    pattern: /https?:\/\/[^\s<>]{0,1000}[^\s<>.,:;"')\]!?*_`]/g,
    make: ([address = ""]) => ({ kind: "link", address, label: undefined }),
  },
  { pattern: /\*\*(\S[^\n]{0,1000}?)\*\*|(?<!_)__(\S[^\n]{0,1000}?)__(?!\w)/g, make: nested("strong") },
  { pattern: /~~(\S[^\n]{0,1000}?)~~/g, make: nested("strike") },
  { pattern: /\*(?![\s*])([^*\n]{1,1000})\*|(?<!\w)_(?![\s_])([^_\n]{1,1000})_(?!\w)/g, make: nested("em") },
];

export function parseInline(text: string, depth = 0): Inline[] {
  if (depth > MAX_DEPTH || text.length > MAX_INLINE_CHARACTERS) return [{ kind: "text", text }];
  return scanInline(text, RULES, depth);
}
