/** The directories of threads in user space, below `STATE_DIR/home`: made with a thread, and gone with it. */
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { removeTree } from "../../shared/remove-tree.ts";
import { WORK_FOLDERS } from "../../shared/user-space.ts";

/** No thread's id has a dot. */
const ASIDE = ".gone-";

/** A thread and where it works. */
interface Worker {
  threadId: ThreadId;
  path: string;
}

export class UserSpace {
  /** Has no files of its own, and so no directives. */
  readonly root: string;
  readonly #log: Log;
  readonly #removals = new Set<Promise<void>>();

  /** @param stateDir a real path */
  constructor(stateDir: string, log: Log) {
    this.root = join(stateDir, WORK_FOLDERS.home);
    this.#log = log;
  }

  pathOf(threadId: ThreadId): string {
    return join(this.root, threadId);
  }

  /** Whether a directory is one of these, or below one. */
  holds(path: string): boolean {
    return path.startsWith(`${this.root}${sep}`);
  }

  /** @throws AppError `thread_exists` if an earlier thread of that id has left files */
  refuseKept(threadId: ThreadId): void {
    const path = this.pathOf(threadId);
    if (!existsSync(path) || readdirSync(path).length === 0) return;
    throw new AppError(
      "thread_exists",
      `threadId: the files of an earlier thread ${threadId} are at ${path}.`,
    );
  }

  /** An empty directory of an earlier thread, whose making was cut off, is taken. */
  make(threadId: ThreadId): void {
    mkdirSync(this.pathOf(threadId), { recursive: true, mode: 0o700 });
  }

  /**
   * A thread is removed: so is the directory that it worked in, once no other thread that is stored works there. A
   * child and a branch work in their parent's.
   * @param path where it worked; undefined if it was never stored
   * @param others the stored threads, which may hold it too
   */
  leave(threadId: ThreadId, path: string | undefined, others: readonly Worker[]): void {
    for (const name of new Set([threadId, this.#nameOf(path)])) {
      if (name === undefined) continue;
      const isUsed = others.some((one) => one.threadId !== threadId && this.#nameOf(one.path) === name);
      if (!isUsed) this.#remove(name);
    }
  }

  /** At the sidecar's start: goes on with what an earlier one was removing. */
  recover(): void {
    const names = existsSync(this.root) ? readdirSync(this.root) : [];
    for (const name of names.filter((name) => name.startsWith(ASIDE))) this.#drop(join(this.root, name));
  }

  async idle(): Promise<void> {
    await Promise.all(this.#removals);
  }

  #nameOf(path: string | undefined): string | undefined {
    if (path === undefined || !this.holds(path)) return undefined;
    return relative(this.root, path).split(sep)[0];
  }

  #remove(name: string): void {
    const aside = join(this.root, `${ASIDE}${randomUUID()}`);
    try {
      renameSync(join(this.root, name), aside);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
      throw error;
    }
    this.#drop(aside);
  }

  #drop(aside: string): void {
    const removal = removeTree(aside)
      .catch((err: unknown) => this.#log.error({ aside, err }, "could not remove a thread's files"))
      .finally(() => this.#removals.delete(removal));
    this.#removals.add(removal);
  }
}
