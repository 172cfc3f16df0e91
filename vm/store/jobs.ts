/** Jobs, each with the instant at which it is due next, and their runs. */
import * as z from "zod";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import {
  JOB_STATES,
  type JobSettings,
  type JobState,
  jobSettingsSchema,
  RUN_STATUSES,
  type RunStatus,
} from "../../shared/jobs/job.ts";
import { type Principal, parsePrincipal, printPrincipal } from "../../shared/principal.ts";
import type { Database } from "./database.ts";

const rowSchema = z
  .object({
    job_id: z.int(),
    settings: z.string(),
    created_by: z.string(),
    created_at: z.int(),
    state: z.enum(JOB_STATES),
    why: z.string().nullable(),
    next_due: z.int().nullable(),
    period: z.int(),
    by_hand: z.int(),
    thread_id: knownThreadId.nullable(),
  })
  .transform((row) => ({
    jobId: row.job_id,
    settings: jobSettingsSchema().parse(JSON.parse(row.settings)),
    createdBy: parsePrincipal(row.created_by),
    createdAt: row.created_at,
    state: row.state,
    why: row.why,
    nextDue: row.next_due,
    /** From the due instant before to the next one. */
    period: row.period,
    /** So many runs were begun by hand. */
    byHand: row.by_hand,
    /** The thread of a job that has one for all runs. */
    threadId: row.thread_id,
  }));
export type JobRow = z.output<typeof rowSchema>;

export interface NewJob {
  settings: JobSettings;
  createdBy: Principal;
  createdAt: number;
  state: JobState;
  why: string | null;
  nextDue: number | null;
  period: number;
}

const countSchema = z.object({ count: z.int() });

export class JobTable {
  readonly #db: Database;
  readonly #insert;
  readonly #find;
  readonly #get;
  readonly #list;
  readonly #listDue;
  readonly #listFar;
  readonly #first;
  readonly #count;
  readonly #countOf;
  readonly #countDue;
  readonly #setNext;
  readonly #setState;
  readonly #setThread;
  readonly #takeHand;
  readonly #remove;

