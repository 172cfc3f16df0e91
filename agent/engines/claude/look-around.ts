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
 * Links that leave the directory for what an agent is not to read are found with them: a command follows them unasked.
 * So are those that `CLAUDE.md` and its like are, or are behind, which claude reads by itself.
 *
 * Where this finds more than that it asks too much, never too little.
 */

import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { claude } from "../../../shared/agent/engines/claude.ts";
import { STATE_FOLDER } from "../../../shared/agent/markers.ts";
import { type ShownText, sha256Of } from "../../../shared/directives/trusted.ts";
import { listEach, readWhole, realPathOf } from "../../../shared/foreign-files.ts";
import { findOtherNames } from "../../../shared/sandbox/other-names.ts";
import { findSecretPlaces } from "../../../shared/sandbox/secrets.ts";
import { Steps } from "../../../shared/short-steps.ts";
import type { Env } from "../../engine.ts";
import {
  type Brought,
  type BroughtItem,
  itemOfFolder,
  itemOfLink,
  itemOfProblem,
  itemsOfServers,
  itemsOfSettings,
} from "../../trust/brought.ts";
import { headLines, textLines } from "../../trust/head.ts";
import { findTrees, type GitTrees } from "./git-trees.ts";
import { findMemoryLinks } from "./memory-links.ts";
import { findNested, isInside, NESTED_MAX, type Nested, OUTSIDE, type Places } from "./nested.ts";
import { EACH, isOfProcess } from "./of-process.ts";

const SETTINGS = ["settings.json", "settings.local.json"];
const FOLDERS = ["agents", "commands", "hooks", "output-styles", "skills", "workflows"];
/** Its texts are shown whole: each is a directive that a thread may have as its system text. */
const DIRECTIVES = "agents";
/** A plugin has these files. It may lie in a folder of skills. */
const PLUGIN_FILES = /^(?:plugin|hooks|monitors|settings|\.lsp|\.mcp)\.json$/i;
const MAX_FILES = 2_000;
/** Folders in the folders of `.claude`. */
const MAX_FOLDERS = 2_000;
const MAX_BYTES = 16 * 1024 * 1024;
/** It is parsed in one step. */
const MAX_JSON_BYTES = 64 * 1024;
const MAX_DEPTH = 10;
/** A text that is longer than this is named, and its head is not shown. */
const MAX_TEXT_BYTES = 256 * 1024;
const CHUNK_BYTES = 1024 * 1024;

const EACH_PROBLEM = `it leads to ${EACH}`;

/** A directory, and what of it counts. */
interface Place {
  path: string;
  hasServers: boolean;
  hasSettings: boolean;
  hasFolders: boolean;
}

/** @returns undefined if it brings nothing, or is not there */
export async function lookAround(dir: string, env: Env, max = NESTED_MAX): Promise<Brought | undefined> {
  const real = realPathOf(dir);
  if (typeof real !== "string") return undefined;
  const steps = new Steps();
  const own = [join(env["HOME"] ?? "/", ".claude"), env["CLAUDE_CONFIG_DIR"]].flatMap((path) => {
    const folder = path && realPathOf(path);
    return typeof folder === "string" && folder !== "" ? [folder] : [];
  });
  const { places, problems, repository } = await placesOf(real, steps);
  const guarded = guardedOf(env);
  const roots = [real, ...places.filter(({ hasSettings }) => hasSettings).map(({ path }) => path)];
  const look = new Look(real, { roots, guarded }, steps);
  for (const { path, problem } of problems) look.note(path, problem);
  for (const { path, hasServers, hasSettings, hasFolders } of places) {
    if (hasServers) await look.addFile(join(path, ".mcp.json"), itemsOfServers);
    const folder = join(path, ".claude");
    const target = realPathOf(folder);
    if (typeof target === "string" && own.includes(target)) continue;
    if (hasSettings) for (const name of SETTINGS) await look.addFile(join(folder, name), itemsOfSettings);
    if (hasFolders) for (const name of FOLDERS) await look.addFolder(join(folder, name), name === DIRECTIVES);
  }
  const nested = await findNested(real, { roots, own, guarded }, steps, max);
  for (const path of nested.paths) for (const name of FOLDERS) await look.addFolder(join(path, name));
  const above = ancestorsOf(real).slice(1);
  for (const link of [...nested.outward, ...findMemoryLinks(above, repository, { roots, guarded })])
    look.addLink(link);
  for (const { path, problem } of nested.problems) look.note(path, problem);
  return look.finish();
}

