/** Notices what happens to threads by itself: processes that end, sessions that vanish, a tmux server that dies. */
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { type KeyedQueue, pause } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import type { Store } from "../store/store.ts";
import { FolderWatch } from "../streams/folder-watch.ts";
import type { LogKeeper } from "../streams/log-keeper.ts";
import type { Pane } from "../tmux/pane.ts";
import type { TmuxServer } from "../tmux/server.ts";
import { Alarm } from "./alarm.ts";
import type { Finisher } from "./finisher.ts";
import { threadIdOf } from "./names.ts";
import type { Reconciler } from "./reconciler.ts";
import type { Retention } from "./retention.ts";
import { isRunEnd, type ThreadFiles } from "./thread-files.ts";
import type { Threads } from "./threads.ts";
import type { Watchdog } from "./watchdog.ts";

/** How often ended processes are looked for while any runs, when nothing says that one is about to end. */
const LOOK_INTERVAL_MS = 1_000;
/** A wrapper has left its program's exit code: it goes within the next moments. */
const END_INTERVAL_MS = 50;
const END_IS_NEAR_MS = 2_000;
/** After sessions came or went, and while the wrappers' files can't be watched. */
const CHANGE_INTERVAL_MS = 200;
/** What failed is tried again after this time, without anybody's doing. */
const TROUBLE_INTERVAL_MS = 1_000;
const KEEPER_INTERVAL_MS = 1_000;
const WATCHDOG_INTERVAL_MS = 250;
const RETENTION_INTERVAL_MS = 10 * 60_000;

export interface WatcherOptions {
  store: Store;
  tmux: TmuxServer;
  files: ThreadFiles;
  threads: Threads;
  reconciler: Reconciler;
  finisher: Finisher;
  keeper: LogKeeper;
  retention: Retention;
  watchdog: Watchdog;
  queue: KeyedQueue;
  log: Log;
  /** How often what all threads take is bounded. */
  totalIntervalMs: number;
}

/**
 * Loops: ends and sessions, logs, what is kept of ended threads. All that happens to one thread happens in its queue.
 * Each loop goes on after an error; the next reconciliation finds out what tmux did not answer.
 */
export class Watcher {
  readonly #options: WatcherOptions;
  readonly #stop = new AbortController();
  readonly #alarm = new Alarm();
  #runsWatch: FolderWatch | undefined;
  #trouble: NodeJS.Timeout | undefined;
  /** Until then a program is expected to end at any moment. */
  #nearUntil = 0;
  #loops: Promise<unknown> = Promise.resolve();
  /** Threads whose pane is being dealt with: one that takes long keeps no other waiting. */
  readonly #attending = new Set<string>();

  constructor(options: WatcherOptions) {
    this.#options = options;
  }

  start(): void {
    const { files, log, keeper, retention, watchdog, totalIntervalMs } = this.#options;
    // A thread that runs costs next to nothing until its program ends.
    this.#runsWatch = new FolderWatch(
      files.runsFolder,
      (name) => {
        if (!isRunEnd(name)) return;
        this.#nearUntil = performance.now() + END_IS_NEAR_MS;
        this.#alarm.within(END_INTERVAL_MS);
      },
      (error) =>
        log.warn({ err: error }, "the wrappers' files can't be watched; ends are looked for instead"),
    );
    this.#loops = Promise.all([
      this.#lookForEnds(),
      this.#every(KEEPER_INTERVAL_MS, "look after the logs", () => keeper.look()),
      this.#every(WATCHDOG_INTERVAL_MS, "see to it that tmux has time for all", () => watchdog.look()),
      this.#every(RETENTION_INTERVAL_MS, "remove old threads", () => retention.removeOld()),
      this.#every(totalIntervalMs, "bound what all threads take", () => retention.boundTotal()),
    ]);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#runsWatch?.close();
    clearTimeout(this.#trouble);
    this.#alarm.ring();
    await this.#loops;
    await this.#options.reconciler.settled();
  }

  /** To be called when sessions come or go; calls in quick succession make one look. */
  noticeChange(): void {
    this.#options.reconciler.noteDue();
    this.#alarm.within(CHANGE_INTERVAL_MS);
  }

  /** To be called if a thread could not be brought in step: all are looked at again soon. */
  noticeTrouble(): void {
    if (this.#stop.signal.aborted) return;
    this.#trouble ??= setTimeout(() => {
      this.#trouble = undefined;
      this.noticeChange();
    }, TROUBLE_INTERVAL_MS).unref();
  }

  async #lookForEnds(): Promise<void> {
    const { reconciler } = this.#options;
    for (;;) {
      await this.#try("look for ended processes", () => this.#findEnded());
      if (this.#stop.signal.aborted) return;
      const isNear = performance.now() < this.#nearUntil;
      const isQuiet = this.#runsWatch?.isWorking === true && !reconciler.isDue;
      await this.#alarm.wait(isNear ? END_INTERVAL_MS : isQuiet ? LOOK_INTERVAL_MS : CHANGE_INTERVAL_MS);
    }
  }

  async #findEnded(): Promise<void> {
    const { store, tmux, reconciler } = this.#options;
    if (tmux.downForMs() !== null) return reconciler.noteDue();
    if (reconciler.isDue) await reconciler.reconcile();
    if (!store.threads.list("open").some(({ status }) => status === "running")) return;
    for (const pane of await tmux.listPanes("needing a look")) {
      const thread = store.threads.find(threadIdOf(pane.session));
      if (thread?.status === "running") this.#attend(thread.threadId, pane);
    }
  }

  #attend(threadId: ThreadId, pane: Pane): void {
    const { queue, keeper } = this.#options;
    if (this.#attending.has(threadId)) return;
    this.#attending.add(threadId);
    const work = pane.isDead
      ? () => this.#try("finish a thread", () => this.#finish(threadId, pane))
      : () => this.#try("give a log a new writer", () => keeper.repair(threadId));
    void queue.run(threadId, work).finally(() => this.#attending.delete(threadId));
  }

  async #finish(threadId: ThreadId, pane: Pane): Promise<void> {
    const outcome = await this.#options.finisher.finish(threadId, pane, this.#stop.signal);
    if (outcome === "too early") this.#alarm.within(CHANGE_INTERVAL_MS);
  }

  /** A background loop: a failed round is logged and the next one tries again. */
  async #every(intervalMs: number, what: string, work: () => Promise<void>): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await this.#try(what, work);
      await pause(intervalMs, signal);
    }
  }

  async #try(what: string, work: () => Promise<void>): Promise<void> {
    const { reconciler, log } = this.#options;
    try {
      await work();
    } catch (error) {
      const isAway = error instanceof AppError && error.code === "unavailable";
      if (isAway)
        reconciler.noteDue(); // what was asked of tmux may have happened or not
      else this.noticeTrouble();
      log[isAway ? "warn" : "error"]({ err: error }, `could not ${what}`);
    }
  }
}
