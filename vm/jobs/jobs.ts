/** What callers do with jobs. */

import { isOpen } from "../../shared/api.ts";
import { dayStart } from "../../shared/clock-text.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { JobPreview } from "../../shared/jobs/api.ts";
import type { EventWhen } from "../../shared/jobs/event.ts";
import type { CheckedJobRequest, Job, JobRun, JobSettings } from "../../shared/jobs/job.ts";
import { type CheckedWhen, isClock, type When } from "../../shared/jobs/when.ts";
import { isHuman, type Principal, printPrincipal } from "../../shared/principal.ts";
import type { People } from "../callers/people.ts";
import type { JobRunRow } from "../store/job-runs.ts";
import type { JobRow } from "../store/jobs.ts";
import type { Store } from "../store/store.ts";
import type { Homes } from "../threads/homes.ts";
import { LONGEST_SLEEP_MS, whySkipped } from "./decide.ts";
import type { JobEvents } from "./events.ts";
import { isWell, RUNS_LOOKED_AT } from "./heartbeat.ts";
import type { Hooks } from "./hooks.ts";
import { whyChanged } from "./job-agents.ts";
import { whyGone } from "./maker.ts";
import { handRunName, threadOf } from "./names.ts";
import { placeOfEvents, placeOfJob } from "./place.ts";
import type { Runs } from "./runs.ts";
import { dueText, nextDue, nextDues, parseWhen } from "./schedule.ts";
import { type Scheduler, scheduledOf } from "./scheduler.ts";
import type { Targets } from "./targets.ts";
import { machineZone } from "./zone.ts";

const SHOWN = 3;
/** Twice as long as the scheduler sleeps at most. */
const OVERDUE_MS = 2 * LONGEST_SLEEP_MS;
const MAX_OVERDUE_NAMED = 10;
/** The most jobs of one person; `MAX_JOBS` is for all together. */
const MAX_OF_ONE = 100;

export interface JobsOptions {
  store: Store;
  homes: Pick<Homes, "resolve" | "channelOf" | "channelOfMain">;
  people: Pick<People, "judge">;
  targets: Targets;
  runs: Runs;
  scheduler: Scheduler;
  events: Pick<JobEvents, "settle" | "refresh">;
  hooks: Pick<Hooks, "check" | "keep" | "forget">;
  mayStill: (job: JobRow) => boolean;
  maxJobs: number;
  /** Says a sentence in an agent's thread, the same one once; does nothing if the thread is over. */
  tell: (threadId: ThreadId, sentence: string) => Promise<void>;
  now: () => number;
}

export class Jobs {
  readonly #options: JobsOptions;

  constructor(options: JobsOptions) {
    this.#options = options;
  }

  /**
   * @param notice what the thread that makes it is told; a kill loses it no more than the job
   * @throws AppError that names the field and says what would fit; `forbidden` if they may not read the events it is for
   */
  async create(request: CheckedJobRequest, by: Principal, notice?: string): Promise<Job> {
    const { store, homes, people, targets, scheduler, hooks, events, now } = this.#options;
    const { what, paused, ...sent } = request;
    const nowMs = now();
    this.#checkRoom(sent.name, by);
    const when = this.#withThread(parseWhen(sent.when, { nowMs, zone: machineZone() }));
    if (when.type === "event") people.judge(by, "read", placeOfEvents(when, homes));
    const named =
      what.type === "input" && what.threadId !== undefined
        ? { ...what, threadId: homes.resolve(what.threadId) }
        : what;
    const settings: JobSettings = { ...sent, when, what: named };
    const first = isClock(when) ? nextDue({ when, madeAt: nowMs }, nowMs) : null;
    if (settings.expiresAt !== undefined && Date.parse(settings.expiresAt) <= (first ?? nowMs))
      throw new AppError("invalid_request", "expiresAt: is before the job is due for the first time.");
    const secret = ("secret" in sent.when && sent.when.secret) || "";
    hooks.check(settings, secret);
    const directive = await targets.check({ settings, createdBy: by });
    this.#checkRoom(sent.name, by); // while that was looked at, another one may have been made
    if (when.type === "webhook") hooks.keep(sent.name, secret);
    if (when.type === "event") events.settle();
    store.jobs.insert({
      settings: { ...settings, ...(directive && { directive }) },
      createdBy: by,
      createdAt: nowMs,
      state: paused ? "paused" : "active",
      why: paused ? "It was made paused; resume it, and it begins." : null,
      nextDue: first,
      period: (first ?? nowMs) - nowMs,
      notice,
    });
    if (when.type === "event") events.refresh();
    scheduler.look();
    return this.get(settings.name);
  }

