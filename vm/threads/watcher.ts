/** Notices what happens to threads by itself: processes that end, sessions that vanish, a tmux server that dies. */
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { isOpen } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { type KeyedQueue, pause } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import type { Cgroups } from "../processes/cgroups.ts";
import { killTree, type TreeSeed } from "../processes/process-tree.ts";
import type { Store } from "../store/store.ts";
import { drain } from "../streams/drain.ts";
import { FolderWatch } from "../streams/folder-watch.ts";
import type { LogKeeper } from "../streams/log-keeper.ts";
import type { Pane, TmuxServer } from "../tmux/server.ts";
import { Alarm } from "./alarm.ts";
import { type Runner, sessionName, TERMINAL_RUN, threadIdOf } from "./programs.ts";
import { isRunEnd, type ThreadFiles } from "./thread-files.ts";

/** How often ended processes are looked for while any runs, when nothing says that one is about to end. */
const LOOK_INTERVAL_MS = 1_000;
/** A wrapper has left its program's exit code: it goes within the next moments. */
const END_INTERVAL_MS = 50;
const END_IS_NEAR_MS = 2_000;
/** After sessions came or went, and where the wrappers' files can't be watched. */
const CHANGE_INTERVAL_MS = 200;
const KEEPER_INTERVAL_MS = 1_000;
const RETENTION_INTERVAL_MS = 10 * 60_000;
const DRAIN_TIMEOUT_MS = 10_000;
/** tmux before 3.3 never says by which signal a pane's own process died. */
const STATUS_TIMEOUT_MS = 5_000;

export interface WatcherOptions {
  store: Store;
  tmux: TmuxServer;
  files: ThreadFiles;
  runner: Runner;
  cgroups: Cgroups | undefined;
  keeper: LogKeeper;
  queue: KeyedQueue;
  /** Ids that are being made right now: their rows have no session yet, and that is fine. */
  creating: ReadonlySet<string>;
  logRetentionHours: number;
  log: Log;
  now: () => number;
}

export class Watcher {
  readonly #options: WatcherOptions;
  readonly #stop = new AbortController();
  readonly #alarm = new Alarm();
  #runsWatch: FolderWatch | undefined;
  #nearUntil = 0;
  #loops: Promise<unknown> = Promise.resolve();
  #reconciling: Promise<void> | undefined;
  #isReconcileDue = false;
  /** Threads whose pane is being dealt with: one that takes long keeps no other waiting. */
  readonly #attending = new Set<string>();
  /** Threads whose pane is dead, when that was first seen, and tmux does not say how it ended. */
  readonly #withoutStatusSince = new Map<string, number>();

  constructor(options: WatcherOptions) {
    this.#options = options;
  }

