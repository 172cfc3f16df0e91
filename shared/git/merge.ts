/**
 * Merges a worktree's branch into the branch that it left, or rebases it onto that and lets it follow. The commits are
 * made among git's objects first; then the branches move, with the files of the checkouts that have them, and only if
 * they are where they were. As of worktrees, nothing that the repository names is run: no hooks, filters, merge drivers.
 */
import { access, constants, readdir, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { AppError } from "../errors.ts";
import type { MergeHow } from "../worktree-api.ts";
import { listNames, mergeTrees } from "./merge-trees.ts";
import { moveBranches } from "./move-branches.ts";
import { findOperation } from "./operation.ts";
import { splitList, textOf } from "./paths.ts";
import { makeCommit, rebase } from "./rebase.ts";
import { findRepository, type Repository, readPointer } from "./repository.ts";
import { type GitPlace, runGit } from "./run-git.ts";
import { branchOf, commitOf, findWorktreeState, openRepository, refuseForeign } from "./worktree.ts";

const MAX_WORKTREES = 1_000;
/** The hooks that git would run for a merge. */
const HOOKS = ["pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge", "post-checkout"];

export interface WorktreeToMerge {
  path: string;
  /** The checkout of the repository from which it was made. */
  root: string;
  /** The branch that it was made on. */
  branch: string;
  /** The branch that it left. */
  left: string;
}

export interface HowToMerge {
  how: MergeHow;
  env: GitPlace["env"];
  /** By what others know the processes that may be left at work by a kill. */
  marker?: NonNullable<GitPlace["marker"]>;
  nowMs: number;
  /** A file for what a kill would leave half done; see {@link moveBranches}. */
  journal: string;
}

export interface Merged {
  into: string;
  commit: string;
  /** The commits of the worktree that the other branch lacked. */
  commits: number;
  isFastForward: boolean;
  /** The files of the repository were changed too: the branch is checked out there. */
  isCheckedOut: boolean;
  /** The worktree's newest commit before it was rebased. */
  rebasedFrom: string | null;
  /** Hooks of the repository that were not run. */
  hooks: string[];
}

/**
 * @param own a directory for a git directory of our own
 * @throws GitError, and AppError `worktree_dirty`, `worktree_in_use`, `merge_conflict`, `not_found`; then nothing has
 * changed
 */
export async function mergeWorktree(
  { path, root, branch, left }: WorktreeToMerge,
  own: string,
  { how, env, marker, nowMs, journal }: HowToMerge,
): Promise<Merged> {
  const repository = await openRepository(path, own);
  await refuseForeign(path, repository);
  const target = await findRepository(root);
  if (!target || (await realpath(target.commonDir)) !== (await realpath(repository.commonDir)))
    throw new AppError("not_found", `The repository that the worktree left, ${root}, is not there any more.`);
  const place: GitPlace = { dir: own, worktree: path, env, ...(marker && { marker }) };
  const { files, fileCount } = await findWorktreeState(path, own, env);
  if (fileCount > 0)
    throw dirty("In the worktree", files, fileCount, "a merge takes commits alone, so commit them first");
  const tip = await commitOf(place, repository);
  const before = await commitOf(place, { ...repository, head: `ref: refs/heads/${left}` }).catch(() => {
    throw new AppError("not_found", `The branch ${left}, which the worktree left, is not there any more.`);
  });
  const commits = await countBeyond(place, tip, before);
  if (commits === 0) throw new AppError("not_found", `Nothing to merge: ${left} has all of its commits.`);
  const isCheckedOut = await isOn(target, left);
  if (isCheckedOut) await refuseBusy({ ...place, worktree: root }, target, before);
  const isFastForward = (await countBeyond(place, before, tip)) === 0;
  const checkout = isCheckedOut ? { checkout: { path: root, gitDir: target.gitDir } } : {};
  const toLeft = (to: string) => ({ branch: left, from: before, to, ...checkout });
  const common = { into: left, isFastForward, isCheckedOut, hooks: await findHooks(repository) };
  if (how === "rebase" && !isFastForward) {
    const own = branchOf(repository);
    if (own === undefined)
      throw new AppError(
        "unsupported",
        "The worktree is on no branch, so its commits can't be rebased; merge them.",
      );
    await refuseBusy(place, repository, tip);
    const { commit, made } = await rebase(place, { tip, onto: before, nowMs });
    const here = { branch: own, from: tip, to: commit, checkout: { path, gitDir: repository.gitDir } };
    // If the other branch has all that they change, the worktree alone moves.
    const moves = made === 0 ? [here] : [here, toLeft(commit)];
    await moveBranches(place, { root, moves }, journal);
    return { ...common, commit, commits: made, rebasedFrom: tip };
  }
  const made = { before, tip, message: `Merge branch '${branch}' into ${left}\n`, nowMs };
  const commit = isFastForward ? tip : await makeMerge(place, made);
  await moveBranches(place, { root, moves: [toLeft(commit)] }, journal);
  return { ...common, commit, commits, rebasedFrom: null };
}

async function countBeyond(place: GitPlace, commit: string, other: string): Promise<number> {
  return Number((await runGit(place, ["rev-list", "--count", commit, "--not", other])).toString());
}

/** The commit of both. @throws AppError `merge_conflict` */
async function makeMerge(
  place: GitPlace,
  { before, tip, message, nowMs }: { before: string; tip: string; message: string; nowMs: number },
): Promise<string> {
  const words = { where: "", instead: "Merge the other branch in the worktree first" };
  const tree = await mergeTrees(place, before, tip, words);
  // In the name of who made the newest commit: settings, which would name the person, are not read.
  const text = (await runGit(place, ["cat-file", "commit", tip])).toString("latin1");
  const who = /^committer ([^\n]*>) \d+ [+-]\d{4}$/m.exec(text)?.[1] ?? "threadmux <threadmux@localhost>";
  const signed = `${who} ${Math.floor(nowMs / 1_000)} +0000`;
  const lines = [
    `tree ${tree}`,
    `parent ${before}`,
    `parent ${tip}`,
    `author ${signed}`,
    `committer ${signed}`,
  ];
  return makeCommit(place, lines, Buffer.from(message).toString("latin1"));
}

/** Whether the branch is checked out in the repository's own files. @throws AppError `worktree_in_use` if elsewhere */
async function isOn(target: Repository, left: string): Promise<boolean> {
  const head = `ref: refs/heads/${left}`;
  const { commonDir } = target;
  const kept = join(commonDir, "worktrees");
  const names = await readdir(kept).catch(() => []);
  if (names.length > MAX_WORKTREES)
    throw new AppError(
      "worktree_in_use",
      `${left} may be checked out in one of ${names.length} worktrees, too many to look at; remove old ones (git worktree prune).`,
    );
  const checkouts = names.map((name) => ({ gitDir: join(kept, name), pointer: join(kept, name, "gitdir") }));
  const own = await realpath(target.gitDir);
  for (const { gitDir, pointer } of checkouts) {
    if ((await realpath(gitDir)) === own) continue;
    if ((await readPointer(join(gitDir, "HEAD")).catch(() => "")) !== head) continue;
    const path = dirname(await readPointer(pointer).catch(() => "?"));
    if (await findRepository(path)) throw elsewhere(left, path);
  }
  const isLinked = (await realpath(commonDir)) !== own;
  const isMains = basename(commonDir) === ".git" && (await readPointer(join(commonDir, "HEAD"))) === head;
  if (isLinked && isMains) throw elsewhere(left, dirname(commonDir));
  return target.head === head;
}

function elsewhere(left: string, path: string): AppError {
  const words = `${left} is checked out in ${path}, so it can be merged into there alone.`;
  return new AppError("worktree_in_use", words);
}

/** @throws AppError `worktree_in_use`, `worktree_dirty` */
async function refuseBusy(place: GitPlace, target: Repository, before: string): Promise<void> {
  const operation = await findOperation(target);
  if (operation !== undefined) throw new AppError("worktree_in_use", `Nothing was merged: ${operation}.`);
  const index = { indexFile: join(target.gitDir, "index") };
  const changed = await runGit(place, ["ls-files", "-z", "-m"], index);
  const staged = await runGit(
    place,
    ["diff-index", "--cached", "--name-only", "-z", "--no-renames", before],
    index,
  );
  const files = [...new Set([...splitList(changed), ...splitList(staged)])].map(textOf);
  if (files.length > 0)
    throw dirty(
      `In ${place.worktree}`,
      files,
      files.length,
      "commit or stash them first; nothing was merged",
    );
}

function dirty(where: string, files: readonly string[], count: number, what: string): AppError {
  const are = count === 1 ? "one file is" : `${count} files are`;
  return new AppError(
    "worktree_dirty",
    `${where} ${are} not committed; ${what}: ${listNames(files, count)}.`,
  );
}

async function findHooks({ commonDir }: Repository): Promise<string[]> {
  const found = await Promise.all(
    HOOKS.map(async (name) => {
      const isThere = await access(join(commonDir, "hooks", name), constants.X_OK).then(
        () => true,
        () => false,
      );
      return isThere ? [name] : [];
    }),
  );
  return found.flat();
}
