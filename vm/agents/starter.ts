/** Starts agents' runners when there is something to do, and keeps those waiting that are not needed yet. */
import type { Live } from "../../shared/agent/files.ts";
import { personOf } from "../../shared/agent/place-order.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { OWNER, printPrincipal } from "../../shared/principal.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import type { AgentThread } from "./agent-thread.ts";
import type { AgentThreads } from "./agent-threads.ts";
import type { AgentFolders } from "./folders.ts";
import { RunnerQueue } from "./runner-queue.ts";
import type { Runners } from "./runners.ts";
import type { WakeUps } from "./wake-ups.ts";

export interface StarterOptions {
  store: Store;
  folders: AgentFolders;
  agents: AgentThreads;
  runners: Runners;
  wakeUps: WakeUps;
  /** How many agents have a turn at once; as many wait with a runner. */
  maxAgents: number;
  /** The thread has moved up in the queue. */
  onChange: (threadId: ThreadId) => void;
  /** A runner could not be started: the thread is to be looked at again soon. */
  onTrouble: () => void;
  log: Log;
  now: () => number;
}

export class Starter {
  readonly #options: StarterOptions;
  readonly #queue: RunnerQueue;
  #onFree: (threadId: ThreadId) => void = () => {};

  constructor(options: StarterOptions) {
    this.#options = options;
    this.#queue = new RunnerQueue({
      ready: options.maxAgents,
      findAwake: () =>
        options.agents
          .watched()
          .map(({ threadId, fold }) => ({ threadId, fold, person: this.#personOf(threadId, fold) })),
      onFree: (threadId) => this.#onFree(threadId),
      onMoved: options.onChange,
      now: options.now,
    });
  }

  /** Says who starts a runner that may be started now: in the thread's queue, by {@link startIfNeeded}. */
  listen(onFree: (threadId: ThreadId) => void): void {
    this.#onFree = onFree;
  }

  close(): void {
    this.#queue.close();
  }

  /** Whether so many runners are being started that a new one has to wait. */
  get isCrowded(): boolean {
    return this.#queue.isCrowded;
  }

  /** The thread's transcript has grown, or its runner has ended. */
  note(threadId: ThreadId): void {
    this.#queue.note(threadId);
  }

  /** The thread is over. */
  forget(threadId: ThreadId): void {
    this.#queue.forget(threadId);
  }

  /** What a thread that waits without a runner waits for, as a title. */
  titleOf(threadId: ThreadId): string | undefined {
    return this.#queue.find(threadId)?.title;
  }

  /** What happens this moment, with how many come before a thread that nobody else counts for. */
  liveOf(threadId: ThreadId, live: Live | null): Live | null {
    const { title, sinceMs } = this.#queue.find(threadId) ?? {};
    if (title === undefined || !live?.step) return live;
    // A caller that waits for another moment's news hears of it.
    const movedAt = new Date(sinceMs ?? 0).toISOString();
    const updatedAt = movedAt > live.updatedAt ? movedAt : live.updatedAt;
    return { ...live, step: { ...live.step, title }, updatedAt };
  }

  needsRunner(threadId: ThreadId): boolean {
    const { store, agents, folders, wakeUps, now } = this.#options;
    const agent = store.agents.find(threadId);
    if (!agent || agent.problem !== null || !folders.exists(threadId)) return this.#needsNone(threadId);
    if (store.spoken.isBeingHandedOver(threadId)) return this.#needsNone(threadId);
    const thread = agents.get(threadId);
    wakeUps.set(threadId, thread.fold.goOnAt);
    if (!thread.needsRunner(now())) return this.#needsNone(threadId);
    return this.#queue.mayStart(threadId, thread.isAsleep ? this.#waitOf(thread) : undefined);
  }

  /** A start that fails is made again soon: what lies in the inbox will be read without anybody's doing. */
  async startIfNeeded(threadId: ThreadId): Promise<void> {
    const { store, onTrouble, log } = this.#options;
    const thread = store.threads.find(threadId);
    if (thread?.status !== "idle" || !this.needsRunner(threadId)) return;
    try {
      await this.start(thread);
    } catch (error) {
      log.warn({ threadId, err: error }, "a runner could not be started; trying again");
      onTrouble();
    }
  }

  /** @throws AppError `unavailable` */
  async start(thread: StoredThread): Promise<void> {
    const { store, agents, runners } = this.#options;
    const { threadId } = thread;
    store.transaction(() => {
      store.agents.noteStart(threadId);
      store.threads.update(threadId, { status: "running", endedAt: null, exitCode: null, signal: null });
    });
    agents.watch(threadId);
    this.#queue.noteStart(threadId);
    const running = await runners.start(thread);
    store.threads.update(threadId, running);
  }

  #needsNone(threadId: ThreadId): false {
    this.#queue.forget(threadId);
    return false;
  }

  #waitOf({ threadId, fold }: AgentThread) {
    const step = fold.steps.find(({ kind }) => kind === "place");
    const sinceMs = step ? Date.parse(step.startedAt) : this.#options.now();
    return { person: this.#personOf(threadId, fold), sinceMs };
  }

  #personOf(threadId: ThreadId, fold: AgentThread["fold"]): string {
    return personOf(fold, printPrincipal(this.#options.store.threads.find(threadId)?.createdBy ?? OWNER));
  }
}