  /** @throws AppError `invalid_request` */
  preview(sent: CheckedWhen): JobPreview {
    const nowMs = this.#options.now();
    const when = parseWhen(sent, { nowMs, zone: machineZone() });
    if (!isClock(when))
      return { when, next: [], words: when.type === "event" ? eventWords(when) : "at each request" };
    const dues = nextDues({ when, madeAt: nowMs }, nowMs, SHOWN);
    const words = dues.map((due) => `${dueText(when, due)}, in ${awayText(due - nowMs)}`).join("; ");
    return { when, next: dues.map(at), words };
  }

  /** Finds a heartbeat's state for a monitor; undefined if there is none of this name. */
  findHeartbeat(name: string): { ok: boolean } | undefined {
    const { store, now } = this.#options;
    const row = store.jobs.find(name);
    if (!row?.settings.heartbeat) return undefined;
    return { ok: isWell(row, store.jobRuns.list(row.jobId, RUNS_LOOKED_AT), now()) };
  }

  /** Those that should have begun some minutes ago, and those of which a run waits for a thread so long. */
  overdue(): { count: number; names: string[] } {
    const { store, now } = this.#options;
    const before = now() - OVERDUE_MS;
    return {
      count: store.jobs.countOverdue(before),
      names: store.jobs.listOverdue(before, MAX_OVERDUE_NAMED),
    };
  }

  list(): Job[] {
    return this.#options.store.jobs.list().map((row) => this.#describe(row));
  }

  /** Tells threads of the jobs that they have made, as far as they were not told. */
  async tellMakers(): Promise<void> {
    const { store, tell } = this.#options;
    for (const { jobId, createdBy, notice } of store.jobs.listUnsaid()) {
      if (notice !== null && createdBy.kind === "thread") await tell(threadOf(createdBy.threadId), notice);
      store.jobs.setSaid(jobId);
    }
  }

  /** @throws AppError `not_found` */
  get(name: string): Job {
    return this.#describe(this.#find(name));
  }

  /** That of the thread into which a job writes; other jobs are in none. */
  channelOf(name: string): string | undefined {
    const { store, homes } = this.#options;
    const row = store.jobs.find(name);
    return row && placeOfJob(row.settings, homes);
  }

  /** The newest first. @throws AppError `not_found` */
  listRuns(name: string, limit: number): JobRun[] {
    const { jobId } = this.#find(name);
    return this.#options.store.jobRuns.list(jobId, limit).map((row) => describeRun(name, row));
  }

  /**
   * Runs it now, beside its schedule: a paused one too.
   * @returns the run's name
   * @throws AppError `not_found`, `unsupported` if its maker may no longer, or the day's cap is reached
   */
  run(name: string, by: Principal): string {
    const { store, runs, now, mayStill } = this.#options;
    const row = this.#find(name);
    if (!mayStill(row)) throw new AppError("unsupported", whyGone(row.createdBy));
    const why = whySkipped(row, {
      nowMs: now(),
      openRuns: store.jobRuns.countOpen(row.jobId),
      isThreadBusy: false,
      spentTodayUsd: this.#spentToday(row),
    });
    if (why !== null) throw new AppError("unsupported", `The job ${name} can't run now: ${why}.`);
    const run = handRunName(name, row.createdAt, store.jobs.takeHand(row.jobId));
    runs.begin(row, run, by);
    if (isHuman(by)) store.jobs.setAttended(row.jobId, now());
    return run;
  }

  /** @throws AppError `not_found`, `unsupported` if it is over */
  pause(name: string, by: Principal): Job {
    const row = this.#find(name);
    refuseOver(row);
    if (row.state === "active")
      this.#options.store.jobs.setState(row.jobId, "paused", `Paused by ${printPrincipal(by)}.`);
    return this.get(name);
  }

  /**
   * What was due meanwhile is not run. It goes on with its directive as that is now.
   * @throws AppError `not_found`, `unsupported` if it is over, and as {@link create} of its directive
   */
  async resume(name: string): Promise<Job> {
    const { store, scheduler, events, targets, now } = this.#options;
    const { settings, jobId } = this.#resumable(name);
    const { what, directive: kept } = settings;
    const directive = kept && "prompt" in what ? await targets.findDirective(settings, what) : undefined;
    const row = this.#resumable(name); // while that was read, anything may have been done with the job
    store.jobs.setAttended(row.jobId, now());
    if (row.state === "active" || row.jobId !== jobId) return this.get(name);
    if (directive !== undefined && whyChanged(kept, directive) !== undefined)
      store.jobs.setDirective(jobId, directive);
    const isOfEvents = row.settings.when.type === "event";
    if (isOfEvents) events.settle();
    const scheduled = scheduledOf(row);
    const nowMs = now();
    const next = scheduled ? nextDue(scheduled, nowMs) : null;
    store.transaction(() => {
      store.jobs.setState(row.jobId, "active", null);
      store.jobs.setNext(row.jobId, next, (next ?? nowMs) - nowMs);
      if (scheduled && next === null) store.jobs.setState(row.jobId, "over", "It is not due again.");
    });
    if (isOfEvents) events.refresh();
    scheduler.look();
    return this.get(name);
  }

