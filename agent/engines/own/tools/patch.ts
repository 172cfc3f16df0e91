/** Patches in the form that models are trained on: sections of files, and hunks found by their lines. Pure. */
import { placesOf } from "./sequence.ts";
import { ToolError } from "./tool-error.ts";

export type PatchedFile =
  | { is: "add"; path: string; lines: string[] }
  | { is: "delete"; path: string }
  | { is: "update"; path: string; moveTo: string | undefined; hunks: Hunk[] };

export interface Hunk {
  /** Lines that stand before it, the outer one first. */
  anchors: string[];
  lines: { sign: " " | "-" | "+"; text: string }[];
  /** Its last line is the file's. */
  isAtEnd: boolean;
}

const MAX_FILES = 100;
const MAX_HUNKS = 200;
const MAX_NAMED_LINES = 10;

/** @throws ToolError that names the line */
export function parsePatch(text: string): PatchedFile[] {
  const lines = text.trim().split(/\r?\n/);
  if (lines[0]?.trim() !== "*** Begin Patch") throw new ToolError('A patch begins with "*** Begin Patch".');
  if (lines.at(-1)?.trim() !== "*** End Patch") throw new ToolError('A patch ends with "*** End Patch".');
  const files: PatchedFile[] = [];
  for (const [at, line] of lines.slice(1, -1).entries()) {
    const [, what, path = ""] = /^\*\*\* (Add|Update|Delete) File: (.+)$/.exec(line) ?? [];
    if (what !== undefined) files.push(fileOf(what, path.trim()));
    else takeLine(files.at(-1), line, at + 2);
  }
  if (files.length === 0) throw new ToolError("The patch names no file.");
  if (files.length > MAX_FILES) throw new ToolError(`A patch may change ${MAX_FILES} files at most.`);
  for (const file of files) checkFile(file);
  return files;
}

function fileOf(what: string, path: string): PatchedFile {
  if (what === "Add") return { is: "add", path, lines: [] };
  if (what === "Delete") return { is: "delete", path };
  return { is: "update", path, moveTo: undefined, hunks: [] };
}

function takeLine(file: PatchedFile | undefined, line: string, number: number): void {
  const wrong = (why: string) =>
    new ToolError(`Line ${number} of the patch ${why}: ${JSON.stringify(line)}.`);
  if (!file) throw wrong('stands before "*** Add File: ", "*** Update File: " or "*** Delete File: "');
  switch (file.is) {
    case "delete":
      if (line.trim() !== "") throw wrong("stands in a file that is deleted");
      return;
    case "add":
      if (!line.startsWith("+")) throw wrong("of a file that is added does not begin with +");
      file.lines.push(line.slice(1));
      return;
    case "update":
      if (!takeHunkLine(file, line)) throw wrong("begins with none of space, -, + and @@");
  }
}

function takeHunkLine(file: Extract<PatchedFile, { is: "update" }>, line: string): boolean {
  const [, target] = /^\*\*\* Move to: (.+)$/.exec(line) ?? [];
  const last = file.hunks.at(-1);
  if (target !== undefined) {
    if (file.moveTo !== undefined || last) return false;
    file.moveTo = target.trim();
    return true;
  }
  if (line === "*** End of File") {
    if (last) last.isAtEnd = true;
    return last !== undefined;
  }
  const [, anchor] = /^@@(?: (.*))?$/.exec(line) ?? [];
  if (/^@@/.test(line)) {
    if (!/^@@( |$)/.test(line)) return false;
    const open = last && last.lines.length === 0 ? last : newHunk(file);
    if (anchor !== undefined && anchor.trim() !== "") open.anchors.push(anchor);
    return true;
  }
  const sign = line === "" ? " " : line[0];
  if (sign !== " " && sign !== "-" && sign !== "+") return false;
  (last && !last.isAtEnd ? last : newHunk(file)).lines.push({ sign, text: line.slice(1) });
  return true;
}

function newHunk(file: Extract<PatchedFile, { is: "update" }>): Hunk {
  const hunk: Hunk = { anchors: [], lines: [], isAtEnd: false };
  file.hunks.push(hunk);
  return hunk;
}

function checkFile(file: PatchedFile): void {
  if (file.is !== "update") return;
  if (file.hunks.length === 0 && file.moveTo === undefined)
    throw new ToolError(`The patch changes nothing in ${file.path}.`);
  if (file.hunks.length > MAX_HUNKS)
    throw new ToolError(`A patch may have ${MAX_HUNKS} hunks for a file at most.`);
  for (const [at, hunk] of file.hunks.entries())
    if (!hunk.lines.some(({ sign }) => sign !== " "))
      throw new ToolError(`Hunk ${at + 1} of ${file.path} changes nothing.`);
}

/**
 * A line is found as it is, or else without the blanks at its end. Lines that stay are the file's own.
 * @param text in whatever encoding the hunks are in too
 * @throws ToolError that names the hunk whose place is not there, or not certain
 */
export function applyHunks(text: string, hunks: readonly Hunk[], path: string): string {
  const file = new FileLines(text);
  const changed: string[] = [];
  let from = 0;
  for (const [index, hunk] of hunks.entries()) {
    const name = `Hunk ${index + 1} of ${path}`;
    let at = placeOf(hunk, file, from, name);
    changed.push(...file.raw.slice(from, at));
    for (const { sign, text: line } of hunk.lines) {
      if (sign === "+") changed.push(line + file.lineEnd);
      else if (sign === " ") changed.push(file.raw[at++] ?? "");
      else at++;
    }
    from = at;
  }
  return file.whole([...changed, ...file.raw.slice(from)]);
}

