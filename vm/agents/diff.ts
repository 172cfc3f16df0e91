/** What a turn changed, from the states that its repository keeps. Nothing in the repository is run or changed. */
import type { DiffReply } from "../../shared/agent/api.ts";
import { AppError } from "../../shared/errors.ts";
import { textOf } from "../../shared/git/paths.ts";
import { findTurn } from "../../shared/git/refs.ts";
import { GitError } from "../../shared/git/run-git.ts";
import type { Change } from "../../shared/git/work-tree.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { inWorkTree } from "./work-tree.ts";

/** More files are counted, not named. */
const MAX_FILES = 1_000;

export interface DiffOptions {
  threadId: ThreadId;
  /** The directory that the agent works in. */
  path: string;
  /** A turn, or an undo. */
  turnId: string;
  maxBytes: number;
  env: Record<string, string>;
}

/** @throws AppError `not_found` */
export async function readDiff(options: DiffOptions): Promise<DiffReply> {
  const { threadId, path, turnId, maxBytes, env } = options;
  try {
    const [changes, counts, patch] = await inWorkTree(path, env, async (tree) => {
      const kept = await findTurn(tree, threadId, turnId);
      if (!kept) throw new GitError("missing", "it changed no file, or is too long ago");
      return Promise.all([
        tree.changes(kept.before, kept.after),
        tree.count(kept.before, kept.after),
        tree.patch(kept.before, kept.after, maxBytes + 1),
      ]);
    });
    const isCut = patch.length > maxBytes;
    return {
      turnId,
      ...counts,
      fileCount: changes.length,
      files: changes
        .slice(0, MAX_FILES)
        .map((change) => ({ path: textOf(change.path), change: kindOf(change) })),
      patch: patch.subarray(0, maxBytes).toString("utf8"),
      isCut,
    };
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    throw new AppError("not_found", `There is no diff of ${turnId}: ${error.message}.`, { cause: error });
  }
}

function kindOf({ before, after }: Change): "added" | "deleted" | "changed" {
  if (before === null) return "added";
  return after === null ? "deleted" : "changed";
}
