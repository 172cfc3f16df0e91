/** Asks people whether jobs are still wanted that put agents to work and that nobody has dealt with for long. */
import type { ThreadId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { JobRow } from "../store/jobs.ts";
import type { Store } from "../store/store.ts";
import type { JobNews } from "./news.ts";
import { targetThread } from "./target-thread.ts";

const LOOK_EVERY_MS = 3_600_000;
const DAYS = 30;
const UNATTENDED_MS = DAYS * 86_400_000;

export interface UnattendedOptions {
  store: Store;
  news: Pick<JobNews, "ask">;
  /** When a person has written into a thread last, in milliseconds since 1970. */
  lastPersonAt: (threadId: ThreadId) => number | undefined;
  now: () => number;
  log: Log;
}

export class Unattended {
  readonly #options: UnattendedOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: UnattendedOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.look(), LOOK_EVERY_MS).unref();
    this.look();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Asks about each job that has run, and that no person has dealt with for 30 days; again after 30 days more. */
  look(): void {
    const { store, log, now } = this.#options;
    try {
      for (const row of store.jobs.listUnattended(now() - UNATTENDED_MS)) this.#judge(row);
    } catch (error) {
      log.error({ err: error }, "could not look for jobs that nobody deals with; trying again");
    }
  }

  #judge(row: JobRow): void {
    const { store, news, now } = this.#options;
    const { jobId, attendedAt } = row;
    const [newest] = store.jobRuns.list(jobId, 1);
    if (!newest || newest.claimedAt < attendedAt) return;
    const at = this.#lastPersonAt(row);
    if (at > attendedAt) {
      store.jobs.setAttended(jobId, Math.min(at, now()));
      if (now() - at < UNATTENDED_MS) return;
    }
    const usd = store.jobRuns.spentSince(jobId, attendedAt);
    store.transaction(() => {
      news.ask(
        row,
        `Nobody has written in its threads for ${DAYS} days, in which it has cost $${usd.toFixed(2)}. Is it still wanted? It goes on until somebody pauses it.`,
      );
      store.jobs.setAttended(jobId, now());
    });
  }

  /** The threads in which a person has written are kept, so the open ones tell. */
  #lastPersonAt({ threadId, settings: { name, what } }: JobRow): number {
    const { store, lastPersonAt } = this.#options;
    const own = store.threads
      .list("open")
      .filter(({ createdBy: by }) => by.kind === "job" && by.name === name)
      .map((thread) => thread.threadId);
    const target = targetThread(store, what);
    const all = new Set([...own, ...(threadId ? [threadId] : []), ...(target ? [target] : [])]);
    return Math.max(0, ...[...all].map((id) => lastPersonAt(id) ?? 0));
  }
}