  /** @throws AppError `not_found`, `unsupported` if it is over, or its maker may no longer */
  #resumable(name: string): JobRow {
    const row = this.#find(name);
    refuseOver(row);
    if (!this.#options.mayStill(row)) throw new AppError("unsupported", whyGone(row.createdBy));
    return row;
  }

  /** @throws AppError `not_found` */
  remove(name: string): void {
    const { store, hooks } = this.#options;
    store.jobs.remove(this.#find(name).jobId);
    hooks.forget(name);
  }

  #find(name: string): JobRow {
    const row = this.#options.store.jobs.find(name);
    if (!row) throw new AppError("not_found", `There is no job ${JSON.stringify(name)}.`);
    return row;
  }

  /** @throws AppError `not_found`, `thread_ended` if the events are those of a thread that can have none */
  #withThread(when: When): When {
    if (when.type !== "event" || when.threadId === undefined) return when;
    const { store, homes } = this.#options;
    const threadId = homes.resolve(when.threadId);
    const thread = store.threads.find(threadId);
    if (!thread) throw new AppError("not_found", `when.threadId: there is no thread ${when.threadId}.`);
    if (!isOpen(thread.status))
      throw new AppError("thread_ended", `when.threadId: thread ${when.threadId} has ended.`);
    return { ...when, threadId };
  }

  #checkRoom(name: string, by: Principal): void {
    const { store, maxJobs } = this.#options;
    if (store.jobs.find(name))
      throw new AppError("job_exists", `name: there is a job ${name}; remove it, or choose another name.`);
    if (store.jobs.count() >= maxJobs)
      throw new AppError(
        "max_jobs",
        `There are ${maxJobs} jobs (MAX_JOBS); remove one before you make another.`,
      );
    const most = Math.max(MAX_OF_ONE, maxJobs > 300 ? maxJobs : 0);
    if (store.jobs.countOf(by) >= most)
      throw new AppError("max_jobs", `You have ${most} jobs; remove one before you make another.`);
  }

  #spentToday({ jobId }: JobRow): number {
    const { store, now } = this.#options;
    return store.jobRuns.spentSince(jobId, dayStart(now()));
  }

  #describe(row: JobRow): Job {
    const { store, now } = this.#options;
    const { jobId, settings, state, why, createdBy, createdAt, nextDue: first } = row;
    const scheduled = scheduledOf(row);
    const dues =
      state === "active" && scheduled && first !== null
        ? [first, ...nextDues(scheduled, Math.max(first, now()), SHOWN - 1)]
        : [];
    const [last] = store.jobRuns.list(jobId, 1);
    return {
      ...settings,
      state,
      why,
      createdBy: printPrincipal(createdBy),
      createdAt: at(createdAt),
      next: dues.map(at),
      lastRun: last ? describeRun(settings.name, last) : null,
      spentTodayUsd: this.#spentToday(row),
    };
  }
}

function describeRun(job: string, row: JobRunRow): JobRun {
  const { run, status, reason, due, by, claimedAt, endedAt, threadId, costUsd, missed, output, report } = row;
  return {
    ...{ run, job, status, reason, threadId, costUsd, missed, output, report },
    dueAt: due === null ? null : at(due),
    by: printPrincipal(by),
    claimedAt: at(claimedAt),
    endedAt: endedAt === null ? null : at(endedAt),
  };
}

function refuseOver({ state, settings, why }: JobRow): void {
  if (state === "over")
    throw new AppError("unsupported", `The job ${settings.name} is over: ${why ?? "it is not due again."}`);
}

function at(ms: number): string {
  return new Date(ms).toISOString();
}

function eventWords({ events, threadId, everySeconds }: EventWhen): string {
  const of = threadId === undefined ? "" : ` of ${threadId}`;
  return `at each ${events.join(", ")}${of}, those of ${everySeconds} s together`;
}

/** `14 h`, `3 days` */
export function awayText(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}