function guardedOf(env: Env): Places["guarded"] {
  const state = env[STATE_FOLDER] === undefined ? undefined : realPathOf(env[STATE_FOLDER]);
  const names = typeof state === "string" ? [state, ...findOtherNames(state).map(({ path }) => path)] : [];
  return [
    ...names.map((path) => ({ path, name: "threadmux's state folder" })),
    ...findSecretPlaces(env["HOME"] ?? "/").map(({ path }) => ({ path, name: "a place of keys" })),
  ];
}

async function placesOf(
  dir: string,
  steps: Steps,
): Promise<{ places: Place[]; problems: GitTrees["problems"]; repository: string }> {
  const above = ancestorsOf(dir);
  const { root, mains, problems } = await findTrees(above, steps);
  const places = above.map((path, at) => ({
    path,
    hasServers: true,
    hasSettings: at <= Math.max(root, 0) || mains.includes(path),
    hasFolders: root < 0 || at <= root || mains.includes(path),
  }));
  const others = mains
    .filter((path) => !above.includes(path))
    .map((path) => ({ path, hasServers: false, hasSettings: true, hasFolders: true }));
  return { places: [...places, ...others], problems, repository: above[root] ?? dir };
}

function ancestorsOf(dir: string): string[] {
  const parent = dirname(dir);
  return parent === dir ? [dir] : [dir, ...ancestorsOf(parent)];
}

type ItemsOf = (name: string, text: string) => BroughtItem[] | undefined;

/** A folder in `.claude`, such as `skills`, and what was found in it so far. */
interface Folder {
  path: string;
  /** Relative to `path`. */
  files: string[];
  heads: { file: string; lines: string[] }[];
  isShown: boolean;
  /** Its texts are directives. */
  areDirectives: boolean;
}

/** Collects what a directory brings, and hashes it. What it can't look at is named, and makes the result incomplete. */
class Look {
  readonly #dir: string;
  readonly #places: { roots: readonly string[]; guarded: Places["guarded"] };
  readonly #steps: Steps;
  readonly #hash = createHash("sha256");
  readonly #items: BroughtItem[] = [];
  readonly #directives: ShownText[] = [];
  #files = 0;
  #folders = 0;
  #bytes = 0;
  #isWhole = true;
  #isOver = false;

  /** @param places `roots`: what is read in them may be shown */
  constructor(dir: string, places: { roots: readonly string[]; guarded: Places["guarded"] }, steps: Steps) {
    this.#dir = dir;
    this.#places = places;
    this.#steps = steps;
  }

