/**
 * Reads YAML that others wrote into plain values, with the line of each field. Tags are refused; aliases are followed
 * within bounds. Pure.
 */
import { isAlias, isMap, isScalar, isSeq, Lexer, LineCounter, type Node, parseDocument } from "yaml";
import { formatCount } from "../format-count.ts";
import type { FaultAt } from "./fault.ts";

/** The most tokens of its grammar: more than a head needs, and few enough that no text costs the parser long. */
const MAX_TOKENS = 4_000;
/** Values in all, each alias counted with all that it stands for. */
const MAX_VALUES = 2_000;
/** An `outputSchema` may be 32 deep. */
const MAX_DEPTH = 40;
const MAX_FAULTS = 20;

export interface Read {
  value: unknown;
  /** The line of a field, or of the nearest one around it. */
  lineOf: (path: readonly PropertyKey[]) => number;
}

/** @param firstLine of the file, on which `text` begins */
export function readYaml(text: string, firstLine: number): { read: Read } | { faults: FaultAt[] } {
  const long = findTooLong(text);
  if (long !== undefined) {
    const line = firstLine + text.slice(0, long).split("\n").length - 1;
    return {
      faults: [{ line, field: fieldAt(text, line - firstLine), problem: tooMany(MAX_TOKENS, "words") }],
    };
  }
  const lineCounter = new LineCounter();
  const lineAt = (offset: number) => Math.max(1, lineCounter.linePos(offset).line) - 1;
  const document = parseDocument(text, {
    ...{ version: "1.2", schema: "core", merge: false, stringKeys: true, uniqueKeys: true },
    ...{ lineCounter, prettyErrors: false, logLevel: "error" },
  });
  const found = [...document.errors, ...document.warnings].slice(0, MAX_FAULTS).map(({ pos, message }) => {
    const line = Math.min(lineAt(pos[0]), text.split("\n").length - 1);
    return { line: line + firstLine, field: fieldAt(text, line), problem: firstSentence(message) };
  });
  if (found.length > 0) return { faults: found };
  const reader = new Reader((node) => node.resolve(document), lineAt);
  const value = document.contents === null ? {} : reader.read(document.contents, [], 0);
  if (reader.faults.length > 0)
    return { faults: reader.faults.map((fault) => ({ ...fault, line: fault.line + firstLine })) };
  return { read: { value, lineOf: (path) => reader.lineOf(path) + firstLine } };
}

/** Where the text has more tokens than are read; undefined if it has not. */
function findTooLong(text: string): number | undefined {
  let count = 0;
  let offset = 0;
  for (const token of new Lexer().lex(text)) {
    if (++count > MAX_TOKENS) return offset;
    offset += token.length;
  }
  return undefined;
}

type Alias = Extract<Node, { source: string; resolve: unknown }>;

/** Turns nodes into values. Lines count from 0. */
class Reader {
  readonly faults: FaultAt[] = [];
  readonly #lines = new Map<string, number>();
  readonly #resolve: (alias: Alias) => Node | undefined;
  readonly #lineAt: (offset: number) => number;
  #count = 0;

  constructor(resolve: (alias: Alias) => Node | undefined, lineAt: (offset: number) => number) {
    this.#resolve = resolve;
    this.#lineAt = lineAt;
  }

  lineOf(path: readonly PropertyKey[]): number {
    for (let length = path.length; length > 0; length--) {
      const line = this.#lines.get(keyOf(path.slice(0, length)));
      if (line !== undefined) return line;
    }
    return -1; // the head's own first line
  }

  /** @param path of the value, whose own line is noted already */
  read(node: Node, path: readonly PropertyKey[], depth: number): unknown {
    const line = Math.max(0, this.lineOf(path));
    const refuse = (problem: string) => this.#refuse(line, path, problem);
    if (++this.#count > MAX_VALUES) return refuse(tooMany(MAX_VALUES, "values"));
    if (depth > MAX_DEPTH) return refuse(`is nested more than ${MAX_DEPTH} deep`);
    if (isAlias(node)) {
      const target = this.#resolve(node);
      return target ? this.read(target, path, depth + 1) : refuse(`*${node.source} stands for nothing`);
    }
    if (node.tag !== undefined) return refuse("has a tag (!), which is not read");
    if (isScalar(node)) return node.value;
    if (isSeq(node)) {
      return node.items.map((item, at) => this.#readAt(item as Node, [...path, at], depth, item as Node));
    }
    if (!isMap(node)) return refuse("is nothing that YAML's core has");
    const value: Record<string, unknown> = {};
    for (const { key, value: item } of node.items) {
      const name = isScalar(key) ? String(key.value) : "";
      const within = [...path, name];
      this.#note(within, key as Node);
      if (!isScalar(key)) this.#refuse(this.lineOf(within), within, "must have a plain name");
      else if (name in {})
        this.#refuse(this.lineOf(within), within, "must not be a name that every object has");
      else value[name] = item === null ? null : this.#readAt(item as Node, within, depth);
    }
    return value;
  }

  #readAt(node: Node, path: readonly PropertyKey[], depth: number, at?: Node): unknown {
    if (this.#isOver) return null;
    if (at) this.#note(path, at);
    return this.read(node, path, depth + 1);
  }

  /** What an alias stands for has its line where it was written. */
  #note(path: readonly PropertyKey[], { range }: Node): void {
    const key = keyOf(path);
    if (!this.#lines.has(key)) this.#lines.set(key, this.#lineAt(range?.[0] ?? 0));
  }

  get #isOver(): boolean {
    return this.#count > MAX_VALUES || this.faults.length >= MAX_FAULTS;
  }

  #refuse(line: number, path: readonly PropertyKey[], problem: string): null {
    const field = path.length === 0 ? "head" : path.join(".");
    if (this.faults.length < MAX_FAULTS) this.faults.push({ line, field: field.slice(0, 200), problem });
    return null;
  }
}

const keyOf = (path: readonly PropertyKey[]) => path.map(String).join("\n");

const tooMany = (max: number, what: string) => `is too much: at most ${formatCount(max)} ${what}`;

const firstSentence = (message: string) => message.split("\n")[0] ?? message;

/** The field that a line of the text belongs to, by its indentation: for a text that could not be read. */
function fieldAt(text: string, line: number): string {
  const path: string[] = [];
  let indent = Number.POSITIVE_INFINITY;
  const lines = text.split("\n").slice(0, line + 1);
  for (const one of lines.reverse()) {
    const { 1: space = "", 2: name } =
      /^([ \t]*)(?:- +)*["']?([A-Za-z0-9_-]{1,100})["']?[ \t]*:/.exec(one) ?? [];
    if (name === undefined || space.length >= indent) continue;
    path.unshift(name);
    indent = space.length;
    if (indent === 0) break;
  }
  return path.length === 0 ? "head" : path.join(".");
}
