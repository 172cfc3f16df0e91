/** Worktrees of agents, below `STATE_DIR/worktrees`: what is in them, and what goes with them. */
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ThreadConfig } from "../../shared/agent/config.ts";
import { AppError } from "../../shared/errors.ts";
import { findProgram } from "../../shared/find-program.ts";
import { type Merged, mergeWorktree } from "../../shared/git/merge.ts";
import { readJournal, settleMove } from "../../shared/git/move-branches.ts";
import { GitError } from "../../shared/git/run-git.ts";
import {
  findPlace,
  findWorktreeState,
  openRepository,
  removeWorktree,
  type WorktreeState,
} from "../../shared/git/worktree.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { removeTree } from "../../shared/remove-tree.ts";
import { trimEndOf } from "../../shared/trim-end.ts";
import { WORK_FOLDERS } from "../../shared/user-space.ts";
import type { MergeHow, WorktreeReply } from "../../shared/worktree-api.ts";
import { killMarked } from "../processes/kill-marked.ts";
import type { StoredThread } from "../store/threads.ts";
import type { NewWorkspace } from "../threads/kinds/kind.ts";

const MAX_SLUG = 40;
/** Journals of merges; no other name begins so. */
const JOURNAL = ".merge-";
/** What git has in its environment while it merges. */
const MERGE_MARKER = "THREADMUX_MERGE";
/** Merges come one after the other. */
const MERGES = "merges";

export interface WorktreesOptions {
  /** A real path. */
  stateDir: string;
  /** A real path. */
  reposDir: string;
  threadEnv: Record<string, string>;
  /** Run once in each new one. */
  setup: string | undefined;
  log: Log;
}

export class Worktrees {
  readonly #options: WorktreesOptions;
  readonly #root: string;
  /** Those that are being removed. */
  readonly #leaving = new Set<string>();
  readonly #merges = new KeyedQueue();

  constructor(options: WorktreesOptions) {
    this.#options = options;
    this.#root = join(options.stateDir, WORK_FOLDERS.worktrees);
  }

  /**
   * At the sidecar's start: settles merges that an earlier one was killed in the middle of, and removes what else it
   * left. No thread's id has a dot.
   */
  async recover(): Promise<void> {
    const names = existsSync(this.#root) ? readdirSync(this.#root) : [];
    const left = names.filter((name) => name.startsWith(".") && !name.startsWith(JOURNAL));
    await this.#merges.run(MERGES, () => this.#settle());
    for (const name of left) await removeTree(join(this.#root, name));
  }

  /** Merges that could not be settled are tried again before the next merge. */
  async #settle(): Promise<void> {
    const names = existsSync(this.#root) ? await readdir(this.#root) : [];
    for (const name of names.filter((name) => name.startsWith(JOURNAL))) {
      const journal = join(this.#root, name);
      try {
        await this.#settleOne(journal);
      } catch (err) {
        this.#options.log.error({ journal, err }, "a merge that was cut off could not be settled yet");
      }
    }
  }

  async #settleOne(journal: string): Promise<void> {
    const { log, threadEnv: env } = this.#options;
    const move = await readJournal(journal).catch((err: unknown) => {
      // It was killed while it was written, before anything else.
      log.warn({ journal, err }, "a merge was cut off before it began");
      return undefined;
    });
    if (move && !existsSync(move.root))
      log.warn({ root: move.root }, "a merge was cut off in what is gone since");
    else if (move) {
      const marker = this.#markerOf(journal);
      await killMarked(`${MERGE_MARKER}=${marker[MERGE_MARKER]}`);
      const left = await this.#withGit(async (own) => {
        await openRepository(move.root, own);
        return settleMove({ dir: own, worktree: move.root, env, marker }, move);
      });
      const { root, moves } = move;
      log.warn({ root, branch: moves.at(-1)?.branch, left }, "a merge that was cut off was settled");
    }
    await rm(journal, { force: true });
  }

  #markerOf(journal: string): { [MERGE_MARKER]: string } {
    return { [MERGE_MARKER]: journal };
  }

