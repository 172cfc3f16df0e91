/** Files by a pattern: `*` and `?` within a name, `**` for any folders. A walk is bounded, whatever the folders hold. */
import type { Dir, Dirent } from "node:fs";
import { opendir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fitsWildcard } from "../wildcard.ts";

export interface GlobBounds {
  /** How many names are looked at in all. */
  maxEntries: number;
  maxFiles: number;
  /** Ends the walk; what was found by then counts. */
  signal?: AbortSignal;
}

export interface Found {
  /** As the pattern is written: from the working directory on, or absolute. Sorted. */
  files: string[];
  /** A bound was met: there may be more. */
  isCut: boolean;
}

/** Folders in which nobody means a log, and that would use up every bound. */
const SKIPPED = new Set(["node_modules", ".git"]);

export function isGlob(path: string): boolean {
  return /[*?]/.test(path);
}

/** Whether a name fits a pattern of `*` and `?`. Takes as long as both are, multiplied, at the worst. */
export function fitsName(pattern: string, name: string): boolean {
  if (name.startsWith(".") && !pattern.startsWith(".")) return false;
  return fitsWildcard(pattern, name);
}

/**
 * The files, and links, that fit a glob; a folder that can't be read holds none.
 * @param files gets each as it is found, for who does not wait for the end
 */
export async function findFiles(
  root: string,
  pattern: string,
  bounds: GlobBounds,
  files = new Set<string>(),
): Promise<Found> {
  const walk = new Walk(root, bounds, files);
  const isAbsolute = pattern.startsWith("/");
  const segments = pattern.split("/").filter((segment) => segment !== "" && segment !== ".");
  await walk.into(isAbsolute ? "/" : "", segments);
  return { files: [...walk.files].sort(), isCut: walk.isOver };
}

class Walk {
  readonly files: Set<string>;
  readonly #root: string;
  readonly #bounds: GlobBounds;
  #entries = 0;

  constructor(root: string, bounds: GlobBounds, files: Set<string>) {
    this.files = files;
    this.#root = root;
    this.#bounds = bounds;
  }

  get isOver(): boolean {
    const { maxEntries, maxFiles, signal } = this.#bounds;
    return this.#entries >= maxEntries || this.files.size >= maxFiles || signal?.aborted === true;
  }

  async into(folder: string, [segment, ...rest]: readonly string[]): Promise<void> {
    if (segment === undefined || this.isOver) return;
    if (!isGlob(segment) && rest.length > 0) return this.into(join(folder, segment), rest);
    const isDeep = segment === "**";
    if (isDeep && rest.length > 0) await this.into(folder, rest);
    for await (const entry of entriesOf(resolve(this.#root, folder))) {
      this.#entries++;
      const path = join(folder, entry.name);
      if (isDeep) {
        if (entry.isDirectory() && isWalked(entry.name)) await this.into(path, [segment, ...rest]);
        else if (rest.length === 0 && !entry.isDirectory() && fitsName("*", entry.name)) this.files.add(path);
      } else if (!fitsName(segment, entry.name)) continue;
      else if (rest.length > 0) {
        if (entry.isDirectory() || entry.isSymbolicLink()) await this.into(path, rest);
      } else if (!entry.isDirectory()) this.files.add(path);
      if (this.isOver) return;
    }
  }
}

/** The entries of a folder, as they are read; none if it is gone, no folder, or not ours to read. */
export async function* entriesOf(folder: string): AsyncGenerator<Dirent> {
  let entries: Dir;
  try {
    entries = await opendir(folder);
  } catch {
    return;
  }
  try {
    yield* entries;
  } catch {
    // It went while it was read.
  }
}

/** Whether a walk goes into a folder of this name that nobody named. */
export function isWalked(name: string): boolean {
  return !name.startsWith(".") && !SKIPPED.has(name);
}
