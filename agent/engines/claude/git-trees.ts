/** The trees of a git repository that claude looks into, found as it finds them: by the files, git is not asked. */
import { lstatSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { type Problem, readWhole, realPathOf } from "../../../shared/foreign-files.ts";
import type { Steps } from "../../../shared/short-steps.ts";

const MAX_GIT_FILE = 4_096;

export interface GitTrees {
  /** Where the repository begins among the given directories; -1 if there is none. */
  root: number;
  /** Folders that claude may take for the main work tree; of a bare repository its own folder. */
  mains: string[];
  /** Files that are not exactly as git writes them: claude may read them otherwise than we do. */
  problems: (Problem & { path: string })[];
}

/** @param above a directory, then each of those above it */
export async function findTrees(above: readonly string[], steps: Steps): Promise<GitTrees> {
  const problems: GitTrees["problems"] = [];
  const root = above.findIndex((dir) => {
    const git = join(dir, ".git");
    const kind = kindOf(git);
    if (kind === "other") problems.push({ path: git, problem: "it is neither a file nor a folder" });
    return kind === "file" || kind === "folder";
  });
  const dir = above[root];
  if (dir === undefined) return { root, mains: [], problems };
  const git = join(dir, ".git");
  const isFolder = kindOf(git) === "folder";
  const folder = isFolder
    ? git
    : await readLink(git, /^gitdir: ([^\s\0]|[^\s\0][^\r\n\0]*[^\s\0])\n$/, problems, steps);
  if (folder === undefined) return { root, mains: [], problems };
  const common = await readLink(
    join(folder, "commondir"),
    /^([^\s\0]|[^\s\0][^\r\n\0]*[^\s\0])\n$/,
    problems,
    steps,
  );
  if (common === undefined) return { root, mains: [], problems };
  const names = [common, realOf(common)];
  const mains = names.flatMap((name) => (basename(name) === ".git" ? [name, dirname(name)] : [name]));
  return { root, mains: [...new Set(mains.map(realOf))], problems };
}

function kindOf(path: string): "none" | "file" | "folder" | "other" {
  try {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return "none";
    const stat = statSync(path);
    return stat.isDirectory() ? "folder" : stat.isFile() ? "file" : "other";
  } catch {
    return "other"; // a link that leads nowhere, or what nobody may look at
  }
}

/** The path itself, if it leads nowhere. */
function realOf(path: string): string {
  const real = realPathOf(path);
  return typeof real === "string" ? real : path;
}

/** The path that a file of git names, as claude reads it: without the blanks around it. */
async function readLink(
  path: string,
  exact: RegExp,
  problems: GitTrees["problems"],
  steps: Steps,
): Promise<string | undefined> {
  const read = await readWhole(path, MAX_GIT_FILE, steps);
  if (read === undefined) return undefined;
  const text = "problem" in read ? "" : read.toString("utf8");
  if (!exact.test(text)) problems.push({ path, problem: "it is not as git writes it" });
  const name = text.trim().replace(/^gitdir:/, "");
  return name === "" ? undefined : resolve(dirname(path), name.trim());
}
