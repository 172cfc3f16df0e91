/** A child works in its parent's directory, or one below it, also if that is in a worktree or in user space. */
import { realpathSync } from "node:fs";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { AppError } from "../../shared/errors.ts";
import type { AgentFolders } from "../agents/folders.ts";
import type { Worktrees } from "../agents/worktrees.ts";
import type { StoredThread } from "../store/threads.ts";
import type { CreateRequest } from "../threads/kinds/kind.ts";
import type { UserSpace } from "../threads/user-space.ts";

export interface ChildPlaceOptions {
  folders: AgentFolders;
  worktrees: Worktrees;
  userSpace: UserSpace;
  /** A real path. */
  reposDir: string;
}

type ChildPlace = Pick<CreateRequest, "dir" | "workspace"> & { /** Absolute. */ path: string };

/** @param wanted below the parent's own. @throws AppError `invalid_directory` */
export function placeOfChild(
  { reposDir, folders, worktrees, userSpace }: ChildPlaceOptions,
  parent: StoredThread,
  wanted: string | undefined,
): ChildPlace {
  const own = folders.findConfig(parent.threadId)?.dir ?? parent.path;
  const dir = dirOf(own, wanted);
  if (worktrees.holds(own) || userSpace.holds(own))
    return { dir: parent.dir, workspace: { kind: "there", path: parent.path, dir }, path: dir };
  const inRepos = relative(reposDir, dir) || ".";
  return { dir: inRepos, path: resolve(reposDir, inRepos) };
}

/** A real path. */
function dirOf(path: string, wanted: string | undefined): string {
  const refuse = () => new AppError("invalid_directory", "dir: must be a directory below this thread's own.");
  if (wanted !== undefined && (wanted.includes("\0") || isAbsolute(wanted))) throw refuse();
  let real: string;
  try {
    real = realpathSync(resolve(path, wanted ?? "."));
  } catch {
    throw refuse(); // it is not there
  }
  if (!isBelow(real, path)) throw refuse();
  return real;
}

export const isBelow = (path: string, root: string) => path === root || path.startsWith(root + sep);
