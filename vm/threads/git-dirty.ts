/** Whether anything of a repository is changed. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { linkRepository } from "../../shared/git/own-dir.ts";
import type { Repository } from "../../shared/git/repository.ts";
import { type GitPlace, killGit, spawnGit } from "../../shared/git/run-git.ts";
import { onAbort } from "../../shared/lifecycle.ts";

/**
 * Whether anything is changed, staged or untracked; undefined where that can't be told, or `signal` fired before.
 * @param env `PATH` and `HOME` of it are used.
 */
export async function findDirty(
  repository: Repository,
  { env, signal }: { env: Record<string, string>; signal: AbortSignal },
): Promise<boolean | undefined> {
  if (signal.aborted) return undefined;
  const dir = await mkdtemp(join(tmpdir(), "threadmux-git-"));
  try {
    await linkRepository(repository, dir);
    return await runStatus({ dir, worktree: repository.path, env }, signal);
  } catch {
    return undefined; // something of it is missing, or is no file of git's
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

const STATUS = [
  "status",
  "--porcelain",
  "--untracked-files=normal",
  "--ignore-submodules=all",
  "--no-renames",
];

/** git is killed as soon as the answer is known or nobody waits for it. */
function runStatus(place: GitPlace, signal: AbortSignal): Promise<boolean | undefined> {
  const child = spawnGit(place, STATUS);
  child.stdin.on("error", () => undefined); // it reads nothing
  child.stdin.end();
  child.stderr.resume();
  return new Promise((resolve) => {
    let isDirty: true | undefined;
    const kill = () => killGit(child);
    onAbort(signal, kill);
    child.stdout.once("data", () => {
      isDirty = true;
      kill();
    });
    child.once("error", () => undefined); // no git here: `close` follows
    child.once("close", (code) => {
      signal.removeEventListener("abort", kill);
      resolve(isDirty ?? (code === 0 ? false : undefined));
    });
  });
}