  /** What a thread in that directory needs to work in a worktree. @throws AppError `unsupported` */
  async plan(path: string, dir: string): Promise<Extract<NewWorkspace, { kind: "new" }>> {
    const place = await findPlace(path);
    const { reposDir, threadEnv } = this.#options;
    if (findProgram("git", threadEnv["PATH"] ?? "") === undefined)
      throw new AppError("unsupported", "agent.workspace: a worktree needs git, which is not on PATH.");
    // One that only begins further up would bring what lies beside REPOS_DIR.
    const isBelow = [reposDir, this.#root].some((folder) => `${place?.root}/`.startsWith(`${folder}/`));
    if (place && isBelow) return { kind: "new", ...place };
    const where = place ? "no git repository below REPOS_DIR" : "no git repository";
    throw new AppError("unsupported", `agent.workspace: ${JSON.stringify(dir)} is in ${where}.`);
  }

  /** Where a thread works: in the directory itself, in a worktree that is there, or in one of its own. */
  placeOf(
    thread: Pick<StoredThread, "threadId" | "title" | "path">,
    number: number,
    workspace: NewWorkspace | undefined,
  ): Pick<ThreadConfig, "dir" | "worktree"> & { path?: string } {
    if (!workspace) return { dir: thread.path };
    return workspace.kind === "there" ? workspace : this.#make(thread, number, workspace);
  }

  /** Whether a directory is in one of them. */
  holds(dir: string): boolean {
    return dir.startsWith(`${this.#root}/`);
  }

  /** @throws AppError `thread_exists` if an earlier thread of that id has left one */
  refuseKept(threadId: ThreadId): void {
    const path = join(this.#root, threadId);
    if (!existsSync(path) || readdirSync(path).length === 0) return;
    throw new AppError("thread_exists", `An earlier thread's worktree is kept at ${path}.`);
  }

  /** @throws AppError `unavailable` if a worktree that was there goes meanwhile */
  refuseLeaving(dir: string): void {
    if (existsSync(dir) && ![...this.#leaving].some((path) => `${dir}/`.startsWith(`${path}/`))) return;
    throw new AppError("unavailable", "The place where the other thread works is being removed; try again.");
  }

  /** Makes the place for a thread's worktree; its runner makes the worktree. */
  #make(
    { threadId, title }: Pick<StoredThread, "threadId" | "title">,
    number: number,
    { root, below, left, tree, isMidTurn }: Extract<NewWorkspace, { kind: "new" }>,
  ): Pick<ThreadConfig, "dir" | "worktree"> {
    const path = join(this.#root, threadId);
    this.refuseKept(threadId);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const { setup } = this.#options;
    const branch = `threadmux/${number}-${slugOf(title)}`;
    const more = {
      ...(left !== undefined && { left }),
      ...(setup !== undefined && { setup }),
      ...(tree !== undefined && { tree }),
      ...(isMidTurn && { isMidTurn }),
    };
    return { dir: join(path, below), worktree: { root, path, branch, ...more } };
  }

  /** @throws AppError `not_found` if there is none, or none any more */
  async describe(config: ThreadConfig | undefined): Promise<WorktreeReply> {
    const { path, branch, left = null } = this.#find(config);
    const { files, fileCount, commits } = await this.#withGit((own) =>
      findWorktreeState(path, own, this.#options.threadEnv),
    );
    return {
      path,
      branch,
      files,
      fileCount,
      commits,
      left,
    };
  }

  /**
   * Removes an ended thread's worktree. A branch with commits of its own stays.
   * @throws AppError `not_found`, `worktree_in_use`, `worktree_dirty` if files would be lost and that is not forced
   */
  async remove(
    config: ThreadConfig | undefined,
    { isUsed, isForced }: { isUsed: boolean; isForced: boolean },
  ): Promise<{ branch: string | null }> {
    const worktree = this.#find(config);
    const { path } = worktree;
    if (isUsed) throw new AppError("worktree_in_use", "An agent still works there: end its thread first.");
    return this.#leave(path, async (own) => {
      const state = await findWorktreeState(path, own, this.#options.threadEnv);
      if (!isForced) refuseLoss(state);
      const { branch } = await removeWorktree(this.#asided(worktree), own, this.#options.threadEnv);
      return { branch: branch ?? null };
    });
  }

  /** A thread is gone: so is its worktree, unless something would be lost with it. */
  async tidy({ threadId, worktree }: ThreadConfig): Promise<void> {
    if (!worktree || !existsSync(worktree.path)) return;
    const { log, threadEnv } = this.#options;
    const { path } = worktree;
    try {
      if (readdirSync(path).length === 0) return rmdirSync(path); // it was never made
      await this.#leave(path, async (own) => {
        const { fileCount, commits } = await findWorktreeState(path, own, threadEnv);
        if (fileCount > 0 || commits > 0)
          log.warn({ threadId, path, fileCount, commits }, "a worktree is kept");
        else await removeWorktree(this.#asided(worktree), own, threadEnv);
      });
    } catch (error) {
      log.warn({ threadId, path, err: error }, "a worktree is kept: it can't be looked at");
    }
  }

  /**
   * Merges its branch into the one that it left, or rebases it onto that; nothing changes if that can't be done whole.
   * @throws AppError `not_found`, `worktree_dirty`, `worktree_in_use`, `merge_conflict`, `unsupported`, `unavailable`
   */
  async merge(config: ThreadConfig | undefined, how: MergeHow, nowMs: number): Promise<Merged> {
    const { path, root, branch, left } = this.#find(config);
    if (left === undefined)
      throw new AppError(
        "not_found",
        "The worktree left a commit, and no branch that it could be merged into.",
      );
    const { threadEnv: env } = this.#options;
    return this.#merges.run(MERGES, async () => {
      await this.#settle();
      const journal = join(this.#root, `${JOURNAL}${randomUUID()}.json`);
      const marker = this.#markerOf(journal);
      return this.#withGit((own) =>
        mergeWorktree({ path, root, branch, left }, own, { how, env, marker, nowMs, journal }),
      );
    });
  }

  #find(config: ThreadConfig | undefined): NonNullable<ThreadConfig["worktree"]> {
    const worktree = config?.worktree;
    if (worktree && existsSync(join(worktree.path, ".git"))) return worktree;
    throw new AppError("not_found", "This thread has no worktree.");
  }

