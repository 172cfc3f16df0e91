/** Brings database and tmux together: after each connection to tmux, and whenever sessions came or went. */
import { isOpen } from "../../shared/api.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { kindIn } from "../../shared/kinds.ts";
import type { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import type { Pane } from "../tmux/pane.ts";
import type { TmuxServer } from "../tmux/server.ts";
import type { Kinds } from "./kinds/kinds.ts";
import { findMarker, sessionName, threadIdOf } from "./names.ts";
import type { Orphans } from "./orphans.ts";
import type { Programs } from "./programs.ts";
import type { ThreadFiles } from "./thread-files.ts";
import type { Threads } from "./threads.ts";

export interface ReconcilerOptions {
  store: Store;
  tmux: TmuxServer;
  threads: Threads;
  programs: Programs;
  files: Pick<ThreadFiles, "isWaiting">;
  kinds: Kinds;
  orphans: Orphans;
  queue: KeyedQueue;
  /** Ids that are being made right now: their threads have no session yet, and that is fine. */
  creating: ReadonlySet<string>;
  /** Told of each thread whose creation was cut off after its program may have begun. It is removed next. */
  onCutOff: (threadId: ThreadId) => void;
  log: Log;
}

export class Reconciler {
  readonly #options: ReconcilerOptions;
  #running: Promise<void> | undefined;
  #isDue = false;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** Something may have happened that nobody here was told. */
  get isDue(): boolean {
    return this.#isDue;
  }

  noteDue(): void {
    this.#isDue = true;
  }

  /** Resolves once no reconciliation is under way. Whoever began it has its error. */
  async settled(): Promise<void> {
    while (this.#running) await this.#running.catch(() => undefined);
  }

  /**
   * Removes threads whose creation was cut off, lets each kind deal with its threads that are out of step, and ends
   * sessions that no open thread has. One at a time.
   * @throws AppError `unavailable`
   */
  async reconcile(): Promise<void> {
    await this.settled();
    this.#running = this.#reconcile();
    try {
      await this.#running;
    } finally {
      this.#running = undefined;
    }
  }

  async #reconcile(): Promise<void> {
    const { store, tmux, orphans } = this.#options;
    this.#isDue = false;
    const panes = await tmux.listPanes("all");
    const sessions = new Set(panes.map((pane) => pane.session));
    const open = store.threads.list("open");
    const looks = await Promise.allSettled(
      open.map((thread) => this.#look(thread, sessions.has(sessionName(thread.threadId)))),
    );
    const known = new Set(open.map(({ threadId }) => sessionName(threadId)));
    const unknown = panes.filter(({ session }) => !known.has(session));
    await orphans.settle(unknown, (pane) => this.#endUnknown(pane));
    for (const pane of unknown) if (!orphans.isLeftAlone(pane)) await this.#endUnknown(pane);
    // One thread that fails keeps no other out of step.
    const failed = looks.find((look) => look.status === "rejected");
    if (failed) throw failed.reason;
  }

  async #look(thread: StoredThread, hasSession: boolean): Promise<void> {
    const { queue, creating, kinds } = this.#options;
    const { threadId, isMade, type } = thread;
    if (!isMade) {
      if (!creating.has(threadId)) await queue.run(threadId, () => this.#removeHalfMade(threadId));
    } else if (kindIn(kinds, type).isOutOfStep(thread, hasSession)) {
      await queue.run(threadId, () => this.#bringInStep(threadId));
    }
  }

  /** Looks again: while this waited for the thread's queue, everything may have changed. */
  async #bringInStep(threadId: ThreadId): Promise<void> {
    const { store, tmux, kinds } = this.#options;
    const panes = await tmux.listPanes("all");
    const pane = panes.find(({ session }) => session === sessionName(threadId));
    const thread = store.threads.find(threadId);
    if (!thread || !isOpen(thread.status)) return;
    const kind = kindIn(kinds, thread.type);
    if (kind.isOutOfStep(thread, pane !== undefined)) await kind.reconcile(thread, pane);
  }

  async #removeHalfMade(threadId: ThreadId): Promise<void> {
    const { store, tmux, threads, files, programs, log, creating, onCutOff } = this.#options;
    const thread = store.threads.find(threadId);
    if (!thread || thread.isMade || creating.has(threadId)) return;
    log.warn({ threadId }, "removing a thread whose creation was interrupted");
    await programs.endOrphans(thread);
    await tmux.killSession(sessionName(threadId));
    // Not before: until then its program could still begin.
    if (!files.isWaiting(threadId)) onCutOff(threadId);
    threads.remove(threadId);
  }

  async #endUnknown({ session, pid, isDead }: Pane): Promise<void> {
    const { store, tmux, programs, log, creating } = this.#options;
    const threadId = threadIdOf(session);
    const thread = store.threads.find(threadId);
    if (creating.has(threadId) || (thread && isOpen(thread.status))) return;
    log.warn({ session }, "ending a session that no thread has");
    const marker = findMarker(pid) ?? thread?.marker;
    await programs.endTree({ panePid: isDead && marker === undefined ? 0 : pid, marker });
    await tmux.killSession(session);
  }
}