  async addFile(path: string, itemsOf: ItemsOf): Promise<void> {
    const body = await this.#take(path, MAX_JSON_BYTES);
    if (body !== undefined && this.#isOutward(path))
      this.#items.push(itemOfLink(this.#nameOf(path), OUTSIDE));
    else if (body !== undefined) this.#addJson(path, body, itemsOf);
    await this.#steps.rest();
  }

  async addFolder(path: string, areDirectives = false): Promise<void> {
    if (this.#isForeign(path)) this.#items.push(itemOfLink(this.#nameOf(path), OUTSIDE));
    const folder: Folder = { path, files: [], heads: [], isShown: !this.#isForeign(path), areDirectives };
    await this.#walk(path, folder, 0);
    if (folder.files.length === 0 || !folder.isShown) return;
    this.#items.push(itemOfFolder(this.#nameOf(path), folder.files, folder.heads));
  }

  /** One that leads out; what it leads to is for nobody's eyes. */
  addLink({ path, leadsTo, real }: Nested["outward"][number]): void {
    this.#items.push(itemOfLink(this.#nameOf(path), leadsTo));
    this.#hash.update(`${JSON.stringify([path, "link", real])}\n`);
  }

  /** Names something that can't be looked at, or that the program may see otherwise than we do. */
  note(path: string, problem: string): void {
    const name = this.#nameOf(path);
    this.#isWhole = false;
    this.#items.push(itemOfProblem(name, problem));
    this.#hash.update(`${JSON.stringify([name, problem])}\n`);
  }

  finish(): Brought | undefined {
    if (this.#items.length === 0) return undefined;
    const key = createHash("sha256")
      .update(JSON.stringify([this.#dir, this.#hash.digest("hex")]))
      .digest("hex");
    const found = { dir: this.#dir, key, items: this.#items, directives: this.#directives };
    return { ...found, isWhole: this.#isWhole, names: claude.brings };
  }

  #nameOf(path: string): string {
    return relative(this.#dir, path) || path;
  }

  async #walk(folder: string, within: Folder, depth: number): Promise<void> {
    if (this.#isOver) return;
    if (within.isShown && this.#isForeign(folder)) {
      this.#items.push(itemOfLink(this.#nameOf(folder), OUTSIDE));
      return this.#walk(folder, { ...within, files: [], isShown: false }, depth);
    }
    if (isOfProcess("/", folder)) return this.note(folder, EACH_PROBLEM);
    const names: string[] = [];
    const problem = await listEach(folder, this.#steps, ({ name }) => {
      names.push(name);
      return names.length <= MAX_FILES;
    });
    if (problem) return this.note(folder, problem.problem);
    if (names.length === 0) return;
    this.#folders += 1;
    if (this.#folders > MAX_FOLDERS || depth >= MAX_DEPTH) return this.#stop(folder);
    for (const name of names.sort()) {
      if (this.#files >= MAX_FILES) return this.#stop(folder);
      await this.#lookAt(join(folder, name), within, depth);
      await this.#steps.rest();
    }
  }

  async #lookAt(path: string, within: Folder, depth: number): Promise<void> {
    if (isFolder(path)) await this.#walk(path, within, depth + 1);
    else {
      const body = await this.#take(path, MAX_BYTES);
      if (body !== undefined) this.#addTo(within, path, body);
    }
  }

  #addTo({ path: folder, files, heads, isShown, areDirectives }: Folder, path: string, body: Buffer): void {
    if (!isShown) return;
    const file = relative(folder, path);
    files.push(file);
    const isPlugin = PLUGIN_FILES.test(basename(path));
    if (!isPlugin && !/\.md$/i.test(path)) return;
    if (this.#isOutward(path)) this.#items.push(itemOfLink(this.#nameOf(path), OUTSIDE));
    else if (body.length > MAX_TEXT_BYTES) this.note(path, "it is too long to be shown");
    else if (isUtf16(body)) this.note(path, "it is in UTF-16, which claude reads otherwise");
    else if (isPlugin) this.#addJson(path, body, /mcp\.json$/i.test(path) ? itemsOfServers : itemsOfSettings);
    else {
      const lines = areDirectives ? textLines(decode(body)) : headLines(decode(body));
      if (lines.length > 0) heads.push({ file, lines });
      if (areDirectives) this.#directives.push({ path, sha256: sha256Of(body) });
    }
  }

  #addJson(path: string, body: Buffer, itemsOf: ItemsOf): void {
    const isSettings = itemsOf === itemsOfSettings;
    const items = itemsOf(this.#nameOf(path), isSettings ? decodeSettings(body) : decode(body));
    if (items === undefined) this.note(path, "it is no JSON object");
    else this.#items.push(...items);
  }

  /** Behind a link, and nothing of the repository's: its contents are for nobody's eyes. */
  #isOutward(path: string): boolean {
    const real = realPathOf(path);
    if (typeof real !== "string" || real === path) return false;
    const { roots, guarded } = this.#places;
    return (
      !roots.some((root) => isInside(root, real)) ||
      guarded.some((place) => isInside(place.path, real) && !isInside(place.path, this.#dir))
    );
  }

  /** A folder whose files' names are not for everybody's eyes either. */
  #isForeign(path: string): boolean {
    const real = realPathOf(path);
    return this.#isOutward(path) && typeof real === "string" && !real.includes("/.claude/");
  }

  async #take(path: string, max: number): Promise<Buffer | undefined> {
    if (isOfProcess("/", path)) {
      this.note(path, EACH_PROBLEM);
      return undefined;
    }
    const read = await readWhole(path, Math.min(max, MAX_BYTES - this.#bytes), this.#steps);
    if (read === undefined) return undefined;
    this.#files += 1;
    if ("problem" in read) {
      this.note(path, read.problem);
      return undefined;
    }
    this.#bytes += read.length;
    const sum = createHash("sha256");
    for (let at = 0; at < read.length; at += CHUNK_BYTES) {
      sum.update(read.subarray(at, at + CHUNK_BYTES));
      await this.#steps.rest();
    }
    this.#hash.update(`${JSON.stringify([path, sum.digest("hex")])}\n`);
    return read;
  }

  /** Once: what comes after it is not looked at. */
  #stop(path: string): void {
    if (!this.#isOver) this.note(path, "more is in it than can be looked at");
    this.#isOver = true;
  }
}

/** claude reads its settings as UTF-16 if a byte order mark says so, and drops a byte order mark. So do we. */
function decodeSettings(body: Buffer): string {
  const isLittle = body[0] === 0xff && body[1] === 0xfe;
  return isLittle ? body.toString("utf16le").replace(/^\ufeff/, "") : decode(body);
}

/** All other files are UTF-8 to it, whatever their first bytes say. */
function decode(body: Buffer): string {
  return body.toString("utf8").replace(/^\ufeff/, "");
}

function isUtf16(body: Buffer): boolean {
  return (body[0] === 0xff && body[1] === 0xfe) || (body[0] === 0xfe && body[1] === 0xff);
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // the try to read it says what it is
  }
}
