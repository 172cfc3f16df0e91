/**
 * Moves branches together with the files of the checkouts that have them. A kill at any moment leaves what
 * {@link settleMove} makes the old or the new state of, as a whole: until then the index of each checkout is locked, so
 * no other git command takes half of it for somebody's work.
 *
 * What is on the disk before each step:
 *
 * 1. The journal names branches, commits and checkouts.
 * 2. Each checkout's `index.lock` is a link to a file of this move, in which its new index is going to be.
 * 3. The files are changed. The index stays.
 * 4. The new indexes are complete.
 * 5. The branches are moved, the deciding one last. From then on the new state is made, before that the old one.
 */
import { randomUUID } from "node:crypto";
import {
  copyFile,
  lstat,
  open,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  unlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { AppError } from "../errors.ts";
import { checkIndex } from "./own-dir.ts";
import { putBack } from "./put-back.ts";
import { GitError, type GitPlace, runGit } from "./run-git.ts";

const CHECKOUT_MS = 10 * 60_000;
const LOCK = "index.lock";

const branchMoveSchema = z.object({
  /** Below `refs/heads/`. */
  branch: z.string().min(1),
  from: z.string().regex(/^[0-9a-f]{40,64}$/),
  to: z.string().regex(/^[0-9a-f]{40,64}$/),
  /** Where the branch is checked out, if anywhere: its files and its git directory. */
  checkout: z.object({ path: z.string(), gitDir: z.string() }).optional(),
});
export type BranchMove = z.infer<typeof branchMoveSchema>;

const journalSchema = z.object({
  id: z.uuid(),
  /** A directory in one of whose repositories it is. */
  root: z.string(),
  /** At least one; the last one decides. */
  moves: z.array(branchMoveSchema).min(1),
});
export type MoveJournal = z.infer<typeof journalSchema>;

/** @throws Error if it is no journal */
export async function readJournal(file: string): Promise<MoveJournal> {
  return journalSchema.parse(JSON.parse(await readFile(file, "utf8")));
}

/**
 * The checkouts' files and indexes must be those of `from`.
 * @param moves the last one decides: it is moved after all others
 * @param journal a file that is not there; it stays only if the move could be neither made nor taken back
 * @throws AppError `worktree_dirty` if files are in the way, `worktree_in_use` if a branch has moved or another git
 * command holds it, and GitError; then nothing has changed
 */
export async function moveBranches(
  place: GitPlace,
  { root, moves }: Pick<MoveJournal, "root" | "moves">,
  journal: string,
): Promise<void> {
  const plan: MoveJournal = { id: randomUUID(), root, moves };
  if (moves.some(({ checkout }) => checkout)) await writeDurably(journal, JSON.stringify(plan));
  try {
    await makeMove(place, plan);
  } catch (error) {
    await settleMove(place, plan);
    await rm(journal, { force: true });
    throw error;
  }
  await settleMove(place, plan);
  await rm(journal, { force: true });
}

/**
 * Brings a move that was cut off to its end, or takes it back. No process of the move may be at work any more.
 * @returns files that somebody has changed since, which stay as they are
 * @throws GitError, and Error if the file system refuses something; then it can be tried again
 */
export async function settleMove(place: GitPlace, { id, moves }: MoveJournal): Promise<string[]> {
  const deciding = moves.at(-1);
  const isMade = deciding !== undefined && (await has(place, deciding));
  const left: string[] = [];
  for (const move of moves) {
    if (!isMade && move !== deciding) await moveRefBack(place, move);
    if (!move.checkout) continue;
    const { path, gitDir } = move.checkout;
    const there = { ...place, worktree: path };
    const pending = join(gitDir, pendingName(id));
    const lock = await findLock(gitDir, id);
    // Somebody may have removed the lock by hand, and gone on with the index since.
    const isUntouched = lock === "ours" || (lock === "none" && (await hasIndexOf(there, gitDir, move.from)));
    const isPending = await lstat(pending).catch(() => undefined);
    if (isMade && isPending && isUntouched) await rename(pending, join(gitDir, "index"));
    else if (isMade && isPending) left.push(join(gitDir, "index"));
    else if (!isMade && isUntouched) left.push(...(await putBack(there, gitDir, move)));
    if (lock === "ours") await unlink(join(gitDir, LOCK));
    await rm(pending, { force: true });
  }
  return left;
}

async function makeMove(place: GitPlace, { id, moves }: MoveJournal): Promise<void> {
  const checkouts = moves.flatMap(({ checkout, ...move }) => (checkout ? [{ ...checkout, ...move }] : []));
  for (const { gitDir } of checkouts) await lock(gitDir, id);
  const turned: { pending: string; index: string; kept: string }[] = [];
  for (const [at, { path, gitDir, branch, from, to }] of checkouts.entries()) {
    const index = join(place.dir, `index.move-${at}`);
    await checkIndex(gitDir);
    const kept = join(gitDir, "index");
    await copyFile(kept, index);
    // Files that were only copied or touched are not in the way. It ends with 1 if others are changed.
    await runGit({ ...place, worktree: path }, ["update-index", "-q", "--refresh"], {
      ...{ indexFile: index, alsoCode: 1, timeoutMs: CHECKOUT_MS },
    });
    const turn = (...more: string[]) =>
      runGit({ ...place, worktree: path }, ["read-tree", "-m", "-u", ...more, from, to], {
        indexFile: index,
        timeoutMs: CHECKOUT_MS,
      });
    try {
      await turn("-n");
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      const why = `${branch} is checked out in ${path}, and its files are in the way`;
      throw new AppError("worktree_dirty", `${why}; nothing was merged: ${error.message}`, { cause: error });
    }
    await turn();
    turned.push({ pending: join(gitDir, pendingName(id)), index, kept });
  }
  for (const { pending, index, kept } of turned)
    await writeDurably(pending, await readFile(index), { flag: "w", mode: (await stat(kept)).mode & 0o777 });
  for (const move of moves) {
    try {
      await moveRef(place, move);
    } catch (cause) {
      const words = `${move.branch} has moved meanwhile, or another git command holds it; nothing was merged, try again.`;
      throw new AppError("worktree_in_use", words, { cause });
    }
  }
}

async function moveRef(place: GitPlace, { branch, from, to }: BranchMove): Promise<void> {
  await runGit(place, ["update-ref", `refs/heads/${branch}`, to, from]);
}

/** If it was moved. */
async function moveRefBack(place: GitPlace, move: BranchMove): Promise<void> {
  if ((await findTip(place, move.branch)) === move.to)
    await moveRef(place, { ...move, from: move.to, to: move.from });
}

/** Undefined if there is no such branch. */
async function findTip(place: GitPlace, branch: string): Promise<string | undefined> {
  const args = ["for-each-ref", "--format=%(objectname)", `refs/heads/${branch}`];
  return /^[0-9a-f]{40,64}$/m.exec((await runGit(place, args)).toString())?.[0];
}

/** Whether the branch holds the commit that it was to be moved to. */
async function has(place: GitPlace, { branch, to }: BranchMove): Promise<boolean> {
  const tip = await findTip(place, branch);
  if (tip === undefined) return false;
  return (await runGit(place, ["rev-list", "--count", to, "--not", tip])).toString().trim() === "0";
}

/** Whether the index has nothing staged beside a commit. */
async function hasIndexOf(place: GitPlace, gitDir: string, commit: string): Promise<boolean> {
  const args = ["diff-index", "--cached", "--name-only", "-z", "--no-renames", commit];
  return (await runGit(place, args, { indexFile: join(gitDir, "index") })).length === 0;
}

function pendingName(id: string): string {
  return `threadmux-index-${id}`;
}

/** @throws AppError `worktree_in_use` */
async function lock(gitDir: string, id: string): Promise<void> {
  await writeFile(join(gitDir, pendingName(id)), "", { flag: "wx" });
  try {
    await symlink(pendingName(id), join(gitDir, LOCK));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
    const words = `Nothing was merged: another git command holds ${join(gitDir, LOCK)}.`;
    throw new AppError("worktree_in_use", words, { cause });
  }
}

async function findLock(gitDir: string, id: string): Promise<"ours" | "others" | "none"> {
  const lock = join(gitDir, LOCK);
  if (!(await lstat(lock).catch(() => undefined))) return "none";
  return (await readlink(lock).catch(() => "")) === pendingName(id) ? "ours" : "others";
}

async function writeDurably(
  file: string,
  bytes: Buffer | string,
  { flag = "wx", mode = 0o600 } = {},
): Promise<void> {
  const handle = await open(file, flag, mode);
  try {
    await handle.writeFile(bytes);
    await handle.chmod(mode);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
