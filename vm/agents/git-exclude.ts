/** Keeps a folder of ours out of what git calls untracked: one line in the repository's own `info/exclude`. */
import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import { ProjectionFolder } from "./projection-folder.ts";

const MAX_EXCLUDE_BYTES = 256 * 1024;

/**
 * @param dir a real path
 * @param line a pattern of gitignore
 * @returns false if the directory is in a repository whose own folder is elsewhere, or is reached by a link
 * @throws Error if the file can't be read or written
 */
export function excludeFromGit(dir: string, line: string): boolean {
  const root = findRoot(dir);
  if (root === undefined) return true;
  if (!lstatSync(join(root, ".git")).isDirectory()) return false;
  ProjectionFolder.use(root, [".git", "info"], true, (folder) => {
    const before = folder.read("exclude", MAX_EXCLUDE_BYTES) ?? "";
    if (before.split("\n").includes(line)) return;
    const end = before === "" || before.endsWith("\n") ? "" : "\n";
    folder.write("exclude", `${before}${end}${line}\n`, 0o644);
  });
  return true;
}

/** The nearest folder that has a `.git`, whatever that is. */
function findRoot(dir: string): string | undefined {
  for (let at = dir; ; at = dirname(at)) {
    if (lstatSync(join(at, ".git"), { throwIfNoEntry: false })) return at;
    if (dirname(at) === at) return undefined;
  }
}
