/** Makes threads. */
import { isOpen } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { cleanTitle, titleOf } from "../../shared/title.ts";
import { USER_SPACE } from "../../shared/user-space.ts";
import type { Cgroups } from "../processes/cgroups.ts";
import type { Store } from "../store/store.ts";
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

export class Creation {
  readonly #options: CreationOptions;

  constructor(options: CreationOptions) {
    this.#options = options;
  }

  /** @throws AppError `invalid_directory`, `thread_exists`, `max_threads`, `too_many_agents`, `unavailable` */
  async create(request: CreateRequest): Promise<{ tmuxSession: string }> {
    const { store, queue, kinds, homes, creating, files, threads, cgroups, reposDir, userSpace } =
      this.#options;
    const { freeDiskBytes, now, log, budgets } = this.#options;
    const { threadId, type, budget } = request;
    const kind = findKind(kinds, type);
    const marker = newMarker();
    return queue.run(threadId, async () => {
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
      await kind.checkCreation(request);
      kind.checkRoom();
      if (hasOwnSpace) userSpace.refuseKept(threadId);
      if (freeDiskBytes() < FULL_BYTES) throw diskFull();
      if (request.dryRun) return { tmuxSession: sessionName(threadId) };
      creating.add(threadId);
      try {
        files.remove(threadId);
        makeLog(files.logs.path(threadId));
        if (hasOwnSpace) userSpace.make(threadId);
        const title = request.title === undefined ? titleOf(dir, request.command) : cleanTitle(request.title);
        store.transaction(() => {
          kind.store({ ...request, dir, path, title, createdAt: now(), marker }, request);
          budgets.store(threadId, budget);
          if (request.home !== undefined) homes.begin(threadId, request.home);
        });
        await kind.open(threads.getStored(threadId));
      } catch (error) {
        threads.remove(threadId);
        cgroups?.remove(marker);
        budgets.end(marker);
        throw error;
      } finally {
        creating.delete(threadId);
      }
      budgets.sayNotHeld({ threadId, marker }, budget);
      if (request.home !== undefined && homes.findDiscordId(threadId) === undefined)
        store.homes.tellHomeless();
      log.info({ threadId, type }, "thread created");
      return { tmuxSession: sessionName(threadId) };
    });
  }

  #checkTmux(): void {
    const downMs = this.#options.tmux.downForMs();
    if (downMs === null) return;
    throw new AppError("unavailable", `tmux has not answered for ${Math.ceil(downMs / 1_000)} s; try again.`);
  }
}
