/** Markdown as an agent writes it → blocks that Discord can show. Pure; a line belongs to one block. */
import { breakBackticks } from "../text.ts";

export type Block =
  | { kind: "line"; text: string }
  /** `info` stands behind the opening fence: the language. */
  | { kind: "code"; info: string; lines: string[] };

/** Over this a table is unreadable on a phone, so that it becomes a list. */
const MAX_TABLE_COLUMNS = 40;
const MAX_INFO_CHARACTERS = 20;
/** The names of a wide table's columns stand in each row if they take no more than this, … */
const MAX_NAMES_UNITS = 4_000;
/** … or so many times what the rows themselves take. */
const MAX_NAMES_SHARE = 4;

export interface Blocks {
  blocks: Block[];
  /** The blocks before this one stay as they are, whatever is appended to the text. */
  open: number;
}

/** The blocks of a text. A fence that is never closed ends with the text. */
export function toBlocks(text: string): Blocks {
  const lines = clean(text.replaceAll("\r\n", "\n").replaceAll("\r", "\n")).split("\n");
  const blocks: Block[] = [];
  let open = 0;
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? "";
    // The last line may become a row of the table before it, or make one of the row before it.
    const mayJoin = at === lines.length - 1 && isRow(lines[at - 1] ?? "");
    if (!mayJoin && (at < lines.length - 1 || line !== "")) open = blocks.length;
    const fence = fenceOf(line);
    if (fence) {
      // Discord takes no block of code for a list's item: the item's mark stands above it.
      if (fence.item !== "") blocks.push({ kind: "line", text: fence.item });
      const code: string[] = [];
      for (at += 1; at < lines.length && !isClosing(lines[at] ?? "", fence.marks); at++)
        code.push(lines[at] ?? "");
      at += 1;
      // Words behind the marks of a block without others are what it says, and no language.
      const isOnlyLine = fence.info !== "" && code.every((line) => line.trim() === "");
      const [info, shown] = isOnlyLine ? ["", [fence.info.trimEnd()]] : [infoOf(fence.info), code];
      blocks.push({ kind: "code", info, lines: shown.map(breakBackticks) });
    } else if (isRow(line) && isDelimiter(lines[at + 1] ?? "")) {
      const header = cellsOf(line);
      const rows: string[][] = [];
      for (at += 2; at < lines.length && isRow(lines[at] ?? ""); at++) rows.push(cellsOf(lines[at] ?? ""));
      for (const block of tableBlocks(header, rows)) blocks.push(block); // too many for arguments
    } else {
      blocks.push({ kind: "line", text: harmless(line) });
      at += 1;
    }
  }
  return { blocks, open };
}

/** A line that begins a block of code. `item` is the mark of a list that stands before it, if one does. */
function fenceOf(line: string): { item: string; marks: string; info: string } | undefined {
  if (!line.includes("```") && !line.includes("~~~")) return undefined;
  // In steps: one pattern for all of it would try each way to divide the blanks, which takes quadratic time.
  const item = /^\s*(?:[-*+]|\d{1,9}[.)])\s+/.exec(line)?.[0] ?? "";
  const rest = line.slice(item.length).trimStart();
  const marks = /^(?:`{3,}|~{3,})/.exec(rest)?.[0];
  if (marks === undefined || rest.includes("`", marks.length)) return undefined;
  return { item: item.trimEnd(), marks, info: rest.slice(marks.length).trimStart() };
}

function isClosing(line: string, marks: string): boolean {
  const found = line.trim();
  if (found.length < marks.length) return false;
  for (let at = 0; at < found.length; at++) if (found[at] !== marks[0]) return false;
  return true;
}

function infoOf(text: string): string {
  return /^[\w+#.-]+/.exec(text)?.[0].slice(0, MAX_INFO_CHARACTERS) ?? "";
}

function isRow(line: string): boolean {
  if (!line.includes("|")) return false;
  const row = line.trim();
  return row.length > 1 && row.startsWith("|") && row.endsWith("|");
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
  const widths: number[] = [];
  for (const cells of [header, ...rows])
    for (const [i, cell] of cells.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
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
  const isNamed = mayRepeatNames(header, rows);
  const toItem = (cells: string[]): Block => {
    const shown = isNamed ? cells.map((cell, i) => namedCell(header[i] ?? "", cell)) : cells;
    return { kind: "line", text: harmless(`- ${shown.filter((cell) => cell !== "").join(" · ")}`) };
  };
  const items = rows.map((row) =>
    toItem(isNamed ? [...row, ...header.slice(row.length).map(() => "")] : row),
  );
  if (rows.length > 0 && isNamed) return items;
  return [{ kind: "line", text: harmless(`- ${header.join(" · ")}`) }, ...items];
}

function namedCell(name: string, cell: string): string {
  return name === "" ? cell : `**${name}:** ${cell || "–"}`;
}

/** Whether each row may say the names of all columns: not if a small table would become a very long text by it. */
function mayRepeatNames(header: readonly string[], rows: readonly string[][]): boolean {
  const names = header.reduce((sum, name) => sum + name.length + 8, 0);
  const cells = rows.reduce((sum, row) => row.reduce((units, cell) => units + cell.length + 1, sum), 0);
  return rows.length * names <= MAX_NAMES_UNITS + MAX_NAMES_SHARE * cells;
}

/**
 * Names and notifies nobody: no mention of a person, role, channel or everybody stays one. Begins no code block
 * either: Discord takes three backticks anywhere in a line for its beginning.
 */
function harmless(line: string): string {
  if (!/[<@`]/.test(line)) return line;
  return line
    .replace(/<(?=[@#])/g, "<\u200b")
    .replace(/@(?=everyone|here)/g, "@\u200b")
    .replace(/```([^`]+)```/g, "`$1`")
    .replace(/`(?=``)/g, "`\u200b");
}

/** Without characters that hide or reorder text. Tabs and the ends of lines stay. */
function clean(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200e\u200f]/g, "");
}
