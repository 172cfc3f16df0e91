/**
 * Linked worktrees of a repository that anybody may have made: nothing that the repository names is run. Git writes the
 * files through a git directory of our own, so neither hooks nor filters nor a remote have a part in it; a file that a
 * filter would change, such as git-lfs's, stays as it is kept.
 */
import { lstat, mkdir, readdir, realpath, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { removeTree } from "../remove-tree.ts";
import { makeOwnDir } from "./own-dir.ts";
import { splitList, textOf } from "./paths.ts";
import { findRepository, findRepositoryOf, type Repository, readPointer } from "./repository.ts";
import { GitError, type GitPlace, runGit } from "./run-git.ts";

const CHECKOUT_MS = 10 * 60_000;
const MAX_NAMED = 20;

export interface NewWorktree {
  /** The folder in which the repository's files are. */
  root: string;
  /** Where the worktree's files are to be. */
  path: string;
  /** Below `refs/heads/`. */
  branch: string;
  /** What git keeps it under; no other worktree has it. */
  name: string;
  /** The files as they were kept; otherwise those of the commit. */
  tree?: string | undefined;
}

/** What would be lost with a worktree. */
export interface WorktreeState {
  /** Files that are changed, staged or new; the first of them. */
  files: string[];
  fileCount: number;
  /** Commits that no other branch and no tag has. */
  commits: number;
  /** No branch has them: with the worktree they would be out of reach. */
  isDetached: boolean;
}

/**
 * Makes a worktree on a new branch at the repository's commit. What an earlier try has left there is made anew.
 * @param own a directory for a git directory of our own
 * @throws GitError
 */
export async function makeWorktree(
  { root, path, branch, name, tree }: NewWorktree,
  own: string,
  env: GitPlace["env"],
): Promise<{ commit: string }> {
  const repository = await openRepository(root, own);
  const place: GitPlace = { dir: own, worktree: path, env };
  const commit = await commitOf(place, repository);
  const kept = join(repository.commonDir, "worktrees", name);
  const heads = join(repository.commonDir, "refs", "heads");
  await refuseStrange(join(repository.commonDir, "worktrees"), heads, join(heads, "threadmux"));
  const isNew = await refuseTaken(place, branch, commit);
  try {
    await writeWorktree({ path, branch, tree }, { place, kept, commit });
  } catch (error) {
    // Nobody is to find a part of it. The error tells why, also if the disk takes nothing any more.
    for (const left of [kept, path]) await rm(left, { recursive: true, force: true }).catch(() => undefined);
    const args = ["update-ref", "-d", `refs/heads/${branch}`, commit];
    if (isNew) await runGit(place, args).catch(() => undefined);
    throw error;
  }
  return { commit };
}

async function writeWorktree(
  { path, branch, tree }: Pick<NewWorktree, "path" | "branch" | "tree">,
  { place, kept, commit }: { place: GitPlace; kept: string; commit: string },
): Promise<void> {
  await rm(kept, { recursive: true, force: true });
  await mkdir(path, { recursive: true, mode: 0o700 });
  for (const one of await readdir(path)) await removeTree(join(path, one));
  await mkdir(kept, { recursive: true });
  await runGit(place, ["update-ref", `refs/heads/${branch}`, commit]);
  await writeFile(join(kept, "HEAD"), `ref: refs/heads/${branch}\n`);
  await writeFile(join(kept, "commondir"), "../..\n");
  await writeFile(join(kept, "gitdir"), `${join(path, ".git")}\n`);
  // Agents that can't see this worktree would take it for gone: `git worktree prune`, and `git gc`, would forget it.
  await writeFile(join(kept, "locked"), "threadmux\n");
  const index = join(kept, "index");
  await runGit(place, ["read-tree", commit], { indexFile: index });
  const files = tree === undefined ? index : join(place.dir, "index.tree");
  if (tree !== undefined) await runGit(place, ["read-tree", tree], { indexFile: files });
  await runGit(place, ["checkout-index", "-a", "-f", "-u", "-q"], {
    indexFile: files,
    timeoutMs: CHECKOUT_MS,
  });
  await writeFile(join(path, ".git"), `gitdir: ${kept}\n`);
}

/** @throws GitError if there is no such worktree */
export async function findWorktreeState(
  path: string,
  own: string,
  env: GitPlace["env"],
): Promise<WorktreeState> {
  const repository = await openRepository(path, own);
  const place: GitPlace = { dir: own, worktree: path, env };
  const index = { indexFile: join(repository.gitDir, "index") };
  const commit = await commitOf(place, repository);
  const changed = await runGit(place, ["ls-files", "-z", "-m", "-o", "--exclude-standard"], index);
  const staged = await runGit(
    place,
    ["diff-index", "--cached", "--name-only", "-z", "--no-renames", commit],
    index,
  );
  const files = [...new Set([...splitList(changed), ...splitList(staged)])].map(textOf);
  const branch = branchOf(repository);
  const commits = await countOwn(place, commit, branch);
  const isDetached = branch === undefined;
  return { files: files.slice(0, MAX_NAMED), fileCount: files.length, commits, isDetached };
}

/** Commits of a branch, or of the commit that HEAD names, that nothing else has. */
async function countOwn(place: GitPlace, commit: string, branch: string | undefined): Promise<number> {
  const others = [`--exclude=${branch ?? ""}`, "--branches", "--tags", "--remotes"];
  return Number((await runGit(place, ["rev-list", "--count", commit, "--not", ...others])).toString());
}

/**
 * Removes a worktree with its files, and the branch that it was made on if no commit is lost with it. Another branch
 * that it has come to stand on is somebody's, and stays. It is away at once; files can take long to remove.
 * @param aside where its files are until they are removed; nobody else is there
 * @returns the branch whose commits no other has, which stays
 * @throws GitError
 */
export async function removeWorktree(
  { path, branch: made, aside }: Pick<NewWorktree, "path" | "branch"> & { aside: string },
  own: string,
  env: GitPlace["env"],
): Promise<{ branch: string | undefined }> {
  const { commits } = await findWorktreeState(path, own, env);
  const repository = await openRepository(path, own);
  await refuseForeign(path, repository);
  const branch = branchOf(repository);
  const place: GitPlace = { dir: own, worktree: path, env };
  const name = `refs/heads/${made}`;
  const isThere = (await runGit(place, ["for-each-ref", "--format=%(objectname)", name])).length > 0;
  const isKept = isThere && (branch === made ? commits : await countOwn(place, name, made)) > 0;
  await rename(path, aside);
  await rm(repository.gitDir, { recursive: true, force: true });
  if (isThere && !isKept) await runGit(place, ["update-ref", "-d", name]);
  await removeTree(aside);
  if (isKept) return { branch: made };
  return { branch: commits > 0 ? branch : undefined };
}

/**
 * An agent that works there can write what the worktree's `.git` names: it may be the repository itself, or what git keeps
 * of another worktree. What git keeps of this one names it.
 */
export async function refuseForeign(path: string, { gitDir, commonDir }: Repository): Promise<void> {
  const name = relative(join(commonDir, "worktrees"), gitDir);
  const named = await readPointer(join(gitDir, "gitdir")).catch(() => "");
  const isNamed = named !== "" && (await realpath(dirname(named)).catch(() => "")) === (await realpath(path));
  if (!isNamed || name === ".." || !/^[^/]+$/.test(name))
    throw new GitError("failed", `${path} is no linked worktree`);
}

/** Where a directory lies in its repository, and the branch there; undefined if it is in none. */
export async function findPlace(
  path: string,
): Promise<{ root: string; below: string; left?: string } | undefined> {
  const repository = await findRepositoryOf(path);
  if (!repository) return undefined;
  const left = branchOf(repository);
  const place = { root: repository.path, below: relative(repository.path, path) };
  return left === undefined ? place : { ...place, left };
}

/** With a git directory of our own beside it. @throws GitError */
export async function openRepository(path: string, own: string): Promise<Repository> {
  const repository = await findRepository(path);
  if (!repository) throw new GitError("missing", `${path} is no git work tree`);
  try {
    await makeOwnDir(repository, own);
  } catch (error) {
    throw new GitError("failed", (error as Error).message);
  }
  return repository;
}

/** The commit that HEAD names. @throws GitError */
export async function commitOf(place: GitPlace, { head }: Repository): Promise<string> {
  const name = head.replace(/^ref: /, "");
  const args = ["rev-parse", "--verify", "-q", "--end-of-options", `${name}^{commit}`];
  const found = (await runGit(place, args).catch(() => Buffer.alloc(0))).toString().trim();
  const commit = /^[0-9a-f]{40,64}$/m.exec(found)?.[0];
  if (commit === undefined) throw new GitError("missing", "the repository has no commit yet");
  return commit;
}

/** Undefined if HEAD names a commit. */
export function branchOf({ head }: Repository): string | undefined {
  return /^ref: refs\/heads\/(.+)$/.exec(head)?.[1];
}

/** A branch of that name may hold somebody's commits. @returns whether there is none */
async function refuseTaken(place: GitPlace, branch: string, commit: string): Promise<boolean> {
  const name = `refs/heads/${branch}`;
  const found = await runGit(place, ["for-each-ref", "--format=%(objectname)", name]);
  if (found.toString().trim() === "") return true;
  const own = await runGit(place, ["rev-list", "--count", name, "--not", commit]);
  if (own.toString().trim() !== "0")
    throw new GitError("failed", `the branch ${branch} is there already, with commits of its own`);
  return false;
}

/** The maker of the repository must not have what is written there written elsewhere. */
async function refuseStrange(...folders: string[]): Promise<void> {
  for (const folder of folders) {
    const found = await lstat(folder).catch(() => undefined);
    if (found && !found.isDirectory()) throw new GitError("failed", `${folder} is not a directory`);
  }
}
