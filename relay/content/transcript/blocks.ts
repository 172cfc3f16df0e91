/** Markdown as an agent writes it → blocks that Discord can show. Pure; a line belongs to one block. */
import { breakBackticks } from "../text.ts";

export type Block =
  | { kind: "line"; text: string }
  /** `info` stands behind the opening fence: the language. */
  | { kind: "code"; info: string; lines: string[] };

/** Over this a table is unreadable on a phone, so that it becomes a list. */
const MAX_TABLE_COLUMNS = 40;
const MAX_INFO_CHARACTERS = 20;

export interface Blocks {
  blocks: Block[];
  /** The blocks before this one stay as they are, whatever is appended to the text. */
  open: number;
}

/** The blocks of a text. A fence that is never closed ends with the text. */
export function toBlocks(text: string): Blocks {
  const lines = text.replaceAll("\r\n", "\n").replaceAll("\r", "\n").split("\n");
  const blocks: Block[] = [];
  let open = 0;
  for (let at = 0; at < lines.length; ) {
    const line = clean(lines[at] ?? "");
    // The last line may become a row of the table before it, or make one of the row before it.
    const mayJoin = at === lines.length - 1 && isRow(lines[at - 1] ?? "");
    if (!mayJoin && (at < lines.length - 1 || line !== "")) open = blocks.length;
    const fence = /^(\s*(?:[-*+]|\d{1,9}[.)])\s+)?\s*(`{3,}|~{3,})\s*([^`]*)$/.exec(line);
    if (fence) {
      // Discord takes no block of code for a list's item: the item's mark stands above it.
      if (fence[1]?.trim()) blocks.push({ kind: "line", text: fence[1].trimEnd() });
      const code: string[] = [];
      const isEnd = closing(fence[2] ?? "```");
      for (at += 1; at < lines.length && !isEnd.test(lines[at] ?? ""); at++)
        code.push(clean(lines[at] ?? ""));
      at += 1;
      blocks.push({ kind: "code", info: infoOf(fence[3] ?? ""), lines: code.map(breakBackticks) });
    } else if (isRow(line) && isDelimiter(lines[at + 1] ?? "")) {
      const header = cellsOf(line);
      const rows: string[][] = [];
      for (at += 2; at < lines.length && isRow(lines[at] ?? ""); at++)
        rows.push(cellsOf(clean(lines[at] ?? "")));
      blocks.push(...tableBlocks(header, rows));
    } else {
      blocks.push({ kind: "line", text: harmless(line) });
      at += 1;
    }
  }
  return { blocks, open };
}

function closing(fence: string): RegExp {
  return new RegExp(`^\\s*${fence[0]}{${fence.length},}\\s*$`);
}

function infoOf(text: string): string {
  return /^[\w+#.-]+/.exec(text)?.[0].slice(0, MAX_INFO_CHARACTERS) ?? "";
}

function isRow(line: string): boolean {
  return /^\s*\|.*\|\s*$/.test(line);
}

function isDelimiter(line: string): boolean {
  return isRow(line) && cellsOf(line).every((cell) => /^:?-+:?$/.test(cell));
}

function cellsOf(line: string): string[] {
  const inner = line.trim().slice(1, -1);
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** A narrow table keeps its columns in a code block; a wide one becomes a list, a row an item. */
function tableBlocks(header: string[], rows: string[][]): Block[] {
  const columns = rows.reduce((most, row) => Math.max(most, row.length), header.length);
  const widths = Array.from({ length: columns }, (_, i) =>
    rows.reduce((most, row) => Math.max(most, row[i]?.length ?? 0), header[i]?.length ?? 0),
  );
  const width = widths.reduce((sum, each) => sum + each + 2, -2);
  if (width <= MAX_TABLE_COLUMNS) {
    const toLine = (cells: string[]) =>
      widths
        .map((width, i) => (cells[i] ?? "").padEnd(width))
        .join("  ")
        .trimEnd();
    const rule = widths.map((width) => "─".repeat(width)).join("  ");
    return [
      { kind: "code", info: "", lines: [toLine(header), rule, ...rows.map(toLine)].map(breakBackticks) },
    ];
  }
  if (rows.length === 0) return [{ kind: "line", text: harmless(`- ${header.join(" · ")}`) }];
  return rows.map((row) => {
    const cells = widths.map((_, i) => {
      const [name = "", cell = ""] = [header[i], row[i]];
      return name === "" ? cell : `**${name}:** ${cell || "–"}`;
    });
    return { kind: "line", text: harmless(`- ${cells.filter((cell) => cell !== "").join(" · ")}`) };
  });
}

/**
 * Names and notifies nobody: no mention of a person, role, channel or everybody stays one. Begins no code block
 * either: Discord takes three backticks anywhere in a line for its beginning.
 */
function harmless(line: string): string {
  return line
    .replace(/<(?=[@#])/g, "<\u200b")
    .replace(/@(?=everyone|here)/g, "@\u200b")
    .replace(/```([^`]+)```/g, "`$1`")
    .replace(/`(?=``)/g, "`\u200b");
}

/** Without characters that hide or reorder text. Tabs stay. */
function clean(line: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
  return line.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200e\u200f]/g, "");
}
