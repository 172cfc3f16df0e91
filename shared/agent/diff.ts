/** Two texts → the lines that differ, with a few around them. Pure, and bounded for whatever texts. */

export interface DiffLine {
  sign: "+" | "-" | " " | "…";
  text: string;
}

/** Lines that stay the same are shown so far around those that don't. */
const CONTEXT_LINES = 3;
/** Beyond so many comparisons all of the old lines stand before all of the new ones. */
const MAX_CELLS = 1_000_000;

export function diffLines(oldText: string, newText: string): DiffLine[] {
  const before = linesOf(oldText);
  const after = linesOf(newText);
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  while (
    tail < before.length - head &&
    tail < after.length - head &&
    before[before.length - 1 - tail] === after[after.length - 1 - tail]
  ) {
    tail++;
  }
  const middle = compare(before.slice(head, before.length - tail), after.slice(head, after.length - tail));
  const same = (text: string): DiffLine => ({ sign: " ", text });
  return fold([
    ...before.slice(0, head).map(same),
    ...middle,
    ...before.slice(before.length - tail).map(same),
  ]);
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** By the longest common subsequence. */
function compare(before: readonly string[], after: readonly string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ sign: "-", text });
  const added = (text: string): DiffLine => ({ sign: "+", text });
  if (before.length * after.length > MAX_CELLS) return [...before.map(removed), ...after.map(added)];
  const width = after.length + 1;
  // How many lines what is left of both has in common.
  const common = new Uint16Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const skip = Math.max(common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0);
      common[i * width + j] = before[i] === after[j] ? 1 + (common[(i + 1) * width + j + 1] ?? 0) : skip;
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [old, fresh] = [before[i], after[j]];
    if (old !== undefined && old === fresh) {
      lines.push({ sign: " ", text: old });
      i++;
      j++;
    } else if (
      fresh === undefined ||
      (old !== undefined && (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0))
    ) {
      lines.push(removed(old ?? ""));
      i++;
    } else {
      lines.push(added(fresh));
      j++;
    }
  }
  return lines;
}

function fold(lines: readonly DiffLine[]): DiffLine[] {
  const shown: DiffLine[] = [];
  let skipped = 0;
  const isNear = (at: number) =>
    lines.slice(Math.max(0, at - CONTEXT_LINES), at + CONTEXT_LINES + 1).some(({ sign }) => sign !== " ");
  const flush = () => {
    if (skipped > 0) shown.push({ sign: "…", text: `${skipped} ${skipped === 1 ? "line" : "lines"}` });
    skipped = 0;
  };
  for (const [at, line] of lines.entries()) {
    if (line.sign === " " && !isNear(at)) skipped++;
    else {
      flush();
      shown.push(line);
    }
  }
  flush();
  return shown;
}
