/**
 * Which folders of git an agent that is kept in its directory needs. The directory's own files may be an agent's work:
 * what they name counts only if git, which no agent could write there, names them in turn.
 */
import { closeSync, lstatSync, mkdirSync, openSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { readRegular } from "../regular-file.ts";

const MAX_POINTER_BYTES = 8_192;
/** All worktrees share these folders, and a commit writes there. Settings and hooks, which run for everybody, are elsewhere. */
const WRITTEN = ["objects", "refs", "logs"];
/** What git keeps of a worktree can be written, but for where the settings and hooks are that git reads there. */
const POINTERS = ["commondir", "gitdir", "config.worktree"];

export interface WorkPlace {
  /** Where the files are: the git work tree, or the directory itself. */
  root: string;
  /** Outside of it; all are real paths. */
  git: { path: string; isWritable: boolean }[];
  /** Files among these that must stay as they are: whoever writes them says what git runs for others there. */
  kept: string[];
}

/**
 * @param dir a real path
 * @param top no work tree above it counts
 */
export function findWorkPlace(dir: string, top: string): WorkPlace {
  for (let at = dir; ; at = dirname(at)) {
    const kind = lstatSync(join(at, ".git"), { throwIfNoEntry: false });
    if (kind?.isDirectory()) return { root: at, git: [], kept: [] };
    if (kind?.isFile()) return { root: at, ...findLinked(at) };
    if (at === top || dirname(at) === at) return { root: dir, git: [], kept: [] };
  }
}

/** None if it is no linked worktree as git makes them. */
function findLinked(root: string): Pick<WorkPlace, "git" | "kept"> {
  const none = { git: [], kept: [] };
  try {
    const [, named] = /^gitdir: (.+)\n?$/.exec(read(join(root, ".git"))) ?? [];
    const gitDir = realpathSync(resolve(root, named ?? ""));
    const common = dirname(dirname(gitDir));
    const back = resolve(gitDir, read(join(gitDir, "gitdir")).trimEnd());
    const isLinked = basename(dirname(gitDir)) === "worktrees" && back === join(root, ".git");
    if (!isLinked || !isFolder(join(common, "objects")) || !isFolder(join(common, "refs"))) return none;
    const logs = join(common, "logs");
    if (!lstatSync(logs, { throwIfNoEntry: false })) mkdirSync(logs);
    const written = WRITTEN.map((name) => join(common, name)).filter(isFolder);
    const pointers = POINTERS.map((name) => join(gitDir, name));
    if (!pointers.every(isFileOrMade)) return none;
    return {
      git: [
        { path: common, isWritable: false },
        ...[...written, gitDir].map((path) => ({ path, isWritable: true })),
      ],
      kept: [join(root, ".git"), ...pointers],
    };
  } catch {
    return none; // it leads nowhere
  }
}

/** Git reads an empty `config.worktree` as none. */
function isFileOrMade(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) closeSync(openSync(path, "wx"));
  return found?.isFile() ?? true;
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** @throws Error if it is no small file */
function read(path: string): string {
  return readRegular(path, MAX_POINTER_BYTES, false).toString();
}
