/**
 * Merges a worktree's branch into the branch that it left. The merge is made among git's objects first; then the files of
 * the checkout that has the branch, if there is one, and last the branch itself, and only if it is where it was. As of
 * worktrees, nothing that the repository names is run: no hooks, no filters, no merge drivers.
 */
import { access, constants, readdir, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { AppError } from "../errors.ts";
import { findOperation } from "./operation.ts";
import { splitList, textOf } from "./paths.ts";
import { findRepository, type Repository, readPointer } from "./repository.ts";
import { GitError, type GitPlace, runGit } from "./run-git.ts";
import { commitOf, findWorktreeState, openRepository, refuseForeign } from "./worktree.ts";

const CHECKOUT_MS = 10 * 60_000;
const MAX_NAMED = 20;
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

export interface Merged {
  into: string;
  commit: string;
  /** The commits of the worktree that the other branch lacked. */
  commits: number;
  isFastForward: boolean;
  /** The files of the repository were changed too: the branch is checked out there. */
  isCheckedOut: boolean;
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
  { env, nowMs }: { env: GitPlace["env"]; nowMs: number },
): Promise<Merged> {
  const repository = await openRepository(path, own);
  await refuseForeign(path, repository);
  const target = await findRepository(root);
  if (!target || (await realpath(target.commonDir)) !== (await realpath(repository.commonDir)))
    throw new AppError("not_found", `The repository that the worktree left, ${root}, is not there any more.`);
  const place: GitPlace = { dir: own, worktree: path, env };
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
  const rootPlace = { ...place, worktree: root };
  if (isCheckedOut) await refuseBusy(rootPlace, target, before);
  const isFastForward = (await countBeyond(place, before, tip)) === 0;
  const made = { before, tip, message: `Merge branch '${branch}' into ${left}\n`, nowMs };
  const commit = isFastForward ? tip : await makeMerge(place, made);
  const checkout = isCheckedOut ? { place: rootPlace, indexFile: join(target.gitDir, "index") } : undefined;
  await move(place, { left, before, commit }, checkout);
  return { into: left, commit, commits, isFastForward, isCheckedOut, hooks: await findHooks(repository) };
}

async function countBeyond(place: GitPlace, commit: string, other: string): Promise<number> {
  return Number((await runGit(place, ["rev-list", "--count", commit, "--not", other])).toString());
}

/** The commit of both. @throws AppError `merge_conflict` */
async function makeMerge(
  place: GitPlace,
  { before, tip, message, nowMs }: { before: string; tip: string; message: string; nowMs: number },
): Promise<string> {
  const args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", before, tip];
  // It ends with 1 if there are conflicts, and lists them behind the tree.
  const [tree = "", ...conflicts] = splitList(await runGit(place, args, { alsoCode: 1 }));
  const names = [...new Set(conflicts.filter((name) => name !== "").map(textOf))];
  if (names.length > 0) {
    const head = `${names.length === 1 ? "One file conflicts" : `${names.length} files conflict`}, and nothing was merged`;
    throw new AppError(
      "merge_conflict",
      `${head}: ${listed(names, names.length)}. Merge the other branch in the worktree first.`,
    );
  }
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
  const input = Buffer.from(`${lines.join("\n")}\n\n${Buffer.from(message).toString("latin1")}`, "latin1");
  const made = await runGit(place, ["hash-object", "-t", "commit", "-w", "--stdin"], { input });
  return made.toString().trim();
}

/** Files first: if the branch has moved meanwhile, they go back. */
async function move(
  place: GitPlace,
  { left, before, commit }: { left: string; before: string; commit: string },
  checkout: { place: GitPlace; indexFile: string } | undefined,
): Promise<void> {
  const turn = (from: string, to: string, ...more: string[]) =>
    checkout &&
    runGit(checkout.place, ["read-tree", "-m", "-u", ...more, from, to], {
      indexFile: checkout.indexFile,
      timeoutMs: CHECKOUT_MS,
    });
  try {
    await turn(before, commit, "-n");
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    const why = `${left} is checked out in ${checkout?.place.worktree}, and its files are in the way`;
    throw new AppError("worktree_dirty", `${why}; nothing was merged: ${error.message}`, { cause: error });
  }
  await turn(before, commit);
  try {
    await runGit(place, ["update-ref", `refs/heads/${left}`, commit, before]);
  } catch (cause) {
    await turn(commit, before);
    const words = `${left} has moved meanwhile, or another git command holds it; nothing was merged, try again.`;
    throw new AppError("worktree_in_use", words, { cause });
  }
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
  return new AppError("worktree_dirty", `${where} ${are} not committed; ${what}: ${listed(files, count)}.`);
}

function listed(names: readonly string[], count: number): string {
  const shown = names.slice(0, MAX_NAMED);
  const more = count > shown.length ? ` and ${count - shown.length} more` : "";
  return `${shown.map((name) => JSON.stringify(name)).join(", ")}${more}`;
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
