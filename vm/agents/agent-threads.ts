/** The agent threads that are open: loaded when they are needed, read as their transcripts grow. */
import { setImmediate } from "node:timers/promises";
import { THREAD_FILES } from "../../shared/agent/paths.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { Store } from "../store/store.ts";
import { FolderWatch } from "../streams/folder-watch.ts";
import { AgentThread } from "./agent-thread.ts";
import type { AgentFolders } from "./folders.ts";
import { type OnEvent, Projection } from "./projection.ts";

/** A transcript that is written is read so often, whatever the file system's notifications do. */
const FALLBACK_INTERVAL_MS = 1_000;
const NOTHING = { isNew: false, isMore: false };

export interface AgentThreadsOptions {
  store: Store;
  folders: AgentFolders;
  /** Something about a thread has changed: its transcript, its status, what happens this moment. */
  onChange: (threadId: ThreadId) => void;
  /** What a transcript says is stored at last, and nobody waits for it any more: it may want a runner. */
  onCaughtUp: (threadId: ThreadId) => void;
  /** For metrics. */
  onEvent: OnEvent;
  log: Log;
}

export class AgentThreads {
  readonly #options: AgentThreadsOptions;
  readonly #projection: Projection;
  readonly #threads = new Map<ThreadId, AgentThread>();
  /** While a runner runs: what tells of its writing. */
  readonly #watches = new Map<ThreadId, FolderWatch>();
  /** Whose transcript could not be read or stored to its end: they are looked at until it is. */
  readonly #late = new Set<ThreadId>();
  /** Whose transcripts are read on as soon as others were served. */
  readonly #behind = new Set<ThreadId>();
  /** The state that a thread's status file says. */
  readonly #statuses = new Map<ThreadId, string>();
  /** Runs while a runner does, or something is late. */
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: AgentThreadsOptions) {
    this.#options = options;
    this.#projection = new Projection(options.store, options.onEvent);
  }

  close(): void {
    this.#isClosed = true;
    for (const threadId of [...this.#watches.keys()]) this.#endWatch(threadId);
    this.#behind.clear();
    this.#late.clear();
    this.#endTimer();
  }

  /** @throws AppError `thread_ended` if the thread's folder was removed under it, `not_found` if it is no agent. */
  get(threadId: ThreadId): AgentThread {
    const { store, folders, log } = this.#options;
    const known = this.#threads.get(threadId);
    if (known && folders.exists(threadId)) return known;
    const agent = store.agents.find(threadId);
    if (!agent) throw new AppError("not_found", `There is no agent thread ${JSON.stringify(threadId)}.`);
    if (!folders.exists(threadId)) {
      throw new AppError("thread_ended", folderGone(threadId)); // it does not come back
    }
    const { fold, transcriptBytes } = agent;
    const folder = folders.of(threadId);
    const thread = new AgentThread({
      threadId,
      folder,
      fold,
      transcriptBytes,
      projection: this.#projection,
      log,
    });
    this.#threads.set(threadId, thread);
    return thread;
  }

  /** What is wanted of a thread, which may be over: such a one is not kept in memory for it. @throws as {@link get} */
  look<T>(threadId: ThreadId, wanted: (thread: AgentThread) => T): T {
    const found = wanted(this.get(threadId));
    if (this.#options.store.agents.find(threadId)?.status === "killed") this.forget(threadId);
    return found;
  }

  /** Reads a thread's transcript as its runner writes it, until {@link unwatch}. */
  watch(threadId: ThreadId): void {
    if (this.#watches.has(threadId)) return;
    const { folders, log, onChange } = this.#options;
    const watch = new FolderWatch(
      folders.of(threadId),
      (name) => {
        if (name === THREAD_FILES.transcript) this.refresh(threadId);
        else if (name === THREAD_FILES.live) onChange(threadId);
      },
      (error) =>
        log.warn({ threadId, err: error }, "a thread's folder can't be watched; it is looked at instead"),
    );
    this.#watches.set(threadId, watch);
    this.#startTimer();
    this.refresh(threadId);
  }

  isWatched(threadId: ThreadId): boolean {
    return this.#watches.has(threadId);
  }

  /** Those that have a runner. */
  watched(): AgentThread[] {
    return [...this.#watches.keys()].flatMap((threadId) => this.#threads.get(threadId) ?? []);
  }

  /** Resolves when all that the runner has written is stored, unless that fails. */
  async unwatch(threadId: ThreadId): Promise<void> {
    this.#endWatch(threadId);
    await this.catchUp(threadId);
  }

  /** Resolves when all that a transcript says is stored, unless that fails. Others are served meanwhile. */
  async catchUp(threadId: ThreadId): Promise<void> {
    while (this.#readSome(threadId)) await setImmediate();
  }

  /**
   * Stores what a transcript says that was not read yet: some of it at once, the rest when others were served. What
   * fails is tried again with the next look.
   */
  refresh(threadId: ThreadId): void {
    if (!this.#readSome(threadId) || this.#behind.has(threadId)) return;
    this.#behind.add(threadId);
    void setImmediate().then(() => {
      if (this.#behind.delete(threadId)) this.refresh(threadId);
    });
  }

  /** @returns whether there is more */
  #readSome(threadId: ThreadId): boolean {
    if (this.#isClosed) return false;
    const { store, folders, log, onChange, onCaughtUp } = this.#options;
    try {
      const isThere = folders.exists(threadId) && store.agents.find(threadId) !== undefined;
      const { isNew, isMore } = isThere ? this.get(threadId).refresh() : NOTHING;
      if (isNew) {
        this.#writeStatus(threadId);
        onChange(threadId);
      }
      if (isMore) return true;
    } catch (error) {
      log.error({ threadId, err: error }, "could not read a transcript; trying again");
      this.#late.add(threadId);
      this.#startTimer();
      return false;
    }
    if (this.#late.delete(threadId) && !this.isWatched(threadId)) onCaughtUp(threadId);
    this.#endTimer();
    return false;
  }

  #writeStatus(threadId: ThreadId): void {
    const { store, folders } = this.#options;
    const agent = store.agents.find(threadId);
    if (!agent) return;
    const { status, awaiting, turnCount } = agent;
    const text = JSON.stringify({ status, awaiting, turn_count: turnCount });
    if (this.#statuses.get(threadId) === text) return;
    folders.writeStatus(threadId, text);
    this.#statuses.set(threadId, text);
  }

  /** The thread is over, or gone: nothing of it is kept in memory. */
  forget(threadId: ThreadId): void {
    this.#endWatch(threadId);
    this.#threads.delete(threadId);
    this.#late.delete(threadId);
    this.#behind.delete(threadId);
    this.#statuses.delete(threadId);
    this.#projection.forget(threadId);
  }

  #endWatch(threadId: ThreadId): void {
    this.#watches.get(threadId)?.close();
    this.#watches.delete(threadId);
    this.#endTimer();
  }

  #startTimer(): void {
    this.#timer ??= setInterval(() => this.#lookAtAll(), FALLBACK_INTERVAL_MS).unref();
  }

  #endTimer(): void {
    if (this.#watches.size > 0 || this.#late.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #lookAtAll(): void {
    for (const threadId of new Set([...this.#watches.keys(), ...this.#late])) this.refresh(threadId);
  }
}

/** What a person is told if a thread's folder was removed under it. */
export function folderGone(threadId: ThreadId): string {
  return `The folder of thread ${threadId} is gone from the VM, and the conversation with it.`;
}
