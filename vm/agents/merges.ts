/** Merges what an agent has committed in its worktree. */

import { AppError } from "../../shared/errors.ts";
import type { Merged } from "../../shared/git/merge.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { KeyedQueue } from "../../shared/lifecycle.ts";
import type { MergeHow } from "../../shared/worktree-api.ts";
import type { Store } from "../store/store.ts";
import type { Threads } from "../threads/threads.ts";
import type { AgentFolders } from "./folders.ts";
import type { Worktrees } from "./worktrees.ts";

export interface MergesOptions {
  store: Store;
  threads: Threads;
  folders: AgentFolders;
  worktrees: Worktrees;
  queue: KeyedQueue;
  now: () => number;
}

export class Merges {
  readonly #options: MergesOptions;

  constructor(options: MergesOptions) {
    this.#options = options;
  }

  /**
   * @throws AppError `not_found`, `turn_running`, `worktree_dirty`, `worktree_in_use`, `merge_conflict`, `unsupported`,
   * `unavailable`
   */
  async merge(threadId: ThreadId, how: MergeHow): Promise<Merged> {
    const { store, threads, folders, worktrees, queue, now } = this.#options;
    threads.getStored(threadId);
    return queue.run(threadId, async () => {
      const { status } = threads.get(threadId);
      if (status !== "killed" && store.agents.find(threadId)?.fold.turn)
        throw new AppError(
          "turn_running",
          "The agent is at work: stop it, or wait until its turn has ended.",
        );
      const config = folders.exists(threadId) ? folders.findConfig(threadId) : undefined;
      return worktrees.merge(config, how, now());
    });
  }
}
