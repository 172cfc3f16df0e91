/** Patterns of file names. Pure, and as fast for a hostile pattern as for any other. */
import { ToolError } from "./tool-error.ts";

/** The most alternatives that a pattern such as `{a,b}{c,d}` may have. */
const MAX_ALTERNATIVES = 256;
const MAX_UNITS = 1_000;

/** A character, any one, any number of them, or one of a class. */
type Part = { is: "one"; fits: (character: string) => boolean } | { is: "any" };
/** The part of a pattern between two slashes; `**` stands for any number of parts. */
type Segment = { is: "parts"; parts: Part[] } | { is: "any" };

/**
 * Compiles a pattern as git reads it: `*` and `?` are no slash, `**` is any folders, `[a-z]` one character, `{a,b}`
 * either. A pattern without a slash fits names in every folder.
 * @throws ToolError if the pattern is none
 */
export function compileGlob(pattern: string): (path: string) => boolean {
  if (pattern.length > MAX_UNITS) throw new ToolError("The pattern is too long.");
  const alternatives = expand(pattern).map((one) => {
    const plain = one.replace(/^\.?\//, "");
    return (one.includes("/") ? plain : `**/${plain}`).split("/").map(segmentOf);
  });
  return (path) => {
    const names = path.split("/").map((name) => [...name]);
    return alternatives.some((segments) =>
      matches(
        segments,
        names,
        ({ is }) => is === "any",
        (segment, name) => segment.is === "parts" && matches(segment.parts, name, isAny, fits),
      ),
    );
  };
}

const isAny = ({ is }: Part) => is === "any";
const fits = (part: Part, character: string) => part.is === "one" && part.fits(character);

/** Only the last one that stands for any number is tried anew: what it took before can stay with the one before it. */
function matches<P, T>(
  pattern: readonly P[],
  text: readonly T[],
  isStar: (part: P) => boolean,
  isOne: (part: P, one: T) => boolean,
): boolean {
  let [at, next] = [0, 0];
  let star = -1;
  let taken = 0;
  while (at < text.length) {
    const part = pattern[next];
    const one = text[at] as T;
    if (part !== undefined && isStar(part)) {
      star = next++;
      taken = at;
    } else if (part !== undefined && isOne(part, one)) {
      next++;
      at++;
    } else if (star >= 0) {
      next = star + 1;
      at = ++taken;
    } else return false;
  }
  while (next < pattern.length && isStar(pattern[next] as P)) next++;
  return next === pattern.length;
}

function segmentOf(text: string): Segment {
  if (text === "**") return { is: "any" };
  const parts: Part[] = [];
  const characters = [...text];
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] as string;
    if (character === "*") parts.push({ is: "any" });
    else if (character === "?") parts.push({ is: "one", fits: () => true });
    else if (character === "[") {
      const end = classEnd(characters, at);
      if (end < 0) parts.push(literal(character));
      else {
        parts.push({ is: "one", fits: classOf(characters.slice(at + 1, end)) });
        at = end;
      }
    } else if (character === "\\" && at + 1 < characters.length)
      parts.push(literal(characters[++at] as string));
    else parts.push(literal(character));
  }
  return { is: "parts", parts };
}

function literal(wanted: string): Part {
  return { is: "one", fits: (character) => character === wanted };
}

/** A `]` that stands first is one of the class. */
function classEnd(characters: readonly string[], start: number): number {
  const first = characters[start + 1] === "!" || characters[start + 1] === "^" ? start + 2 : start + 1;
  return characters.indexOf("]", first + 1);
}

function classOf(inside: readonly string[]): (character: string) => boolean {
  const isNot = inside[0] === "!" || inside[0] === "^";
  const characters = isNot ? inside.slice(1) : inside;
  const ranges: [string, string][] = [];
  for (let at = 0; at < characters.length; at++) {
    const from = characters[at] as string;
    const isRange = characters[at + 1] === "-" && at + 2 < characters.length;
    ranges.push([from, isRange ? (characters[at + 2] as string) : from]);
    if (isRange) at += 2;
  }
  return (character) => ranges.some(([from, to]) => from <= character && character <= to) !== isNot;
}

/** Each way to choose between braces. */
function expand(pattern: string): string[] {
  const found = findBraces(pattern);
  if (!found) return [pattern];
  const { start, end, commas } = found;
  const edges = [start, ...commas, end];
  const choices = edges.slice(1).map((edge, at) => pattern.slice((edges[at] ?? 0) + 1, edge));
  const rests = expand(pattern.slice(end + 1));
  const all = choices
    .flatMap(expand)
    .flatMap((choice) => rests.map((rest) => pattern.slice(0, start) + choice + rest));
  if (all.length > MAX_ALTERNATIVES) throw new ToolError("The pattern has too many alternatives in braces.");
  return all;
}

/** The first braces with a comma. Others stand for themselves. */
function findBraces(pattern: string): { start: number; end: number; commas: number[] } | undefined {
  const open: { start: number; commas: number[] }[] = [];
  let found: { start: number; end: number; commas: number[] } | undefined;
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at];
    if (character === "\\") at++;
    else if (character === "{") open.push({ start: at, commas: [] });
    else if (character === ",") open.at(-1)?.commas.push(at);
    else if (character === "}") {
      const closed = open.pop();
      if (closed && closed.commas.length > 0 && (found === undefined || closed.start < found.start))
        found = { ...closed, end: at };
      if (open.length === 0 && found) return found;
    }
  }
  return found;
}
