/** Threads that follow logs: a terminal each, whose program is ours and shows what people want to see. */
import { AppError } from "../../shared/errors.ts";
import type { View } from "../../shared/follow/spec.ts";
import type { ParsedFollowRequest, ViewRequest } from "../../shared/follow-api.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Principal } from "../../shared/principal.ts";
import type { Store } from "../store/store.ts";
import type { Creation } from "../threads/creation.ts";
import { resolveDirectory } from "../threads/directory.ts";
import { threadEnded, whyOver } from "../threads/ending.ts";
import type { ThreadFiles } from "../threads/thread-files.ts";
import type { Threads } from "../threads/threads.ts";
import { completeServices } from "./complete-services.ts";
import { findService } from "./find-service.ts";
import { MachineServices } from "./machine-services.ts";

export interface FollowsOptions {
  store: Store;
  threads: Threads;
  files: ThreadFiles;
  creation: Creation;
  queue: KeyedQueue;
  /** A real path. */
  reposDir: string;
  /** The environment of the threads' programs. */
  threadEnv: Record<string, string>;
  now: () => number;
}

export class Follows {
  readonly #options: FollowsOptions;
  readonly #machine: MachineServices;

  constructor(options: FollowsOptions) {
    this.#options = options;
    this.#machine = new MachineServices(options.threadEnv, options.now);
  }

  /** @throws AppError `invalid_directory`, `not_found`, `unsupported`, and those of a new terminal */
  async create(
    request: ParsedFollowRequest,
    createdBy: Principal,
  ): Promise<{ tmuxSession: string; service: string }> {
    const { reposDir, creation } = this.#options;
    const { service: asked, lines, grep = null, title, home, ...rest } = request;
    const { path } = await resolveDirectory(reposDir, request.dir);
    const { service, source } = await findService(this.#machine, asked, { path, lines });
    const { tmuxSession } = await creation.create({
      ...rest,
      type: "terminal",
      command: `logs ${asked}`,
      ...(title !== undefined && { title }),
      ...(home !== undefined && { home }),
      createdBy,
      follows: { service, source, lines, paused: false, grep },
    });
    return { tmuxSession, service };
  }

  /** Completes what a person has typed; nothing if there is no such directory. */
  async list(dir: string, prefix: string): Promise<string[]> {
    try {
      const { path } = await resolveDirectory(this.#options.reposDir, dir);
      return await completeServices(this.#machine, path, prefix);
    } catch (error) {
      if (error instanceof AppError) return [];
      throw error;
    }
  }

  /**
   * Changes what is shown, from now on. If a crash comes between the file and the row, the row counts: {@link recover}
   * writes the file again from it.
   * @throws AppError `not_found`, `unsupported`, `thread_ended`
   */
  async setView(threadId: ThreadId, { paused, grep }: ViewRequest): Promise<View> {
    const { store, threads, files, queue } = this.#options;
    threads.getStored(threadId);
    return queue.run(threadId, async () => {
      const { follows, status } = threads.getStored(threadId);
      if (follows === null)
        throw new AppError("unsupported", `Thread ${threadId} follows no logs; /logs opens one that does.`);
      if (status !== "running") throw threadEnded(threadId, whyOver(status));
      const view = {
        paused: paused ?? follows.paused,
        grep: grep === undefined ? follows.grep : grep,
      };
      files.writeView(threadId, view);
      store.threads.update(threadId, { follows: { ...follows, ...view } });
      return view;
    });
  }

  /** At a start, before callers come in: an earlier sidecar may have died between the file and the row. */
  recover(): void {
    const { store, files } = this.#options;
    for (const { threadId, follows, status } of store.threads.list("open"))
      if (follows !== null && status === "running") files.writeView(threadId, follows);
  }
}
