/** Undoes what a turn changed, or what an earlier undo put back. */
import type { ThreadConfig } from "../../shared/agent/config.ts";
import type { EventBody } from "../../shared/agent/events.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import type { OrderedOp } from "../../shared/agent/ops.ts";
import { undoIdOf } from "../../shared/agent/turn-id.ts";
import { textOf } from "../../shared/git/paths.ts";
import { findTurn, forgetOldTurns, keepTurn } from "../../shared/git/refs.ts";
import { restore } from "../../shared/git/restore.ts";
import { GitError } from "../../shared/git/run-git.ts";
import type { Env } from "../engine.ts";
import { findMeant, noteMeant } from "./notes.ts";
import { openTree } from "./own-tree.ts";
import { withLocks } from "./undo-locks.ts";

const MAX_NAMED = 20;

export interface UndoOptions {
  folder: string;
  config: ThreadConfig;
  env: Env;
}

/**
 * Does what a person asked for, and says what came of it. Killed at any moment, it is done again: files that it has
 * put back already count as put back, and come to the same end.
 */
export async function undo(
  { seq, by, turnId: target = "" }: OrderedOp<"undo">,
  fold: ThreadFold,
  options: UndoOptions,
): Promise<EventBody<"undo">> {
  const base = { type: "undo" as const, undoId: undoIdOf(options.config.number, seq), target, by };
  try {
    if (fold.turn || fold.deliveries.length > 0) throw new GitError("failed", "the agent is at work");
    return { ...base, status: "completed", ...(await putBack(target, base.undoId, options)) };
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    const nothing = { files: 0, restored: [], left: [], leftCount: 0 };
    return { ...base, status: "refused", ...nothing, message: error.message };
  }
}

async function putBack(target: string, undoId: string, { folder, config, env }: UndoOptions) {
  const { threadId } = config;
  const tree = await openTree({ folder, config, env });
  const kept = await findTurn(tree, threadId, target);
  if (!kept) throw new GitError("missing", "what the files were before it is not kept any more");
  const all = await tree.changes(kept.before, kept.after);
  const { path: root } = tree.repository;
  const { changes, left } = await withLocks(all, { undoId, root, config, env }, async (free, taken) => {
    const done = await restore(tree, free, {
      id: undoId,
      findMeant: () => findMeant(folder, undoId),
      noteMeant: (paths) => noteMeant(folder, undoId, paths),
    });
    return { changes: done.changes, left: [...done.left, ...taken] };
  });
  if (changes.length > 0) {
    // What can be undone of the undo are the files that it put back, and no others.
    const earlier = changes.map(({ path, before }) => ({ path, before: null, after: before }));
    const before = changes.length === all.length ? kept.after : await tree.apply(kept.before, earlier);
    const { tree: end } = await tree.keep();
    await keepTurn(tree, threadId, undoId, { before, after: kept.before, end });
    await forgetOldTurns(tree, threadId);
  }
  return {
    files: changes.length,
    restored: changes.slice(0, MAX_NAMED).map(({ path }) => textOf(path)),
    left: left.slice(0, MAX_NAMED),
    leftCount: left.length,
  };
}
