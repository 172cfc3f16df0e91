/** Finds what git would read of a work tree for ever, or never end reading: anybody may have made it. */
import type { Stats } from "node:fs";
import { lstat, opendir, stat } from "node:fs/promises";
import { join } from "node:path";

/** Files that git opens in each directory, whatever stands there. It follows no link to them. */
const READ_BY_GIT = [".gitignore", ".gitattributes"];
const MAX_BYTES = 100 * 1024 * 1024;
const MAX_ENTRIES = 100_000;

export interface OddFile {
  /** Below the work tree. */
  path: string;
  /** A clause whose subject is the file. */
  why: string;
}

/**
 * Looks at a bounded part of a work tree, the folders near its root first.
 * @param gitDir of ours, in which the repository's `info/exclude` may be
 * @returns undefined if nothing odd is found there, or if it can't be looked at: this never rejects, because who asks
 * is often a timer, which could tell nobody
 */
export async function findOddFile(root: string, gitDir: string): Promise<OddFile | undefined> {
  try {
    return await lookAround(root, gitDir);
  } catch {
    return undefined; // a folder that ends while it is read, or a disk that fails: git's own words say what is wrong
  }
}

async function lookAround(root: string, gitDir: string): Promise<OddFile | undefined> {
  const exclude = join("info", "exclude");
  const why = whyOdd(await stat(join(gitDir, exclude)).catch(() => undefined));
  if (why !== undefined) return { path: join(".git", exclude), why };
  let entries = 0;
  for (const folders = [""]; folders.length > 0 && entries < MAX_ENTRIES; ) {
    const folder = folders.shift() ?? "";
    for (const name of READ_BY_GIT) {
      const path = join(folder, name);
      const why = whyOdd(await lstat(join(root, path)).catch(() => undefined));
      if (why !== undefined) return { path, why };
    }
    const found = await opendir(join(root, folder)).catch(() => undefined); // gone, or not ours to read
    for await (const entry of found ?? []) {
      entries += 1;
      if (entries >= MAX_ENTRIES) break;
      if (entry.isDirectory() && entry.name !== ".git") folders.push(join(folder, entry.name));
    }
  }
  return undefined;
}

function whyOdd(stats: Stats | undefined): string | undefined {
  if (!stats || stats.isDirectory() || stats.isSymbolicLink()) return undefined;
  if (!stats.isFile()) return "is no regular file";
  return stats.size > MAX_BYTES ? `is larger than ${MAX_BYTES / 1024 / 1024} MiB` : undefined;
}