  start(): void {
    const { files, log } = this.#options;
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
      this.#every(KEEPER_INTERVAL_MS, "look after the logs", () => this.#options.keeper.look()),
      this.#every(RETENTION_INTERVAL_MS, "remove old threads", async () => this.#removeOld()),
    ]);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#runsWatch?.close();
    this.#alarm.ring();
    await this.#loops;
    await this.#reconciling?.catch(() => undefined); // its caller has the error
  }

  /** To be called when sessions come or go; calls in quick succession make one look. */
  noticeChange(): void {
    this.#isReconcileDue = true;
    this.#alarm.within(CHANGE_INTERVAL_MS);
  }

  async #lookForEnds(): Promise<void> {
    for (;;) {
      await this.#try("look for ended processes", () => this.#findEnded());
      if (this.#stop.signal.aborted) return;
      const isNear = performance.now() < this.#nearUntil;
      const farMs =
        this.#runsWatch?.isWorking && !this.#isReconcileDue ? LOOK_INTERVAL_MS : CHANGE_INTERVAL_MS;
      await this.#alarm.wait(isNear ? END_INTERVAL_MS : farMs);
    }
  }

  /**
   * Brings database and tmux together: half-made threads are removed, threads whose session is gone are `lost`,
   * sessions that no open thread has are ended, waiting messages of idle agents go in.
   */
  async reconcile(): Promise<void> {
    while (this.#reconciling) await this.#reconciling.catch(() => undefined); // its caller has the error
    this.#reconciling = this.#reconcile();
    try {
      await this.#reconciling;
    } finally {
      this.#reconciling = undefined;
    }
  }

  async #reconcile(): Promise<void> {
    const { store, tmux, queue, creating, runner } = this.#options;
    this.#isReconcileDue = false;
    const panes = await tmux.listPanes("all");
    const sessions = new Map(panes.map((pane) => [pane.session, pane]));
    const rows = store.threads.list("open");
    await Promise.all(
      rows.map(async ({ threadId, isMade, status }) => {
        const pane = sessions.get(sessionName(threadId));
        if (!isMade) {
          if (!creating.has(threadId)) await queue.run(threadId, () => this.#removeHalfMade(threadId));
        } else if (!pane && status !== "exited") {
          await queue.run(threadId, () => this.#checkLost(threadId));
        } else if (pane && status === "idle") {
          await queue.run(threadId, () => runner.startWaitingTurn(threadId));
        } else if (pane && store.turns.find(threadId, "starting")) {
          await queue.run(threadId, () => this.#settle(threadId));
        }
      }),
    );
    const known = new Set(rows.map((row) => sessionName(row.threadId)));
    for (const pane of panes.filter((pane) => !known.has(pane.session))) await this.#endUnknown(pane);
  }

  async #settle(threadId: string): Promise<void> {
    const panes = await this.#options.tmux.listPanes("all");
    const pane = panes.find((pane) => pane.session === sessionName(threadId));
    if (pane) await this.#options.runner.settleStartingTurn(threadId, pane);
  }

  async #removeHalfMade(threadId: string): Promise<void> {
    const { store, tmux, files, log, creating } = this.#options;
    const row = store.threads.find(threadId);
    if (!row || row.isMade || creating.has(threadId)) return;
    log.warn({ threadId }, "removing a thread whose creation was interrupted");
    await this.#killTree({ panePid: 0, marker: row.marker });
    await tmux.killSession(sessionName(threadId));
    store.threads.delete(threadId);
    files.remove(threadId);
  }

  async #checkLost(threadId: string): Promise<void> {
    const { store, tmux, files, log, now } = this.#options;
    const row = store.threads.find(threadId);
    if (!row || !isOpen(row.status) || row.status === "exited") return;
    const panes = await tmux.listPanes("all");
    if (panes.some((pane) => pane.session === sessionName(threadId))) return;
    // Whatever outlived the terminal runs where nobody sees it. Only the marker is safe to go by: pids start anew
    // with the machine.
    const survivors = await this.#killTree({ panePid: 0, marker: row.marker });
    const end = row.type === "terminal" ? files.findRunEnd(threadId, TERMINAL_RUN) : undefined;
    log.warn(
      { threadId, survivors },
      end ? "a thread's session is gone" : "a thread is lost: its session is gone",
    );
    store.threads.update(
      threadId,
      end
        ? { status: "exited", ...describeEnd(end.exitCode), endedAt: end.endedAt }
        : { status: "lost", endedAt: now() },
    );
  }

  async #endUnknown(pane: Pane): Promise<void> {
    const { store, tmux, log, creating } = this.#options;
    const threadId = threadIdOf(pane.session);
    const row = store.threads.find(threadId);
    if (creating.has(threadId) || (row && isOpen(row.status))) return;
    log.warn({ session: pane.session }, "ending a session that no thread has");
    const { pid, isDead } = pane;
    const marker = findMarker(pid) ?? row?.marker;
    await this.#killTree({ panePid: isDead && marker === undefined ? 0 : pid, marker });
    await tmux.killSession(pane.session);
  }

  #killTree(seed: Omit<TreeSeed, "group">): Promise<number> {
    const group = seed.marker === undefined ? undefined : this.#options.cgroups?.pathOf(seed.marker);
    return killTree({ ...seed, group });
  }

  async #findEnded(): Promise<void> {
    const { store, tmux, queue } = this.#options;
    if (tmux.downForMs() !== null) {
      this.#isReconcileDue = true;
      return;
    }
    if (this.#isReconcileDue) await this.reconcile();
    if (!store.threads.list("open").some((row) => row.status === "running")) return;
    for (const pane of await tmux.listPanes("needing a look")) {
      const row = store.threads.find(threadIdOf(pane.session));
      if (row?.status !== "running" || this.#attending.has(row.threadId)) continue;
      const { threadId } = row;
      this.#attending.add(threadId);
      const work = pane.isDead
        ? () => this.#try("finish a thread", () => this.#finish(threadId, pane))
        : () => this.#try("give a log a new writer", () => this.#options.keeper.repair(threadId));
      void queue.run(threadId, work).finally(() => this.#attending.delete(threadId));
    }
  }

  /** The pane's process has ended: once the log is complete, the thread says so. */
  async #finish(threadId: string, pane: Pane): Promise<void> {
    const { store, tmux, files, runner, now } = this.#options;
    const row = store.threads.find(threadId);
    if (row?.status !== "running" || row.panePid !== pane.pid) return;
    // A message that could not go in while tmux hung: the pane is dead because it has not been started yet.
    if (store.turns.find(threadId, "starting")) return runner.settleStartingTurn(threadId, pane);
    const runNumber = row.type === "terminal" ? TERMINAL_RUN : store.turns.find(threadId, "running")?.seq;
    const end = runNumber === undefined ? undefined : files.findRunEnd(threadId, runNumber);
    if (!end && pane.exitCode === undefined && pane.signal === undefined) {
      const since = this.#withoutStatusSince.get(threadId) ?? performance.now();
      this.#withoutStatusSince.set(threadId, since);
      this.#alarm.within(CHANGE_INTERVAL_MS);
      if (performance.now() - since < STATUS_TIMEOUT_MS) return tmux.collectChildren(); // the next look has it
    }
    this.#withoutStatusSince.delete(threadId);
    const { signal } = this.#stop;
    const outcome = await drain(this.#options, threadId, { timeoutMs: DRAIN_TIMEOUT_MS, signal });
    if (outcome === "aborted") return; // the next sidecar finishes the thread
    if (outcome === "unfinished")
      this.#options.log.warn({ threadId }, "a log still grows after its process ended");
    const ending = end ? describeEnd(end.exitCode) : describeEnd(pane.exitCode ?? null, pane.signal);
    const endedAt = end?.endedAt ?? now();
    if (row.type === "terminal") {
      store.threads.update(threadId, { status: "exited", ...ending, endedAt });
      return;
    }
    store.transaction(() => {
      if (runNumber !== undefined) store.turns.set(threadId, runNumber, "done", ending.exitCode);
      store.threads.update(threadId, { status: "idle", ...ending, endedAt });
    });
    await runner.startWaitingTurn(threadId);
  }

  #removeOld(): void {
    const { store, files, log, logRetentionHours, now } = this.#options;
    for (const { threadId, endedAt, createdAt } of store.threads.list("ended")) {
      if (now() - (endedAt ?? createdAt) < logRetentionHours * 3_600_000) continue;
      store.threads.delete(threadId);
      files.remove(threadId);
      log.info({ threadId }, "removed an old thread");
    }
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
    try {
      await work();
    } catch (error) {
      const isAway = error instanceof AppError && error.code === "unavailable";
      if (isAway) this.#isReconcileDue = true; // what was asked of tmux may have happened or not
      this.#options.log[isAway ? "warn" : "error"]({ err: error }, `could not ${what}`);
    }
  }
}

/** `128 + n` is how a shell says "died by signal n"; a program that ends with such a code itself reads the same. */
export function describeEnd(
  exitCode: number | null,
  signalNumber?: number,
): { exitCode: number | null; signal: string | null } {
  const number = signalNumber ?? (exitCode !== null && exitCode > 128 ? exitCode - 128 : 0);
  const signal = Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? null;
  return { exitCode: exitCode ?? (signalNumber === undefined ? null : 128 + signalNumber), signal };
}

function findMarker(pid: number): string | undefined {
  try {
    return /(?:^|\0)(THREADMUX_THREAD=[^\0]+)/.exec(readFileSync(`/proc/${pid}/environ`, "latin1"))?.[1];
  } catch {
    return undefined; // gone meanwhile
  }
}