  constructor(db: Database) {
    this.#db = db;
    this.#insert = db.prepare(
      `INSERT INTO jobs (name, settings, created_by, created_at, state, why, next_due, period)
       VALUES (@name, @settings, @createdBy, @createdAt, @state, @why, @nextDue, @period)`,
    );
    this.#find = db.prepare("SELECT * FROM jobs WHERE name = ?");
    this.#get = db.prepare("SELECT * FROM jobs WHERE job_id = ?");
    this.#list = db.prepare("SELECT * FROM jobs ORDER BY name");
    this.#listDue = db.prepare(
      "SELECT * FROM jobs WHERE state = 'active' AND next_due <= ? ORDER BY next_due LIMIT ?",
    );
    this.#listFar = db.prepare("SELECT * FROM jobs WHERE state = 'active' AND next_due - @now > 2 * period");
    this.#first = db.prepare(
      "SELECT min(next_due) AS count FROM jobs WHERE state = 'active' AND next_due IS NOT NULL",
    );
    this.#count = db.prepare("SELECT count(*) AS count FROM jobs");
    this.#countOf = db.prepare("SELECT count(*) AS count FROM jobs WHERE created_by = ?");
    this.#countDue = db.prepare("SELECT count(*) AS count FROM jobs WHERE state = 'active' AND next_due < ?");
    this.#setNext = db.prepare("UPDATE jobs SET next_due = @nextDue, period = @period WHERE job_id = @jobId");
    this.#setState = db.prepare("UPDATE jobs SET state = @state, why = @why WHERE job_id = @jobId");
    this.#setThread = db.prepare("UPDATE jobs SET thread_id = @threadId WHERE job_id = @jobId");
    this.#takeHand = db.prepare("UPDATE jobs SET by_hand = by_hand + 1 WHERE job_id = ?");
    this.#remove = db.prepare("DELETE FROM jobs WHERE job_id = ?");
  }

  insert({ settings, createdBy, ...job }: NewJob): void {
    this.#insert.run({
      ...job,
      name: settings.name,
      settings: JSON.stringify(settings),
      createdBy: printPrincipal(createdBy),
    });
  }

  find(name: string): JobRow | undefined {
    const row = this.#find.get(name);
    return row === undefined ? undefined : rowSchema.parse(row);
  }

  get(jobId: number): JobRow {
    return rowSchema.parse(this.#get.get(jobId));
  }

  list(): JobRow[] {
    return this.#list.all().map((row) => rowSchema.parse(row));
  }

  /** Those that are due by now, the oldest first. */
  listDue(nowMs: number, limit: number): JobRow[] {
    return this.#listDue.all(nowMs, limit).map((row) => rowSchema.parse(row));
  }

  /** Those whose next due instant is over two periods away: the clock that it was computed by was ahead. */
  listFar(nowMs: number): JobRow[] {
    return this.#listFar.all({ now: nowMs }).map((row) => rowSchema.parse(row));
  }

  /** When the first one is due; null if none is. */
  firstDue(): number | null {
    return z.object({ count: z.int().nullable() }).parse(this.#first.get()).count;
  }

  count(): number {
    return countSchema.parse(this.#count.get()).count;
  }

  /** How many were due before then, and have no row for it. */
  countDueBefore(ms: number): number {
    return countSchema.parse(this.#countDue.get(ms)).count;
  }

  countOf(createdBy: Principal): number {
    return countSchema.parse(this.#countOf.get(printPrincipal(createdBy))).count;
  }

  setNext(jobId: number, nextDue: number | null, period: number): void {
    this.#setNext.run({ jobId, nextDue, period });
  }

  setState(jobId: number, state: JobState, why: string | null): void {
    this.#setState.run({ jobId, state, why });
  }

  setThread(jobId: number, threadId: ThreadId): void {
    this.#setThread.run({ jobId, threadId });
  }

  /** @returns how many runs were begun by hand, with this one */
  takeHand(jobId: number): number {
    return this.#db.transaction(() => {
      this.#takeHand.run(jobId);
      return this.get(jobId).byHand;
    });
  }

  remove(jobId: number): void {
    this.#remove.run(jobId);
  }
}

const runSchema = z
  .object({
    run: z.string(),
    job_id: z.int(),
    due: z.int().nullable(),
    status: z.enum(RUN_STATUSES),
    reason: z.string().nullable(),
    by: z.string(),
    claimed_at: z.int(),
    begun_at: z.int().nullable(),
    ended_at: z.int().nullable(),
    thread_id: knownThreadId.nullable(),
    cost_usd: z.number().nullable(),
    cost_before: z.number(),
    calls_before: z.int(),
    missed: z.int(),
    output: z.string().nullable(),
    body: z.string().nullable(),
  })
  .transform((row) => ({
    run: row.run,
    jobId: row.job_id,
    due: row.due,
    status: row.status,
    reason: row.reason,
    by: parsePrincipal(row.by),
    claimedAt: row.claimed_at,
    /** From then on a process of it may have run. */
    begunAt: row.begun_at,
    endedAt: row.ended_at,
    threadId: row.thread_id,
    costUsd: row.cost_usd,
    /** What its thread had cost before. */
    costBefore: row.cost_before,
    /** So many calls of the model its thread had made before. */
    callsBefore: row.calls_before,
    missed: row.missed,
    output: row.output,
    /** What a request brought. */
    body: row.body,
  }));
export type JobRunRow = z.output<typeof runSchema>;

export type NewRun = Pick<JobRunRow, "run" | "jobId" | "due" | "by" | "claimedAt"> &
  Partial<Pick<JobRunRow, "reason" | "endedAt" | "missed" | "body">> & { status: RunStatus };
type RunPatch = Partial<
  Pick<
    JobRunRow,
    | "status"
    | "reason"
    | "begunAt"
    | "endedAt"
    | "threadId"
    | "costUsd"
    | "costBefore"
    | "callsBefore"
    | "body"
    | "output"
  >
>;

export class JobRunTable {
  readonly #insert;
  readonly #find;
  readonly #update;
  readonly #open;
  readonly #openOf;
  readonly #claimed;
  readonly #list;
  readonly #has;
  readonly #ended;
  readonly #spent;
  readonly #counts;
  readonly #prune;

  constructor(db: Database) {
    this.#insert = db.prepare(
      `INSERT OR IGNORE INTO job_runs (run, job_id, due, status, reason, by, claimed_at, ended_at, missed, body)
       VALUES (@run, @jobId, @due, @status, @reason, @by, @claimedAt, @endedAt, @missed, @body)`,
    );
    this.#find = db.prepare("SELECT * FROM job_runs WHERE run = ?");
    this.#update = db.prepare(
      `UPDATE job_runs SET status = @status, reason = @reason, begun_at = @begunAt, ended_at = @endedAt,
         thread_id = @threadId, body = @body, cost_usd = @costUsd, cost_before = @costBefore, calls_before = @callsBefore, output = @output WHERE run = @run`,
    );
    this.#open = db.prepare(
      "SELECT * FROM job_runs WHERE status IN ('claimed', 'started') ORDER BY claimed_at, run",
    );
    this.#openOf = db.prepare(
      "SELECT count(*) AS count FROM job_runs WHERE job_id = ? AND status IN ('claimed', 'started')",
    );
    this.#claimed = db.prepare(
      "SELECT count(*) AS count FROM job_runs WHERE status = 'claimed' AND claimed_at < ?",
    );
    this.#list = db.prepare(
      "SELECT * FROM job_runs WHERE job_id = ? ORDER BY claimed_at DESC, rowid DESC LIMIT ?",
    );
    this.#has = db.prepare("SELECT 1 FROM job_runs WHERE job_id = ? AND due = ?");
    this.#ended = db.prepare(
      `SELECT * FROM job_runs WHERE job_id = ? AND status IN ('done', 'failed') ORDER BY ended_at DESC, rowid DESC LIMIT ?`,
    );
    this.#spent = db.prepare(
      "SELECT coalesce(sum(cost_usd), 0) AS sum FROM job_runs WHERE job_id = ? AND coalesce(due, claimed_at) >= ?",
    );
    this.#counts = db.prepare(
      "SELECT status, count(*) AS count FROM job_runs WHERE job_id = ? GROUP BY status",
    );
    this.#prune = db.prepare(
      `DELETE FROM job_runs WHERE job_id = @jobId AND status NOT IN ('claimed', 'started') AND
         (claimed_at < @before OR run NOT IN
           (SELECT run FROM job_runs WHERE job_id = @jobId ORDER BY claimed_at DESC, rowid DESC LIMIT @keep))`,
    );
  }

  /** @returns false if a run of this name, or of this due instant, is there */
  insert({ by, reason = null, endedAt = null, missed = 0, body = null, ...run }: NewRun): boolean {
    const values = { ...run, reason, endedAt, missed, body, by: printPrincipal(by) };
    return this.#insert.run(values).changes > 0;
  }

  find(run: string): JobRunRow | undefined {
    const row = this.#find.get(run);
    return row === undefined ? undefined : runSchema.parse(row);
  }

  /** Does nothing if it is not there (any more). */
  update(run: string, patch: RunPatch): void {
    const before = this.find(run);
    if (!before) return;
    const { jobId: _, by: __, ...row } = { ...before, ...patch };
    this.#update.run(row);
  }

  /** Those that go on, the oldest first. */
  listOpen(): JobRunRow[] {
    return this.#open.all().map((row) => runSchema.parse(row));
  }

  countOpen(jobId: number): number {
    return countSchema.parse(this.#openOf.get(jobId)).count;
  }

  /** How many were claimed before then, and have not begun. */
  countClaimedBefore(ms: number): number {
    return countSchema.parse(this.#claimed.get(ms)).count;
  }

  /** The newest first. */
  list(jobId: number, limit: number): JobRunRow[] {
    return this.#list.all(jobId, limit).map((row) => runSchema.parse(row));
  }

  has(jobId: number, due: number): boolean {
    return this.#has.get(jobId, due) !== undefined;
  }

  /** Those that began and have ended, the newest first. */
  listEnded(jobId: number, limit: number): JobRunRow[] {
    return this.#ended.all(jobId, limit).map((row) => runSchema.parse(row));
  }

  /** What the runs that were due since then have cost, as far as it is known. */
  spentSince(jobId: number, sinceMs: number): number {
    return z.object({ sum: z.number() }).parse(this.#spent.get(jobId, sinceMs)).sum;
  }

  counts(jobId: number): Partial<Record<RunStatus, number>> {
    const rows = this.#counts
      .all(jobId)
      .map((row) => countSchema.extend({ status: z.enum(RUN_STATUSES) }).parse(row));
    return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
  }

  /** The newest stay, as long as they are not too old. */
  prune(jobId: number, { beforeMs, keep }: { beforeMs: number; keep: number }): void {
    this.#prune.run({ jobId, before: beforeMs, keep });
  }
}
