/** The trees of a git repository that claude looks into, found as it finds them: by the files, git is not asked. */
import { lstatSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { readWhole, realPathOf } from "./read-whole.ts";

const MAX_GIT_FILE = 4_096;

export interface GitTrees {
  /** Where the repository begins among the given directories; -1 if there is none. */
  root: number;
  /** What may be its main tree: also the folder of a bare repository. */
  mains: string[];
  /** What is not as git writes it. claude may read that otherwise than we do. */
  problems: { path: string; problem: string }[];
}

/** @param above a directory, then each of those above it */
export function findTrees(above: readonly string[]): GitTrees {
  const problems: GitTrees["problems"] = [];
  const root = above.findIndex((dir) => {
    const git = join(dir, ".git");
    if (lstatSync(git, { throwIfNoEntry: false }) === undefined) return false;
    const stat = realPathOf(git) === undefined ? undefined : statSync(git);
    if (stat?.isDirectory() || stat?.isFile()) return true;
    problems.push({ path: git, problem: "it is neither a file nor a folder" });
    return false;
  });
  const dir = above[root];
  if (dir === undefined) return { root, mains: [], problems };
  const git = join(dir, ".git");
  const folder = statSync(git).isDirectory() ? git : readLink(git, /^gitdir: (\S|\S[^\r\n]*\S)\n$/, problems);
  if (folder === undefined) return { root, mains: [], problems };
  const common = readLink(join(folder, "commondir"), /^(\S|\S[^\r\n]*\S)\n$/, problems);
  if (common === undefined) return { root, mains: [], problems };
  const names = [common, realPathOf(common) ?? common];
  const mains = names.flatMap((name) => (basename(name) === ".git" ? [name, dirname(name)] : [name]));
  return { root, mains: [...new Set(mains.map((main) => realPathOf(main) ?? main))], problems };
}

/** The path that a file of git names, as claude reads it: without the blanks around it. */
function readLink(path: string, exact: RegExp, problems: GitTrees["problems"]): string | undefined {
  const read = readWhole(path, MAX_GIT_FILE);
  if (read === undefined) return undefined;
  const text = "problem" in read ? "" : read.toString("utf8");
  if (!exact.test(text)) problems.push({ path, problem: "it is not as git writes it" });
  const name = text.trim().replace(/^gitdir:/, "");
  return name === "" ? undefined : resolve(dirname(path), name.trim());
}
