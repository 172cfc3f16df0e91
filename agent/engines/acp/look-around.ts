/**
 * The files by which a directory tells one of the known agents what to run and what to ask about: settings, servers,
 * plugins. The agent reads them by itself and can't be told to leave them out, so without a person's trust it is not
 * started at all. They count in the directory and in all above it, up to the repository's root.
 */
import { createHash } from "node:crypto";
import { lstatSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { listEach, readWhole, realPathOf } from "../../../shared/foreign-files.ts";
import { Steps } from "../../../shared/short-steps.ts";
import type { Env } from "../../engine.ts";
import {
  type Brought,
  type BroughtItem,
  itemOfFolder,
  itemOfLink,
  itemOfProblem,
  itemsOfSettings,
} from "../../trust/brought.ts";
import { textLines } from "../../trust/head.ts";
import { findKnown } from "./known.ts";

const MAX_FILES = 2_000;
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_SHOWN_BYTES = 64 * 1024;
const MAX_ABOVE = 64;
const MAX_DEPTH = 10;

/** @returns undefined if it brings nothing, or the agent is none that we know: that one is the person's own program */
export async function lookAround(dir: string, program: string, env: Env): Promise<Brought | undefined> {
  const known = findKnown(program);
  const real = realPathOf(dir);
  if (!known || typeof real !== "string") return undefined;
  const look = new Look(real);
  for (const place of placesAbove(real, env["HOME"] ?? "/"))
    for (const name of known.reads) await look.add(join(place, name));
  const found = look.finish();
  return found && { ...found, names: { folder: known.reads[0] ?? "", memory: "AGENTS.md" }, isNeeded: true };
}

/** The directory and those above it that the agent takes for the same work: not the person's own home. */
function placesAbove(dir: string, home: string): string[] {
  const places: string[] = [];
  for (let place = dir; places.length < MAX_ABOVE; place = dirname(place)) {
    if (place !== realPathOf(home) || place === dir) places.push(place);
    const isRoot = lstatSync(join(place, ".git"), { throwIfNoEntry: false }) !== undefined;
    if (isRoot || dirname(place) === place) break;
  }
  return places;
}

class Look {
  readonly #dir: string;
  readonly #steps = new Steps();
  readonly #hash = createHash("sha256");
  readonly #items: BroughtItem[] = [];
  #files = 0;
  #bytes = 0;
  #isWhole = true;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** A file or a folder, if it is there. */
  async add(path: string): Promise<void> {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (!stat) return;
    if (stat.isSymbolicLink()) return this.#addLink(path);
    if (!stat.isDirectory()) return await this.#addFile(path);
    const files: string[] = [];
    await this.#walk(path, path, files, 0);
    if (files.length > 0) this.#items.push(itemOfFolder(this.#nameOf(path), files.sort()));
  }

  finish(): Pick<Brought, "dir" | "key" | "items" | "isWhole"> | undefined {
    if (this.#items.length === 0) return undefined;
    const key = createHash("sha256").update(JSON.stringify(["acp", this.#dir, this.#hash.digest("hex")]));
    return { dir: this.#dir, key: key.digest("hex"), items: this.#items, isWhole: this.#isWhole };
  }

  #nameOf(path: string): string {
    return relative(this.#dir, path) || path;
  }

  /** The place behind a link may change unseen, and may be anybody's. */
  #addLink(path: string): void {
    this.#items.push(itemOfLink(this.#nameOf(path), "what is not looked at"));
    this.#note(path, "it is a link");
  }

  async #addFile(path: string): Promise<void> {
    const body = await this.#take(path);
    if (!body) return;
    const name = this.#nameOf(path);
    const text = body.toString("utf8");
    if (body.length > MAX_SHOWN_BYTES) this.#note(path, "it is too long to be shown");
    else
      this.#items.push(
        ...(itemsOfSettings(name, text) ?? [
          itemOfFolder(name, [name], [{ file: name, lines: textLines(text) }]),
        ]),
      );
  }

  async #walk(top: string, folder: string, files: string[], depth: number): Promise<void> {
    if (depth > MAX_DEPTH) return this.#note(folder, "more is in it than can be looked at");
    const entries: { name: string; isFolder: boolean; isLink: boolean }[] = [];
    const problem = await listEach(folder, this.#steps, (entry) => {
      entries.push({ name: entry.name, isFolder: entry.isDirectory(), isLink: entry.isSymbolicLink() });
      return entries.length <= MAX_FILES;
    });
    if (problem) return this.#note(folder, problem.problem);
    for (const { name, isFolder, isLink } of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(folder, name);
      if (this.#files >= MAX_FILES) return this.#note(folder, "more is in it than can be looked at");
      if (isLink) this.#addLink(path);
      else if (isFolder) await this.#walk(top, path, files, depth + 1);
      else if (await this.#take(path)) files.push(relative(top, path));
    }
  }

  async #take(path: string): Promise<Buffer | undefined> {
    const read = await readWhole(path, MAX_BYTES - this.#bytes, this.#steps);
    this.#files += 1;
    if (read === undefined) return undefined;
    if ("problem" in read) {
      this.#note(path, read.problem);
      return undefined;
    }
    this.#bytes += read.length;
    const sum = createHash("sha256").update(read).digest("hex");
    this.#hash.update(`${JSON.stringify([path, sum])}\n`);
    return read;
  }

  #note(path: string, problem: string): void {
    this.#isWhole = false;
    this.#items.push(itemOfProblem(this.#nameOf(path), problem));
    this.#hash.update(`${JSON.stringify([path, problem])}\n`);
  }
}
