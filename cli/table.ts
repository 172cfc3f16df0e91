/** Tables for a person's terminal. What others chose is cleaned first (`shared/clean-text.ts`). */

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

/** Cells that `text` takes; never fewer than a terminal uses, so that a table stays within its width. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += /\p{M}/u.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}

/** At most `width` cells of `text`; what is missing shows as `…`. */
export function truncate(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = "";
  let used = 1;
  for (const character of text) {
    used += widthOf(character);
    if (used > width) break;
    kept += character;
  }
  return width > 0 ? `${kept}…` : "";
}

export interface Column {
  title: string;
  /** How far it may shrink where the table is too wide; without it, not at all. The last ones shrink first. */
  minWidth?: number;
}

/**
 * Aligned lines, the titles first. No line is wider than `maxWidth`.
 * @param style of a cell after it has been padded, for colours; row 0 is the titles.
 */
export function formatTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  maxWidth: number,
  style: (cell: string, row: number, column: number) => string = (cell) => cell,
): string[] {
  const lines = [columns.map(({ title }) => title), ...rows];
  const widths = columns.map((_, i) => Math.max(...lines.map((line) => widthOf(line[i] ?? ""))));
  let excess = widths.reduce((sum, width) => sum + width + 2, -2) - maxWidth;
  for (let i = columns.length - 1; i >= 0 && excess > 0; i--) {
    const width = widths[i] ?? 0;
    const shrunk = Math.max(Math.min(width, columns[i]?.minWidth ?? width), width - excess);
    excess -= width - shrunk;
    widths[i] = shrunk;
  }
  return lines.map((line, row) => {
    const cells: string[] = [];
    let left = maxWidth;
    for (const [i, width] of widths.entries()) {
      if (left <= 0) break;
      const text = truncate(line[i] ?? "", Math.min(width, left));
      const isLast = i === widths.length - 1;
      cells.push(style(isLast ? text : text + " ".repeat(Math.min(width, left) - widthOf(text)), row, i));
      left -= width + 2;
    }
    return cells.join("  ");
  });
}

/** `42s`, `7m`, `3h05m`, `12d`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours}h${String(minutes % 60).padStart(2, "0")}m`;
  return `${Math.floor(hours / 24)}d`;
}
