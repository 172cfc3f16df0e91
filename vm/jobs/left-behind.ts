/** Ends the threads of runs that nobody needs any more. */
import type { ThreadId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { Principal } from "../../shared/principal.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import { outcomeOfAgent } from "./outcome.ts";

const LOOK_EVERY_MS = 10 * 60_000;
/** After its run. */
const KEPT_MS = 24 * 3_600_000;
/** How many threads of each job stay, whatever their age. */
const KEPT_THREADS = 20;
/** Ended at one look: each end takes tmux a while. */
const ENDED_AT_ONCE = 20;

export interface LeftBehindOptions {
  store: Store;
  /** Whether a person has written into a run's thread. */
  hasPerson: (threadId: ThreadId) => boolean;
  kill: (threadId: ThreadId, by: Principal) => Promise<unknown>;
  now: () => number;
  log: Log;
}

export class LeftBehind {
  readonly #options: LeftBehindOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LeftBehindOptions) {
    this.#options = options;
  }

  start(): void {
    const look = () => {
      this.look().catch((error: unknown) => {
        this.#options.log.error({ err: error }, "could not end the threads of old runs; trying again");
      });
    };
    this.#timer = setInterval(look, LOOK_EVERY_MS).unref();
    look();
  }

  /** Ends the threads of runs that are over for a day, but for the newest and those in which a person has written. */
  async look(): Promise<void> {
    const { hasPerson, kill, log, now } = this.#options;
    let ended = 0;
    for (const { threadId, by } of oldRuns(this.#list(), now())) {
      if (ended === ENDED_AT_ONCE) return;
      try {
        if (hasPerson(threadId)) continue;
        await kill(threadId, by);
        ended += 1;
        log.info({ threadId }, "the thread of an old run is ended");
      } catch (error) {
        log.error({ threadId, err: error }, "could not end the thread of an old run; trying again");
      }
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** The open threads that are a run's own; one into which a job writes is no run's. */
  #list(): RunThread[] {
    const { store } = this.#options;
    return store.threads.list("open").flatMap((thread) => {
      const { threadId, createdBy: by, createdAt } = thread;
      if (by.kind !== "job" || store.jobs.hasThread(threadId)) return [];
      const run = store.jobRuns.find(threadId);
      const { jobId = null, endedAt = this.#restsSince(thread) } = run ?? {};
      return [{ threadId, by, jobId, begunAt: run?.claimedAt ?? createdAt, endedAt }];
    });
  }

  /** With its job a run's row is removed: the thread says when it was over. */
  #restsSince({ threadId, createdAt, endedAt }: StoredThread): number | null {
    const { store } = this.#options;
    const agent = store.agents.find(threadId);
    if (!agent) return endedAt;
    const turn = store.steps.findLastTurn(threadId);
    if (!outcomeOfAgent(agent.fold, threadId, turn)) return null;
    const at = turn?.endedAt ?? turn?.startedAt;
    return at ? Date.parse(at) : createdAt;
  }
}

export interface RunThread {
  threadId: ThreadId;
  /** Its job. */
  by: Principal;
  /** Null if the job was removed. */
  jobId: number | null;
  begunAt: number;
  /** Null while the run goes on. */
  endedAt: number | null;
}

/** Lists the runs that are over long enough: all but each job's newest ones, and all of a removed job. Pure. */
export function oldRuns(runs: readonly RunThread[], nowMs: number): RunThread[] {
  const newestFirst = [...runs].sort((one, other) => other.begunAt - one.begunAt);
  const counts = new Map<number, number>();
  return newestFirst.filter(({ jobId, endedAt }) => {
    const place = jobId === null ? KEPT_THREADS : (counts.get(jobId) ?? 0);
    if (jobId !== null) counts.set(jobId, place + 1);
    return place >= KEPT_THREADS && endedAt !== null && nowMs - endedAt > KEPT_MS;
  });
}