function placeOf(hunk: Hunk, file: FileLines, from: number, name: string): number {
  const wanted = hunk.lines.filter(({ sign }) => sign !== "+").map(({ text }) => text);
  const starts = anchorEnds(hunk.anchors, file, from, name);
  if (wanted.length === 0) {
    if (hunk.isAtEnd || file.raw.length === 0) return file.raw.length;
    if (hunk.anchors.length === 0)
      throw new ToolError(`${name} has no lines by which its place could be found.`);
    return only(starts, name);
  }
  const found = file
    .find(wanted, from)
    .filter((at) => !hunk.isAtEnd || at + wanted.length === file.raw.length);
  if (found.length === 0) throw new ToolError(`${name} does not fit: ${missing(wanted, file, from)}`);
  if (hunk.anchors.length === 0) return only(found, name);
  // After an anchor the next place is meant.
  const next = starts.flatMap((start) => found.find((at) => at >= start) ?? []);
  if (next.length === 0) throw new ToolError(`${name} does not fit behind its @@ line.`);
  return only([...new Set(next)], name);
}

function only(places: readonly number[], name: string): number {
  const [place] = places;
  if (place !== undefined && places.length === 1) return place;
  const lines = places.slice(0, MAX_NAMED_LINES).map((at) => at + 1);
  throw new ToolError(
    `${name} fits in ${places.length} places (lines ${lines.join(", ")}${places.length > lines.length ? ", …" : ""}). Give more lines around it, or an @@ line that stands before it.`,
  );
}

/** Behind each place at which the first anchor stands, and then behind the next place of each other one. */
function anchorEnds(anchors: readonly string[], file: FileLines, from: number, name: string): number[] {
  let starts: number[] | undefined;
  for (const anchor of anchors) {
    const found = file.findTrimmed(anchor.trim(), from);
    const next = starts?.flatMap((start) => found.find((at) => at >= start) ?? []) ?? found;
    if (next.length === 0)
      throw new ToolError(`${name} does not fit: the line ${JSON.stringify(anchor)} of its @@ is not there.`);
    starts = [...new Set(next)].map((at) => at + 1);
  }
  return starts ?? [from];
}

function missing(wanted: readonly string[], file: FileLines, from: number): string {
  const line = wanted.find((one) => file.find([one], 0).length === 0);
  if (line !== undefined) return `the line ${JSON.stringify(line)} is not in the file.`;
  const isBefore = from > 0 && file.find(wanted, 0).length > 0;
  return isBefore
    ? "it stands before the hunk above it. Hunks come in the order of the file."
    : "its lines are in the file, but not one after the other.";
}

const BOM = "\u00ef\u00bb\u00bf";

/** The lines of a file, in numbers: the same text has the same one. */
class FileLines {
  /** With the \r of CRLF, without the \n. */
  readonly raw: string[];
  /** Without the \n. */
  readonly lineEnd: "" | "\r";
  readonly #start: string;
  readonly #end: string;
  readonly #exact: Numbered;
  readonly #loose: Numbered;
  readonly #trimmed: Numbered;

  constructor(text: string) {
    this.#start = text.startsWith(BOM) ? BOM : "";
    const body = text.slice(this.#start.length);
    this.raw = body === "" ? [] : body.split("\n");
    const isEnded = this.raw.at(-1) === "";
    if (isEnded) this.raw.pop();
    const pairs = this.raw.filter((line) => line.endsWith("\r")).length;
    this.lineEnd = pairs * 2 > this.raw.length ? "\r" : "";
    this.#end = isEnded || body === "" ? "\n" : "";
    this.#exact = new Numbered(this.raw, (line) => line.replace(/\r$/, ""));
    this.#loose = new Numbered(this.raw, (line) => line.trimEnd());
    this.#trimmed = new Numbered(this.raw, (line) => line.trim());
  }

  whole(lines: readonly string[]): string {
    if (lines.length === 0) return this.#start;
    // The last line had no end: one that now stands behind it has none either.
    const text = lines.join("\n");
    return this.#start + (this.#end === "" ? text.replace(/\r$/, "") : text + this.#end);
  }

  /** The places from a line on at which these follow each other. */
  find(lines: readonly string[], from: number): number[] {
    const exact = this.#exact.find(lines, from);
    return exact.length > 0 ? exact : this.#loose.find(lines, from);
  }

  findTrimmed(line: string, from: number): number[] {
    return this.#trimmed.find([line], from);
  }
}

class Numbered {
  readonly #numbers = new Map<string, number>();
  readonly #lines: number[];
  readonly #as: (line: string) => string;

  constructor(lines: readonly string[], as: (line: string) => string) {
    this.#as = as;
    this.#lines = lines.map((line) => {
      const text = as(line);
      const number = this.#numbers.get(text) ?? this.#numbers.size;
      this.#numbers.set(text, number);
      return number;
    });
  }

  find(lines: readonly string[], from: number): number[] {
    const wanted = lines.map((line) => this.#numbers.get(this.#as(line)) ?? -1);
    if (wanted.includes(-1)) return [];
    return [...placesOf(wanted, this.#lines, from)];
  }
}
