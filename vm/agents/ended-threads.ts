/**
 * What can still be done with an agent that was killed: undoing a turn. A runner without an engine and a terminal runs
 * for it alone; the thread stays over.
 */

import { statSync } from "node:fs";
import type { ControlRequest } from "../../shared/agent/api.ts";
import { undoText } from "../../shared/agent/change-text.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { kindOf } from "../../shared/kinds.ts";
import { type KeyedQueue, pause } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import type { Principal } from "../../shared/principal.ts";
import type { AgentRow } from "../store/agents.ts";
import type { Store } from "../store/store.ts";
import { threadEnded } from "../threads/ending.ts";
import type { AgentThreads } from "./agent-threads.ts";
import type { AgentFolders } from "./folders.ts";
import { controlLine, killLine } from "./requests.ts";
import type { Runners } from "./runners.ts";
import { withTarget } from "./support.ts";
import { findUndo, hasTurn, transcriptSize } from "./transcript.ts";

/** A runner that puts very many files back. What it has not put back by then, the next *Undo* does. */
const UNDO_TIMEOUT_MS = 120_000;
/** How long a caller waits to hear what came of the wish. */
const PATIENCE_MS = 15_000;

export interface EndedThreadsOptions {
  store: Store;
  folders: AgentFolders;
  agents: AgentThreads;
  runners: Runners;
  log: Log;
  now: () => number;
}

export class EndedThreads {
  readonly #options: EndedThreadsOptions;

  constructor(options: EndedThreadsOptions) {
    this.#options = options;
  }

  /**
   * Undoes a turn of a thread that is over. It is stored when the queue is free again, and done after that.
   * @returns what came of it, in words; undefined if that takes longer
   * @throws AppError `not_found`, `thread_ended` if its folder is gone
   */
  async undo(
    threadId: ThreadId,
    request: Extract<ControlRequest, { control: "undo" }>,
    by: Principal,
    queue: KeyedQueue,
  ): Promise<string | undefined> {
    const { agents, folders, now, log } = this.#options;
    const asked = await queue.run(threadId, async () => {
      this.#getKilled(threadId);
      const { isKilled, turn } = agents.get(threadId).fold;
      if (!isKilled || turn) await this.#close(threadId); // its end could not be written down before
      const thread = agents.get(threadId);
      const isKnown = (turnId: string) => hasTurn(folders.of(threadId), turnId);
      const wanted = await withTarget(request, thread.fold, isKnown);
      const inboxByte = thread.append([controlLine(wanted, by, now())]);
      return { since: thread.transcriptEnd, inboxByte };
    });
    const done = queue
      .run(threadId, () => this.#close(threadId))
      .then(
        () => findUndo(this.#options.folders.of(threadId), asked.since, asked.inboxByte),
        (error: unknown) => {
          log.error({ threadId, err: error }, "could not undo a turn of a killed thread");
          return undefined;
        },
      );
    const event = await Promise.race([done, pause(PATIENCE_MS).then(() => undefined)]);
    return event && undoText(event);
  }

  /** At the sidecar's start: what an earlier one was killed in the middle of. */
  recover(queue: KeyedQueue): void {
    const { store, log } = this.#options;
    for (const agent of store.agents.list()) {
      const { threadId } = agent;
      if (agent.status !== "killed" || store.threads.find(threadId)?.status !== "killed") continue;
      if (!this.#isUnfinished(agent)) continue;
      log.warn({ threadId }, "finishing an undo that was cut off");
      queue
        .run(threadId, () => this.#close(threadId))
        .catch((error: unknown) => log.error({ threadId, err: error }, "could not finish an undo"));
    }
  }

  /** Its transcript says more than was read, or its inbox was written last. */
  #isUnfinished({ threadId, fold, transcriptBytes }: AgentRow): boolean {
    const { folders } = this.#options;
    if (!folders.exists(threadId)) return false;
    const folder = folders.of(threadId);
    if (fold.pending.undo || transcriptSize(folder) !== transcriptBytes) return true;
    const writtenAt = (file: "inbox" | "transcript") =>
      statSync(threadPath(folder, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    return writtenAt("inbox") > writtenAt("transcript");
  }

  /** Lets a runner do what lies in the inbox, and end. */
  async #close(threadId: ThreadId): Promise<void> {
    const { agents, runners, now } = this.#options;
    this.#getKilled(threadId);
    const thread = agents.get(threadId);
    // Without this line the runner would let the agent go on.
    if (!thread.fold.isKilled) thread.append([killLine(now())]);
    try {
      await runners.endAll(threadId); // one that an earlier sidecar has left
      await runners.runToClose(threadId, UNDO_TIMEOUT_MS);
    } finally {
      await agents.catchUp(threadId);
      agents.forget(threadId);
    }
  }

  #getKilled(threadId: ThreadId): void {
    const thread = this.#options.store.threads.find(threadId);
    if (!thread || !kindOf(thread).hasTurns || thread.status !== "killed")
      throw threadEnded(threadId, "it is no killed agent any more");
  }
}
