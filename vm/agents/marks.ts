/** The mark of a thread that has read text from outside, and how it goes on to whoever gets text of that thread. */
import type { InboxLine } from "../../shared/agent/inbox.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { type KeyedQueue, pause } from "../../shared/lifecycle.ts";
import { type Principal, threadPrincipal } from "../../shared/principal.ts";
import type { Store } from "../store/store.ts";
import type { Threads } from "../threads/threads.ts";
import type { AgentKind } from "./agent-kind.ts";
import type { AgentThreads } from "./agent-threads.ts";
import type { AgentFolders } from "./folders.ts";
import { findNarrowMode, letIn, refuseUnmarkable, spreadFrom } from "./outside.ts";

/** How often it is looked whether a runner has read that its thread is marked. */
const LOOKS = 100;
const LOOK_MS = 100;

export interface MarksOptions {
  store: Store;
  threads: Threads;
  folders: AgentFolders;
  agents: AgentThreads;
  kind: Pick<AgentKind, "append">;
  queue: KeyedQueue;
  now: () => number;
}

export class Marks {
  readonly #options: MarksOptions;

  constructor(options: MarksOptions) {
    this.#options = options;
  }

  /** Where the text from outside came from that the thread has read, or is about to; undefined if it has read none. */
  find(threadId: ThreadId): { why: string } | undefined {
    const { store, agents } = this.#options;
    return store.agents.find(threadId) ? agents.get(threadId).marked : undefined;
  }

  /** The same, for whoever gets text of this thread. */
  async findSpread(from: ThreadId): Promise<string | undefined> {
    if (this.#options.store.agents.find(from)) await this.#options.agents.catchUp(from);
    return this.findSpreadNow(from);
  }

  /** The same of what was read of its transcript by now. */
  findSpreadNow(from: ThreadId): string | undefined {
    const mark = this.find(from);
    return mark && spreadFrom(`thread ${from}`, mark);
  }

  /**
   * A thread is about to get text of another one: if that one is marked, it is marked first, and its runner knows.
   * @param known the source of text from outside in that text; if it is not known, the other thread's mark counts
   * @throws AppError `unsupported` if its engine can't be held to ask, `unavailable` if its runner does not read
   */
  async spread(from: ThreadId, to: ThreadId, known?: string): Promise<void> {
    const { queue, kind, threads, agents } = this.#options;
    const marks = known ?? (await this.findSpread(from));
    if (marks === undefined || from === to) return;
    if (!this.find(to))
      await queue.run(to, async () => {
        const lines = markLines(this.#options, to, marks, threadPrincipal(from));
        await kind.append(threads.getStored(to), lines);
      });
    for (let look = 0; ; look++) {
      await agents.catchUp(to);
      if (agents.look(to, ({ fold }) => fold).marked) return;
      if (look >= LOOKS)
        throw new AppError("unavailable", "This thread could not be marked before it reads that; try again.");
      await pause(LOOK_MS);
    }
  }
}

/**
 * Gives the lines that go into a thread's inbox before text of a marked thread; none if the text is of no marked one.
 * @throws AppError `unsupported` if its engine can't be held to ask
 */
export function markLines(
  { folders, agents, now }: Pick<MarksOptions, "folders" | "agents" | "now">,
  threadId: ThreadId,
  marks: string | undefined,
  by: Principal,
): InboxLine[] {
  if (marks === undefined) return [];
  const agent = folders.findConfig(threadId)?.agent;
  if (agent) refuseUnmarkable(agent.engine, "That text is of a thread that has read text from outside");
  const place = { folder: folders.of(threadId), by, now: now() };
  return letIn({ marks }, place, () => findNarrowMode(agent, agents.get(threadId))).before;
}
