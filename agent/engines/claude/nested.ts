/** The `.claude` folders below a directory: claude loads what is in them once it reads a file beside them. */
import { type Dirent, readdirSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { realPathOf } from "./read-whole.ts";

/** A large repository with all that it depends on has some ten thousand. */
const MAX_FOLDERS = 50_000;
const MAX_ENTRIES = 1_000_000;

export interface Nested {
  paths: string[];
  /** False if there was too much to be looked at. */
  isWhole: boolean;
}

/**
 * Follows links to folders too, each once.
 * @param dir a real path; its own `.claude` is left out
 * @param own real paths of folders that are the person's own
 */
export function findNested(dir: string, own: readonly string[], maxFolders = MAX_FOLDERS): Nested {
  const paths: string[] = [];
  const trees = [dir];
  const waiting = [dir];
  let folders = 0;
  let entries = 0;
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    folders += 1;
    const list = listFolder(folder);
    entries += list.length;
    if (folders > maxFolders || entries > MAX_ENTRIES) return { paths: paths.sort(), isWhole: false };
    for (const entry of list) {
      const path = join(folder, entry.name);
      if (!entry.isDirectory() && !entry.isSymbolicLink()) continue;
      const real = entry.isSymbolicLink() || entry.name === ".claude" ? realPathOf(path) : path;
      if (real === undefined || own.includes(real)) continue;
      if (entry.name === ".claude" && folder !== dir) paths.push(path);
      if (entry.isSymbolicLink()) {
        if (trees.some((tree) => isInside(tree, real)) || !statSync(real).isDirectory()) continue;
        trees.push(real);
      }
      waiting.push(path);
    }
  }
  return { paths: paths.sort(), isWhole: true };
}

function isInside(tree: string, path: string): boolean {
  return path === tree || tree === sep || path.startsWith(`${tree}${sep}`);
}

function listFolder(path: string): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Gone meanwhile, or closed to us, and so to the engine.
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EACCES" || code === "EPERM") return [];
    throw error;
  }
}