  /** Nobody begins to work there meanwhile. */
  async #leave<T>(path: string, work: (own: string) => Promise<T>): Promise<T> {
    this.#leaving.add(path);
    try {
      return await this.#withGit(work);
    } finally {
      this.#leaving.delete(path);
    }
  }

  #asided(worktree: NonNullable<ThreadConfig["worktree"]>) {
    return { ...worktree, aside: join(this.#root, `.gone-${randomUUID()}`) };
  }

  /** With an empty directory for a git directory of our own. */
  async #withGit<T>(work: (own: string) => Promise<T>): Promise<T> {
    const own = join(this.#root, `.git-${randomUUID()}`);
    await mkdir(own, { recursive: true, mode: 0o700 });
    try {
      return await work(own);
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      throw new AppError("unavailable", `The worktree can't be looked at: ${error.message}.`, {
        cause: error,
      });
    } finally {
      await rm(own, { recursive: true, force: true });
    }
  }
}

/** @throws AppError `worktree_dirty` */
function refuseLoss({ files, fileCount, commits, isDetached }: WorktreeState): void {
  if (fileCount > 0) throw dirty(files, fileCount);
  if (!isDetached || commits === 0) return;
  const what = commits === 1 ? "One commit is" : `${commits} commits are`;
  throw new AppError(
    "worktree_dirty",
    `${what} on no branch, and would be lost. Make a branch there (git switch -c), or force it.`,
  );
}

function dirty(files: readonly string[], count: number): AppError {
  const more = count > files.length ? ` and ${count - files.length} more` : "";
  return new AppError(
    "worktree_dirty",
    `${count === 1 ? "One file is" : `${count} files are`} not committed, and would be lost: ${files.map((name) => JSON.stringify(name)).join(", ")}${more}. Commit them, or force it.`,
  );
}

/** What git and people both take for a part of a branch's name. */
function slugOf(title: string): string {
  const letters = title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+/, "");
  const slug = trimEndOf(letters.slice(0, MAX_SLUG), "-");
  return slug === "" ? "agent" : slug;
}
