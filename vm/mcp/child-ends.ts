/**
 * An agent that speaks with a tool waits for no child: the end of a child's turn is an input. Each is told once,
 * whatever is killed: its id names the child's turn, and a child whose first end was not told is open in its parent's
 * transcript, so the next start of the sidecar looks for it.
 */
import { REVIEW_THREAD } from "../../shared/agent/gate-review.ts";
import { MAX_HOPS } from "../../shared/agent/message-fields.ts";
import { isOpen } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { kindOf } from "../../shared/kinds.ts";
import type { Log } from "../../shared/log.ts";
import type { Agents } from "../agents/agents.ts";
import type { AgentFolders } from "../agents/folders.ts";
import type { Marks } from "../agents/marks.ts";
import { saidIn } from "../agents/said.ts";
import type { Store } from "../store/store.ts";
import type { LogWatch } from "../streams/log-watch.ts";
import type { Threads } from "../threads/threads.ts";
import { noteEnd } from "./budgets.ts";
import { isSettled } from "./child-tools.ts";
import type { Children } from "./children.ts";

/** Whatever is told of changes. */
const LOOK_MS = 10_000;
const MAX_TOLD = 8_000;

export interface ChildEndsOptions {
  store: Store;
  threads: Threads;
  agents: Agents;
  folders: Pick<AgentFolders, "madeBy" | "exists">;
  children: Pick<Children, "parentOf">;
  marks: Pick<Marks, "findSpread">;
  logWatch: LogWatch;
  log: Log;
}

export class ChildEnds {
  readonly #options: ChildEndsOptions;
  /** Children that are looked at. */
  readonly #watched = new Map<ThreadId, AbortController>();

  constructor(options: ChildEndsOptions) {
    this.#options = options;
  }

  /** Whether it is told of its children's ends. */
  isFor(threadId: ThreadId): boolean {
    const { folders } = this.#options;
    return folders.exists(threadId) && folders.madeBy(threadId).voice !== undefined;
  }

  /** Tells its parent when the child's turn ends. Nothing if that one waits for its children by itself. */
  watch(childId: ThreadId): void {
    const { children, log } = this.#options;
    if (childId.startsWith(REVIEW_THREAD)) return; // its end is a decision
    const parentId = children.parentOf(childId);
    if (parentId === undefined || this.#watched.has(childId) || !this.isFor(parentId)) return;
    const stop = new AbortController();
    this.#watched.set(childId, stop);
    this.#tellEnd(parentId, childId, stop.signal)
      .catch((error: unknown) => {
        if (error instanceof AppError) return; // one of them is over
        log.error({ threadId: parentId, err: error }, "could not tell an agent of its child's end");
      })
      .finally(() => this.#watched.delete(childId));
  }

  /** Its parent knows of the end by now. */
  drop(childId: ThreadId): void {
    this.#watched.get(childId)?.abort();
  }

  /** At the sidecar's start. */
  recover(): void {
    const { threads, agents } = this.#options;
    for (const { threadId } of threads.list("open").filter((thread) => kindOf(thread).hasTurns))
      if (this.isFor(threadId))
        for (const childId of agents.toldChildren(threadId).open.keys()) this.watch(childId);
  }

  async #tellEnd(parentId: ThreadId, childId: ThreadId, signal: AbortSignal): Promise<void> {
    const { threads, agents, logWatch, marks, children } = this.#options;
    const changes = logWatch.listen([childId]);
    try {
      while (!(await isSettled(threads.get(childId), agents))) {
        await changes.wait(LOOK_MS, signal);
        if (signal.aborted || logWatch.isClosed) return;
      }
    } finally {
      changes.end();
    }
    const child = threads.get(childId);
    if (!isOpen(threads.get(parentId).status)) return;
    const [fold, own] = [await agents.foldNow(childId), await agents.foldNow(parentId)];
    const { last, end } = await saidIn(agents, childId);
    const stopReason = end?.stopReason ?? child.status;
    const outside = await marks.findSpread(childId);
    const hops = Math.max(fold.hops ?? 0, own.hops ?? 0) + 1;
    await agents.takeFromAgent(parentId, {
      messageId: `end-${childId}-${fold.totals.turns}`,
      from: childId,
      fromNumber: child.number ?? undefined,
      text: `Its turn has ended: ${stopReason}.\n\n${last.slice(0, MAX_TOLD) || "It said nothing."}`,
      hops,
      ...(hops > MAX_HOPS && { held: "hops" as const }),
      ...(outside !== undefined && { marks: outside }),
    });
    await noteEnd({ threads, agents, children }, parentId, childId, stopReason);
  }
}
