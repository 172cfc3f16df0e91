/** Claims what is due: one timer of at most a minute for all jobs. The claim and the next due instant are one write. */

import { dayStart } from "../../shared/clock-text.ts";
import { isClock } from "../../shared/jobs/when.ts";
import type { Log } from "../../shared/log.ts";
import { job } from "../../shared/principal.ts";
import type { JobRow } from "../store/jobs.ts";
import type { Store } from "../store/store.ts";
import { decide, hasExpired, LONGEST_SLEEP_MS } from "./decide.ts";
import { whyGone } from "./maker.ts";
import { runName } from "./names.ts";
import type { JobNews } from "./news.ts";
import type { Runs } from "./runs.ts";
import { nextDue, type Scheduled } from "./schedule.ts";
import { targetThread } from "./target-thread.ts";

/** Claimed in one go, before others have their turn. */
const CLAIMED_AT_ONCE = 100;
/** After a look that failed. */
const LOOK_AGAIN_MS = 5_000;
const EXPIRED = "It has expired.";
const KEPT_RUNS = 2_000;
const KEPT_MS = 30 * 86_400_000;

export interface SchedulerOptions {
  store: Store;
  runs: Runs;
  news: Pick<JobNews, "pause" | "tellNone">;
  /** Whether its maker still may. */
  mayStill: (job: JobRow) => boolean;
  /** Whether its thread has a turn. */
  isBusy: (threadId: string) => boolean;
  now: () => number;
  log: Log;
  onClaim?: ((lateMs: number, status: string) => void) | undefined;
}

export class Scheduler {
  readonly #options: SchedulerOptions;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  /** Claims what is due, goes on with what was begun, and plans the next look. */
  look(): void {
    if (this.#isClosed) return;
    const { store, runs, now, log } = this.#options;
    clearTimeout(this.#timer);
    const nowMs = now();
    let waitMs = LONGEST_SLEEP_MS;
    try {
      this.#mendFar(nowMs);
      for (const row of store.jobs.listExpired(nowMs)) this.#endJob(row.jobId, EXPIRED);
      const due = store.jobs.listDue(nowMs, CLAIMED_AT_ONCE);
      for (const row of due) this.#claim(row, nowMs);
      // All rows come before the first start: what is started takes time from them.
      if (due.length === CLAIMED_AT_ONCE) waitMs = 0;
      else runs.look();
    } catch (error) {
      // The disk is full, or another process holds the database: the next look makes up for it.
      log.error({ err: error }, "could not look at the jobs; trying again");
      this.#timer = setTimeout(() => this.look(), LOOK_AGAIN_MS).unref();
      return;
    }
    this.#plan(waitMs);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #plan(mostMs: number): void {
    const { store, now } = this.#options;
    let first: number | null = null;
    try {
      first = store.jobs.firstDue();
    } catch {
      // Said by the look before.
    }
    const ms = first === null ? mostMs : Math.min(mostMs, Math.max(0, first - now()));
    this.#timer = setTimeout(() => this.look(), ms).unref();
  }

  #claim(row: JobRow, nowMs: number): void {
    const { store, news, log } = this.#options;
    try {
      store.transaction(() => this.#claimOne(row, nowMs));
    } catch (error) {
      if (isOfStore(error)) throw error;
      // One that can't be computed keeps no other waiting.
      log.error({ job: row.settings.name, err: error }, "a job's next due instant can't be computed");
      news.pause(row, "Its next due instant can't be computed; the sidecar's log says why.");
    }
  }

  #claimOne(row: JobRow, nowMs: number): void {
    const { store, news, mayStill } = this.#options;
    const { jobId, settings, nextDue: firstDue } = row;
    const scheduled = scheduledOf(row);
    if (firstDue === null || !scheduled) store.jobs.setNext(jobId, null, 0);
    else if (hasExpired(settings, firstDue)) this.#endJob(jobId, EXPIRED);
    else if (!mayStill(row)) news.pause(row, whyGone(row.createdBy));
    else this.#occur(row, scheduled, firstDue, nowMs);
  }

  #occur(row: JobRow, scheduled: Scheduled, firstDue: number, nowMs: number): void {
    const { store, news, isBusy, onClaim } = this.#options;
    const { jobId, settings } = row;
    const { what } = settings;
    const threadId = targetThread(store, what) ?? row.threadId;
    const occurrence = decide(row, scheduled, firstDue, {
      nowMs,
      openRuns: store.jobRuns.countOpen(jobId),
      isThreadBusy: threadId !== null && isBusy(threadId),
      spentTodayUsd: store.jobRuns.spentSince(jobId, dayStart(nowMs)),
    });
    const { due, missed, status, reason } = occurrence;
    const endedAt = status === "claimed" ? null : nowMs;
    const by = job(settings.name);
    const name = runName(settings.name, due);
    const isNew = store.jobRuns.insert({
      run: name,
      jobId,
      due,
      status,
      reason,
      by,
      claimedAt: nowMs,
      endedAt,
      missed,
    });
    if (isNew) {
      onClaim?.(nowMs - due, status);
      news.tellNone(row, status, { run: name, reason });
    }
    if (occurrence.nextDue === null) this.#endJob(jobId, "It is not due again.");
    else store.jobs.setNext(jobId, occurrence.nextDue, occurrence.nextDue - due);
    store.jobRuns.prune(jobId, { beforeMs: nowMs - KEPT_MS, keep: KEPT_RUNS });
  }

  /** A clock was ahead and was put right: those that are due far too late by now are computed anew. */
  #mendFar(nowMs: number): void {
    const { store, log } = this.#options;
    for (const row of store.jobs.listFar(nowMs)) {
      const scheduled = scheduledOf(row);
      if (!scheduled || row.nextDue === null) continue;
      let due = nextDue(scheduled, nowMs);
      // Those that were run while the clock was ahead are not run again.
      while (due !== null && due < row.nextDue && store.jobRuns.has(row.jobId, due))
        due = nextDue(scheduled, due);
      if (due === null || due >= row.nextDue) continue;
      store.jobs.setNext(row.jobId, due, due - nowMs);
      const [was, is] = [new Date(row.nextDue).toISOString(), new Date(due).toISOString()];
      log.warn(
        { job: row.settings.name, was, is },
        "a clock was ahead: a job's next due instant is computed anew",
      );
    }
  }

  #endJob(jobId: number, why: string): void {
    const { store } = this.#options;
    store.jobs.setNext(jobId, null, 0);
    store.jobs.setState(jobId, "over", why);
  }
}

/** Undefined if no clock starts it. */
export function scheduledOf({
  settings,
  createdAt,
}: Pick<JobRow, "settings" | "createdAt">): Scheduled | undefined {
  return isClock(settings.when) ? { when: settings.when, madeAt: createdAt } : undefined;
}

function isOfStore(error: unknown): boolean {
  const { code = "" } = error as { code?: string };
  return code === "unavailable" || code.startsWith("SQLITE");
}
