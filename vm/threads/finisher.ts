/** Finishes what has ended: once a dead pane's log is complete, its thread says that the program has ended. */
import type { ThreadId } from "../../shared/ids.ts";
import { kindIn } from "../../shared/kinds.ts";
import type { Log } from "../../shared/log.ts";
import type { Store } from "../store/store.ts";
import { drain } from "../streams/drain.ts";
import type { Pane } from "../tmux/pane.ts";
import type { TmuxServer } from "../tmux/server.ts";
import { endingOf } from "./ending.ts";
import type { Kinds } from "./kinds/kinds.ts";
import type { ThreadFiles } from "./thread-files.ts";

const DRAIN_TIMEOUT_MS = 10_000;
/** tmux before 3.3 never says by which signal a pane's own process died. */
const STATUS_TIMEOUT_MS = 5_000;

export interface FinisherOptions {
  store: Store;
  tmux: TmuxServer;
  files: ThreadFiles;
  kinds: Kinds;
  log: Log;
  now: () => number;
}

export class Finisher {
  readonly #options: FinisherOptions;
  /** Threads whose pane is dead, when that was first seen, and nobody says how the program ended. */
  readonly #withoutStatusSince = new Map<string, number>();

  constructor(options: FinisherOptions) {
    this.#options = options;
  }

  /**
   * The pane's process has ended. The caller holds the thread's queue.
   * @param signal ends the wait for the log; then the next sidecar finishes the thread.
   * @returns `too early` if it is not known yet how the program ended: to be called again soon.
   * @throws AppError `unavailable`
   */
  async finish(threadId: ThreadId, pane: Pane, signal: AbortSignal): Promise<"done" | "too early"> {
    const { store, tmux, files, kinds, log, now } = this.#options;
    const thread = store.threads.find(threadId);
    if (thread?.status !== "running" || thread.panePid !== pane.pid) return "done";
    const kind = kindIn(kinds, thread.type);
    const end = kind.findEnd(thread);
    const isKnown = end !== undefined || pane.exitCode !== undefined || pane.signal !== undefined;
    if (!isKnown && !this.#isGivenUp(threadId)) {
      await tmux.collectChildren(); // the next look has it
      return "too early";
    }
    this.#withoutStatusSince.delete(threadId);
    const outcome = await drain({ tmux, logs: files.logs }, threadId, {
      timeoutMs: DRAIN_TIMEOUT_MS,
      signal,
    });
    if (outcome === "aborted") return "done";
    if (outcome === "unfinished") log.warn({ threadId }, "a log still grows after its process ended");
    await kind.takeEnd(thread, endingOf(end, pane, now()));
    return "done";
  }

  #isGivenUp(threadId: ThreadId): boolean {
    const since = this.#withoutStatusSince.get(threadId) ?? performance.now();
    this.#withoutStatusSince.set(threadId, since);
    return performance.now() - since >= STATUS_TIMEOUT_MS;
  }
}
