/**
 * What claude would load of a directory that is not the person's own: settings with their hooks, MCP servers, skills,
 * commands, agents. By experiment with 2.1.330, in `-p` mode and without any question:
 *
 * - `.mcp.json` of the directory and of all above it;
 * - `.claude/settings.json` of the directory, `settings.local.json` also of the repository's root;
 * - skills, commands and agents up to the repository's root, or to the top if there is no repository;
 * - in a linked work tree also those of the main one, wherever that is, or of the bare repository's folder;
 * - skills and their like of each folder below, as soon as a file beside them is read.
 *
 * Where this finds more than that it asks too much, never too little.
 */
import { createHash } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { Env } from "../../engine.ts";
import {
  type Brought,
  type BroughtItem,
  itemOfFolder,
  itemOfProblem,
  itemsOfServers,
  itemsOfSettings,
} from "../../trust/brought.ts";
import { findTrees } from "./git-trees.ts";
import { findNested } from "./nested.ts";
import { readWhole, realPathOf } from "./read-whole.ts";

const SETTINGS = ["settings.json", "settings.local.json"];
const FOLDERS = ["agents", "commands", "hooks", "skills", "workflows"];
const MAX_FILES = 2_000;
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_DEPTH = 10;

/** A directory, and what of it counts. */
interface Place {
  path: string;
  hasServers: boolean;
  hasSettings: boolean;
  hasFolders: boolean;
}

/** @returns undefined if it brings nothing, or is not there */
export function lookAround(dir: string, env: Env, maxFolders?: number): Brought | undefined {
  const real = realPathOf(dir);
  if (real === undefined) return undefined;
  const look = new Look();
  const own = [join(env["HOME"] ?? "/", ".claude"), env["CLAUDE_CONFIG_DIR"]].flatMap(
    (path) => (path && realPathOf(path)) || [],
  );
  const nameOf = (file: string) => relative(real, file) || file;
  const { places, problems } = placesOf(real);
  for (const { path, problem } of problems) look.addProblem(nameOf(path), problem);
  for (const { path, hasServers, hasSettings, hasFolders } of places) {
    if (hasServers) look.addFile(join(path, ".mcp.json"), nameOf, itemsOfServers);
    const folder = join(path, ".claude");
    if (own.includes(realPathOf(folder) ?? "")) continue;
    if (hasSettings) for (const name of SETTINGS) look.addFile(join(folder, name), nameOf, itemsOfSettings);
    if (hasFolders) for (const name of FOLDERS) look.addFolder(join(folder, name), nameOf);
  }
  const nested = findNested(real, own, maxFolders);
  for (const path of nested.paths) for (const name of FOLDERS) look.addFolder(join(path, name), nameOf);
  if (!nested.isWhole) look.addProblem(nameOf(real), "more folders are below it than can be looked at");
  return look.finish(real);
}

function placesOf(dir: string): { places: Place[]; problems: { path: string; problem: string }[] } {
  const above = ancestorsOf(dir);
  const { root, mains, problems } = findTrees(above);
  const places = above.map((path, at) => ({
    path,
    hasServers: true,
    hasSettings: at <= Math.max(root, 0) || mains.includes(path),
    hasFolders: root < 0 || at <= root || mains.includes(path),
  }));
  const others = mains
    .filter((path) => !above.includes(path))
    .map((path) => ({ path, hasServers: false, hasSettings: true, hasFolders: true }));
  return { places: [...places, ...others], problems };
}

function ancestorsOf(dir: string): string[] {
  const parent = dirname(dir);
  return parent === dir ? [dir] : [dir, ...ancestorsOf(parent)];
}

/** What was found, and its hash. Every bound that is reached makes it incomplete. */
class Look {
  readonly #hash = createHash("sha256");
  readonly #items: BroughtItem[] = [];
  #files = 0;
  #bytes = 0;
  #isWhole = true;

  addFile(
    path: string,
    nameOf: (path: string) => string,
    itemsOf: (name: string, text: string) => BroughtItem[],
  ): void {
    const body = this.#take(path, nameOf(path));
    if (body === undefined) return;
    this.#items.push(...itemsOf(nameOf(path), body.toString("utf8")));
  }

  addFolder(path: string, nameOf: (path: string) => string): void {
    const files: string[] = [];
    this.#walk(path, nameOf, files, 0);
    const names = files.map((file) => relative(path, file));
    if (files.length > 0) this.#items.push(itemOfFolder(nameOf(path), names));
  }

  /** Of what the program may see otherwise than we do. */
  addProblem(name: string, problem: string): void {
    this.#isWhole = false;
    this.#note(name, problem);
  }

  finish(dir: string): Brought | undefined {
    if (this.#items.length === 0) return undefined;
    const key = createHash("sha256")
      .update(JSON.stringify([dir, this.#hash.digest("hex")]))
      .digest("hex");
    return { dir, key, items: this.#items, isWhole: this.#isWhole };
  }

  #walk(folder: string, nameOf: (path: string) => string, files: string[], depth: number): void {
    for (const name of this.#list(folder, nameOf)) {
      if (this.#files >= MAX_FILES || depth >= MAX_DEPTH) {
        this.#isWhole = false;
        return;
      }
      const path = join(folder, name);
      const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory();
      if (isFolder) this.#walk(path, nameOf, files, depth + 1);
      else if (this.#take(path, nameOf(path)) !== undefined) files.push(path);
    }
  }

  #list(folder: string, nameOf: (path: string) => string): string[] {
    try {
      return readdirSync(folder).sort();
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT" && code !== "ENOTDIR") this.#note(nameOf(folder), code);
      return [];
    }
  }

  #take(path: string, name: string): Buffer | undefined {
    const read = readWhole(path, MAX_BYTES - this.#bytes);
    if (read === undefined) return undefined;
    this.#files += 1;
    if ("problem" in read) {
      if (read.isTooLong) this.#isWhole = false;
      this.#note(name, read.problem);
      return undefined;
    }
    this.#bytes += read.length;
    const sum = createHash("sha256").update(read).digest("hex");
    this.#hash.update(`${JSON.stringify([path, sum])}\n`);
    return read;
  }

  #note(name: string, problem: string): void {
    this.#items.push(itemOfProblem(name, problem));
    this.#hash.update(`${JSON.stringify([name, problem])}\n`);
  }
}
