/** Notices what happens to threads by itself: processes that end, sessions that vanish, a tmux server that dies. */
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { isOpen } from "../shared/api.ts";
import { AppError } from "../shared/errors.ts";
import { type KeyedQueue, pause } from "../shared/lifecycle.ts";
import type { Log } from "../shared/log.ts";
import { sizeOfLog } from "./log-file.ts";
import { killTree } from "./process-tree.ts";
import { type Runner, sessionName, TERMINAL_RUN } from "./runner.ts";
import type { Store, ThreadRow } from "./store.ts";
import type { ThreadFiles } from "./thread-files.ts";
import type { Pane, TmuxServer } from "./tmux/server.ts";

/** How often ended processes are looked for while any runs. */
const WATCH_INTERVAL_MS = 200;
const RETENTION_INTERVAL_MS = 10 * 60_000;

export interface WatcherOptions {
  store: Store;
  tmux: TmuxServer;
  files: ThreadFiles;
  runner: Runner;
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
  #loops: Promise<unknown> = Promise.resolve();
  #reconciling: Promise<void> | undefined;
  #isReconcileDue = false;

  constructor(options: WatcherOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loops = Promise.all([
      this.#every(WATCH_INTERVAL_MS, "look for ended processes", () => this.#findEnded()),
      this.#every(RETENTION_INTERVAL_MS, "remove old threads", async () => this.#removeOld()),
    ]);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#loops;
    await this.#reconciling?.catch(() => undefined); // its caller has the error
  }

  /** To be called when sessions come or go; calls in quick succession make one look. */
  noticeChange(): void {
    this.#isReconcileDue = true;
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
    const rows = store.listThreads("open");
    await Promise.all(
      rows.map(async ({ threadId, isMade, status }) => {
        const pane = sessions.get(sessionName(threadId));
        if (!isMade) {
          if (!creating.has(threadId)) await queue.run(threadId, () => this.#removeHalfMade(threadId));
        } else if (!pane && status !== "exited") {
          await queue.run(threadId, () => this.#checkLost(threadId));
        } else if (pane && status === "idle") {
          await queue.run(threadId, () => runner.startWaitingTurn(threadId));
        } else if (pane && store.findTurn(threadId, "starting")) {
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
    const row = store.findThread(threadId);
    if (!row || row.isMade || creating.has(threadId)) return;
    log.warn({ threadId }, "removing a thread whose creation was interrupted");
    await killTree({ panePid: 0, tty: "", marker: row.marker });
    await tmux.killSession(sessionName(threadId));
    store.deleteThread(threadId);
    files.remove(threadId);
  }

  async #checkLost(threadId: string): Promise<void> {
    const { store, tmux, files, log, now } = this.#options;
    const row = store.findThread(threadId);
    if (!row || !isOpen(row.status) || row.status === "exited") return;
    const panes = await tmux.listPanes("all");
    if (panes.some((pane) => pane.session === sessionName(threadId))) return;
    // Whatever outlived the terminal runs where nobody sees it. Only the marker is safe to go by: pids start anew
    // with the machine.
    const survivors = await killTree({ panePid: 0, tty: "", marker: row.marker });
    const end = row.type === "terminal" ? files.findRunEnd(threadId, TERMINAL_RUN) : undefined;
    log.warn(
      { threadId, survivors },
      end ? "a thread's session is gone" : "a thread is lost: its session is gone",
    );
    store.updateThread(
      threadId,
      end
        ? { status: "exited", ...describeEnd(end.exitCode), endedAt: end.endedAt }
        : { status: "lost", endedAt: now() },
    );
  }

  async #endUnknown(pane: Pane): Promise<void> {
    const { store, tmux, log, creating } = this.#options;
    const threadId = pane.session.replace(/^thread-/, "");
    const row = store.findThread(threadId);
    if (creating.has(threadId) || (row && isOpen(row.status))) return;
    log.warn({ session: pane.session }, "ending a session that no thread has");
    await killTree({ panePid: pane.pid, tty: pane.tty, marker: findMarker(pane.pid) ?? row?.marker ?? "\0" });
    await tmux.killSession(pane.session);
  }

  async #findEnded(): Promise<void> {
    const { store, tmux, queue } = this.#options;
    if (tmux.downForMs() !== null) {
      this.#isReconcileDue = true; // what was asked of it meanwhile may have happened or not
      return;
    }
    if (this.#isReconcileDue) await this.reconcile();
    const running = new Map(
      store
        .listThreads("open")
        .filter((row) => row.status === "running")
        .map((row) => [sessionName(row.threadId), row]),
    );
    if (running.size === 0) return;
    const panes = await tmux.listPanes("needing a look");
    await Promise.all(
      panes.map(async (pane) => {
        const row = running.get(pane.session);
        if (row && pane.isDead) await queue.run(row.threadId, () => this.#finish(row.threadId, pane));
      }),
    );
  }

  /** The pane's process has ended: once the log is complete, the thread says so. */
  async #finish(threadId: string, pane: Pane): Promise<void> {
    const { store, tmux, files, runner, now } = this.#options;
    const row = store.findThread(threadId);
    if (row?.status !== "running" || row.panePid !== pane.pid) return;
    const runNumber = row.type === "terminal" ? TERMINAL_RUN : store.findTurn(threadId, "running")?.seq;
    const end = runNumber === undefined ? undefined : files.findRunEnd(threadId, runNumber);
    if (!end && pane.exitCode === undefined && pane.signal === undefined) {
      await tmux.collectChildren(); // the next look has the status
      return;
    }
    await this.#drained(row);
    const ending = end ? describeEnd(end.exitCode) : describeEnd(pane.exitCode ?? null, pane.signal);
    const endedAt = end?.endedAt ?? now();
    if (row.type === "terminal") {
      store.updateThread(threadId, { status: "exited", ...ending, endedAt });
      return;
    }
    store.transaction(() => {
      if (runNumber !== undefined) store.setTurn(threadId, runNumber, "done", ending.exitCode);
      store.updateThread(threadId, { status: "idle", ...ending, endedAt });
    });
    await runner.startWaitingTurn(threadId);
  }

  /**
   * Waits until the sink has written everything: tmux has gone round its loop and the log has not grown meanwhile.
   * The wrapper's last pause has given tmux the time to read all of it.
   */
  async #drained(row: ThreadRow): Promise<void> {
    const { tmux, files, log } = this.#options;
    let before = -1;
    for (let looks = 0; looks < 400; looks++) {
      const { end } = sizeOfLog(files.log(row.threadId));
      if (end === before) return;
      before = end;
      await tmux.ping();
      await pause(25);
    }
    log.warn({ threadId: row.threadId }, "a log still grows after its process ended");
  }

  #removeOld(): void {
    const { store, files, log, logRetentionHours, now } = this.#options;
    for (const { threadId, endedAt, createdAt } of store.listThreads("ended")) {
      if (now() - (endedAt ?? createdAt) < logRetentionHours * 3_600_000) continue;
      store.deleteThread(threadId);
      files.remove(threadId);
      log.info({ threadId }, "removed an old thread");
    }
  }

  /** A background loop: a failed round is logged and the next one tries again. */
  async #every(intervalMs: number, what: string, work: () => Promise<void>): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await work();
      } catch (error) {
        const isAway = error instanceof AppError && error.code === "unavailable";
        this.#options.log[isAway ? "warn" : "error"]({ err: error }, `could not ${what}`);
      }
      await pause(intervalMs, signal);
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
