/**
 * Reads the files by which a directory instructs agents: `AGENTS.md`, or `CLAUDE.md` if there is none, of the directory
 * and of those above it up to the repository's root. The model reads it with the system text, if a person trusts it.
 */
import { createHash } from "node:crypto";
import { closeSync, lstatSync, readSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { realPathOf } from "../../../shared/foreign-files.ts";
import { openRegular, UnfitFile } from "../../../shared/regular-file.ts";
import { isWithin } from "../../../shared/sandbox/mounts.ts";
import { type Brought, itemOfLink, itemOfProblem, itemOfText } from "../../trust/brought.ts";
import { textLines } from "../../trust/head.ts";

/** The first of a directory counts. */
const NAMES = ["AGENTS.md", "CLAUDE.md"];
const MAX_ABOVE = 64;
/** Largest size of all files together, in bytes; the model reads them at each call. */
const MAX_BYTES = 64 * 1024;

export type Instruction = { name: string } & (
  | { text: string }
  /** It is not read. */
  | { leadsTo: string }
  | { problem: string }
);

/** The outermost directory's first. @param dir the thread's */
export function findInstructions(dir: string): Instruction[] {
  const real = realPathOf(dir);
  if (typeof real !== "string") return [];
  const places = placesAbove(real);
  const root = places.at(-1) ?? real;
  let room = MAX_BYTES;
  return places.reverse().flatMap((place): Instruction[] => {
    const path = NAMES.map((name) => join(place, name)).find((one) => isThere(one));
    if (path === undefined) return [];
    const name = relative(real, path);
    const target = realPathOf(path);
    if (typeof target !== "string") return [{ name, problem: target?.problem ?? "it leads nowhere" }];
    const isLed = target !== path && !(isWithin(root, target) && NAMES.includes(basename(target)));
    if (isLed) return [{ name, leadsTo: target }];
    const text = readText(target, room);
    if (typeof text !== "string") return [{ name, ...text }];
    room -= Buffer.byteLength(text);
    return text.trim() === "" ? [] : [{ name, text }];
  });
}

/** The instructions as the model reads them; a file that could not be read is left out. */
export function instructionText(instructions: readonly Instruction[]): string {
  return instructions
    .flatMap((one) =>
      "text" in one ? [`<file name=${JSON.stringify(one.name)}>\n${one.text.trim()}\n</file>`] : [],
    )
    .join("\n\n");
}

/** For the trust question; undefined if there is nothing. */
export function broughtBy(dir: string, instructions: readonly Instruction[]): Brought | undefined {
  if (instructions.length === 0) return undefined;
  const items = instructions.map((one) => {
    if ("text" in one) return itemOfText(one.name, textLines(one.text));
    return "leadsTo" in one ? itemOfLink(one.name, one.leadsTo) : itemOfProblem(one.name, one.problem);
  });
  const key = createHash("sha256")
    .update(JSON.stringify(["own", dir, instructions]))
    .digest("hex");
  return {
    ...{ dir, key, items },
    isWhole: instructions.every((one) => "text" in one),
    names: { folder: NAMES[0] ?? "", memory: NAMES[0] ?? "" },
  };
}

function placesAbove(dir: string): string[] {
  const places: string[] = [];
  for (let place = dir; places.length < MAX_ABOVE; place = dirname(place)) {
    places.push(place);
    if (isThere(join(place, ".git"))) return places;
    if (dirname(place) === place) break;
  }
  return [dir]; // outside of a repository nobody says how far it reaches
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function readText(path: string, max: number): string | { problem: string } {
  let descriptor: number;
  try {
    descriptor = openRegular(path, false);
  } catch (error) {
    if (error instanceof UnfitFile) return { problem: error.message };
    return { problem: `it can't be read (${(error as NodeJS.ErrnoException).code})` };
  }
  try {
    const bytes = Buffer.alloc(max + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(descriptor, bytes, length, bytes.length - length, null);
    if (length > max)
      return { problem: `it is longer than the ${MAX_BYTES / 1024} KiB that are read in all` };
    return bytes.toString("utf8", 0, length);
  } finally {
    closeSync(descriptor);
  }
}
