/** What is left of a removed thread: its folder, and in its repository the refs that keep the states of its turns. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { type ThreadConfig, threadConfigSchema } from "../../shared/agent/config.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { errorText } from "../../shared/errors.ts";
import { forgetThread } from "../../shared/git/refs.ts";
import { GitError } from "../../shared/git/run-git.ts";
import { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { removeTree } from "../../shared/remove-tree.ts";
import type { AgentFolders } from "./folders.ts";
import { removeProjectFiles } from "./project-note.ts";
import { inWorkTree } from "./work-tree.ts";

/** A repository that can't be written in is tried again at each start, so long. */
const MAX_TRIED_MS = 7 * 24 * 3_600_000;

export interface RemovalOptions {
  folders: AgentFolders;
  /** The threads' queue. */
  queue: KeyedQueue;
  /** For git. */
  threadEnv: Record<string, string>;
  log: Log;
  now: () => number;
}

export class Removal {
  readonly #options: RemovalOptions;
  /** One at a time. */
  readonly #removals = new KeyedQueue();

  constructor(options: RemovalOptions) {
    this.#options = options;
  }

  /**
   * Removes a folder that was set aside, after the refs of its thread. A sidecar that dies in the middle does it at
   * its next start.
   */
  begin(aside: string | undefined): void {
    if (aside === undefined) return;
    const { log } = this.#options;
    this.#removals
      .run("all", () => this.#remove(aside))
      .catch((error: unknown) => log.error({ aside, err: error }, "could not remove a thread's folder"));
  }

  /** At the sidecar's start. */
  recover(): void {
    for (const aside of this.#options.folders.listAside()) this.begin(aside);
  }

  idle(): Promise<void> {
    return this.#removals.idle();
  }

  async #remove(aside: string): Promise<void> {
    const config = findConfig(aside);
    this.#removeFromProject(aside);
    // The bulk goes at once; what says where the refs are goes last.
    const kept = basename(threadPath(aside, "config"));
    for (const name of readdirSync(aside)) {
      if (name !== kept) await removeTree(join(aside, name));
    }
    if (config && !(await this.#forget(config)) && !this.#isOld(aside)) return;
    await removeTree(aside);
  }

  /** An agent may have done something to them that keeps them there. */
  #removeFromProject(aside: string): void {
    try {
      removeProjectFiles(aside);
    } catch (error) {
      const reason = errorText(error);
      this.#options.log.warn({ aside, reason }, "a removed thread's files in its project stay");
    }
  }

  /** @returns whether there is nothing more to do */
  async #forget({ threadId, dir, worktree }: ThreadConfig): Promise<boolean> {
    const { folders, queue, threadEnv, log } = this.#options;
    try {
      await queue.run(threadId, async () => {
        // A thread that goes on under this id has the refs, and takes them with it when it goes.
        if (folders.exists(threadId)) return;
        await inWorkTree(worktree?.root ?? dir, threadEnv, (tree) => forgetThread(tree, threadId));
      });
      return true;
    } catch (error) {
      if (error instanceof GitError && error.reason === "missing") return true; // no repository, or not any more
      log.warn({ threadId, reason: errorText(error) }, "the kept states of a removed thread stay for now");
      return false;
    }
  }

  #isOld(aside: string): boolean {
    return this.#options.now() - statSync(aside).mtimeMs > MAX_TRIED_MS;
  }
}

/** Undefined if it was never a whole thread's. */
function findConfig(folder: string): ThreadConfig | undefined {
  try {
    return threadConfigSchema.safeParse(JSON.parse(readFileSync(threadPath(folder, "config"), "utf8"))).data;
  } catch {
    return undefined;
  }
}
