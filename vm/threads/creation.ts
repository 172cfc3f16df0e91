/** Makes threads. */
import { isOpen } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { cleanTitle, titleOf } from "../../shared/title.ts";
import { USER_SPACE } from "../../shared/user-space.ts";
import type { Cgroups } from "../processes/cgroups.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import { diskFull, FULL_BYTES } from "../streams/disk.ts";
import { makeLog } from "../streams/log-file.ts";
import type { TmuxServer } from "../tmux/server.ts";
import type { Budgets } from "./budgets.ts";
import { resolveDirectory } from "./directory.ts";
import type { Homes } from "./homes.ts";
import type { CreateRequest } from "./kinds/kind.ts";
import { findKind, type Kinds } from "./kinds/kinds.ts";
import { newMarker, sessionName } from "./names.ts";
import type { ThreadFiles } from "./thread-files.ts";
import type { Threads } from "./threads.ts";
import type { UserSpace } from "./user-space.ts";

export interface CreationOptions {
  store: Store;
  tmux: TmuxServer;
  files: ThreadFiles;
  threads: Threads;
  kinds: Kinds;
  homes: Homes;
  cgroups: Cgroups | undefined;
  budgets: Budgets;
  queue: KeyedQueue;
  /** Ids that are being made right now. */
  creating: Set<string>;
  /** A real path. */
  reposDir: string;
  userSpace: UserSpace;
  /** On the disk that holds the logs. */
  freeDiskBytes: () => number;
  log: Log;
  now: () => number;
}

/** Where a new thread works. */
interface Place {
  path: string;
  dir: string;
  /** Its directory is its alone, in user space. */
  hasOwnSpace: boolean;
}

export class Creation {
  readonly #options: CreationOptions;

  constructor(options: CreationOptions) {
    this.#options = options;
  }

  /** @throws AppError `invalid_directory`, `thread_exists`, `max_threads`, `too_many_agents`, `unavailable` */
  async create(request: CreateRequest): Promise<{ tmuxSession: string }> {
    const { queue, kinds, threads, creating } = this.#options;
    const { threadId, type } = request;
    return queue.run(threadId, async () => {
      const place = await this.#check(request);
      if (request.dryRun) return { tmuxSession: sessionName(threadId) };
      const marker = newMarker();
      await this.#orNothing({ threadId, marker }, async () => {
        this.#store(request, place, marker);
        await findKind(kinds, type).open(threads.getStored(threadId));
        creating.delete(threadId);
      });
      this.#tell(request, marker);
      return { tmuxSession: sessionName(threadId) };
    });
  }

  /**
   * Makes a thread by half: nobody sees it, and a sidecar that starts removes it. Whoever writes down that it is made
   * calls {@link finish} then, and else {@link giveUp}.
   * @throws AppError as {@link create}
   */
  async begin(request: CreateRequest): Promise<void> {
    const { threadId } = request;
    await this.#options.queue.run(threadId, async () => {
      const place = await this.#check(request);
      const marker = newMarker();
      await this.#orNothing({ threadId, marker }, async () => this.#store(request, place, marker));
    });
  }

  /** Opens a thread that was begun, and that is made by now. */
  async finish(request: CreateRequest): Promise<void> {
    const { queue, kinds, threads, creating, log } = this.#options;
    const { threadId, type } = request;
    creating.delete(threadId);
    await queue.run(threadId, async () => {
      const thread = threads.getStored(threadId);
      if (!isOpen(thread.status)) return;
      try {
        await findKind(kinds, type).open(thread);
      } catch (error) {
        log.warn({ threadId, err: error }, "a new thread could not be started; its first input starts it");
      }
      this.#tell(request, thread.marker);
    });
  }

  /** Leaves nothing of a thread that was begun. */
  async giveUp({ threadId }: Pick<CreateRequest, "threadId">): Promise<void> {
    const { queue, store, creating } = this.#options;
    await queue.run(threadId, async () => {
      const thread = store.threads.find(threadId);
      if (thread && !thread.isMade) this.#leaveNothing(thread);
      creating.delete(threadId);
    });
  }

  async #check(request: CreateRequest): Promise<Place> {
    const { store, kinds, homes, files, reposDir, userSpace, freeDiskBytes, budgets } = this.#options;
    const { threadId, type } = request;
    const { path, dir } = await resolveDirectory(
      reposDir,
      request.dir,
      request.dirId,
      userSpace.pathOf(threadId),
    );
    // A child and a branch work where another thread works.
    const hasOwnSpace = dir === USER_SPACE && request.workspace === undefined;
    if (files.isShownIn(path))
      throw new AppError(
        "invalid_directory",
        `dir: ${JSON.stringify(request.dir)} is the sidecar's own folder.`,
      );
    const existing = store.threads.find(threadId);
    if (existing && isOpen(existing.status)) {
      throw new AppError("thread_exists", `An open thread has the id ${threadId} already.`);
    }
    homes.checkNew(threadId, request.home);
    this.#checkTmux();
    budgets.check(request);
    await findKind(kinds, type).checkCreation(request);
    findKind(kinds, type).checkRoom();
    if (hasOwnSpace) userSpace.refuseKept(threadId);
    if (freeDiskBytes() < FULL_BYTES) throw diskFull();
    return { path, dir, hasOwnSpace };
  }

  #store(request: CreateRequest, { path, dir, hasOwnSpace }: Place, marker: string): void {
    const { store, kinds, homes, files, userSpace, budgets, now } = this.#options;
    const { threadId, type } = request;
    files.remove(threadId);
    makeLog(files.logs.path(threadId));
    if (hasOwnSpace) userSpace.make(threadId);
    const title = request.title === undefined ? titleOf(dir, request.command) : cleanTitle(request.title);
    store.transaction(() => {
      findKind(kinds, type).store({ ...request, dir, path, title, createdAt: now(), marker }, request);
      budgets.store(threadId, request.budget);
      if (request.home !== undefined) homes.begin(threadId, request.home);
    });
  }

  /** What is made by half is left alone while its id is among those that are being made. */
  async #orNothing(
    thread: Pick<StoredThread, "threadId" | "marker">,
    make: () => Promise<void>,
  ): Promise<void> {
    const { creating } = this.#options;
    const { threadId } = thread;
    creating.add(threadId);
    try {
      await make();
    } catch (error) {
      this.#leaveNothing(thread);
      creating.delete(threadId);
      throw error;
    }
  }

  #leaveNothing({ threadId, marker }: Pick<StoredThread, "threadId" | "marker">): void {
    const { threads, cgroups, budgets } = this.#options;
    threads.remove(threadId);
    cgroups?.remove(marker);
    budgets.end(marker);
  }

  #tell({ threadId, type, budget, home }: CreateRequest, marker: string): void {
    const { store, homes, budgets, log } = this.#options;
    budgets.sayNotHeld({ threadId, marker }, budget);
    if (home !== undefined && homes.findDiscordId(threadId) === undefined) store.homes.tellHomeless();
    log.info({ threadId, type }, "thread created");
  }

  #checkTmux(): void {
    const downMs = this.#options.tmux.downForMs();
    if (downMs === null) return;
    throw new AppError("unavailable", `tmux has not answered for ${Math.ceil(downMs / 1_000)} s; try again.`);
  }
}
