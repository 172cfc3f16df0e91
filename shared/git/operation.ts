/** Whether somebody is in the middle of something in a repository that moves its files about. */
import { lstat, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import type { Repository } from "./repository.ts";

const OPERATIONS: Record<string, string> = {
  "rebase-merge": "a rebase",
  "rebase-apply": "a rebase",
  MERGE_HEAD: "a merge",
  CHERRY_PICK_HEAD: "a cherry-pick",
  REVERT_HEAD: "a revert",
};
/** What git has while it changes the index. A git that is killed leaves it for ever. */
const LOCK = "index.lock";
/** A git that works for so long is rare. */
const STALE_MS = 60_000;

/** A part of a sentence; undefined if nothing is going on. */
export async function findOperation(
  { path, gitDir }: Pick<Repository, "path" | "gitDir">,
  now = Date.now(),
): Promise<string | undefined> {
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    if (await stat(join(gitDir, name)).catch(() => undefined))
      return `${operation} is going on in the repository`;
  }
  const lock = join(gitDir, LOCK);
  const found = await lstat(lock).catch(() => undefined);
  if (!found) return undefined;
  // A linked worktree has its own outside of its files.
  const below = relative(path, lock);
  const shown = below.startsWith("..") ? lock : below;
  const ageMs = now - found.mtimeMs;
  if (ageMs < STALE_MS) return `another git command is going on in the repository (it has ${shown})`;
  return (
    `another git command has had ${shown} for ${describeAge(ageMs)}; if no git runs there, one that was killed has ` +
    "left it: remove that file"
  );
}

function describeAge(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 120) return minutes === 1 ? "a minute" : `${minutes} minutes`;
  return minutes < 2 * 24 * 60 ? `${Math.floor(minutes / 60)} hours` : `${Math.floor(minutes / 1_440)} days`;
}
