/** Ends the threads of runs that nobody needs any more. */
import { isOpen } from "../../shared/api.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { job, type Principal } from "../../shared/principal.ts";
import type { JobRunRow } from "../store/job-runs.ts";
import type { Store } from "../store/store.ts";

const LOOK_EVERY_MS = 10 * 60_000;
/** After its run. */
const KEPT_MS = 24 * 3_600_000;
/** Of each job, whatever their age. */
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
    const { store, hasPerson, kill, log, now } = this.#options;
    let ended = 0;
    for (const run of oldRuns(this.#openRuns(), now())) {
      const { threadId, jobId } = run;
      if (threadId === null || hasPerson(threadId)) continue;
      if (ended++ === ENDED_AT_ONCE) return;
      await kill(threadId, job(store.jobs.get(jobId).settings.name));
      log.info({ run: run.run }, "the thread of an old run is ended");
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** The runs that have an open thread of their own; one that all runs of a job have is no run's. */
  #openRuns(): JobRunRow[] {
    const { store } = this.#options;
    return store.threads.list("open").flatMap(({ threadId, createdBy, status }) => {
      if (createdBy.kind !== "job" || !isOpen(status)) return [];
      const run = store.jobRuns.find(threadId);
      const isShared = run && store.jobs.get(run.jobId).threadId === threadId;
      return run && run.threadId === threadId && !isShared ? [run] : [];
    });
  }
}

/** Of each job all but the newest ones, if they are over long enough. Pure. */
export function oldRuns(runs: readonly JobRunRow[], nowMs: number): JobRunRow[] {
  const newestFirst = [...runs].sort((one, other) => other.claimedAt - one.claimedAt);
  const counts = new Map<number, number>();
  return newestFirst.filter(({ jobId, endedAt }) => {
    const place = counts.get(jobId) ?? 0;
    counts.set(jobId, place + 1);
    return place >= KEPT_THREADS && endedAt !== null && nowMs - endedAt > KEPT_MS;
  });
}
