/** Runs of jobs: one row for each due instant, and for each that somebody asked for. */
import * as z from "zod";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import { RUN_STATUSES, type RunStatus } from "../../shared/jobs/job.ts";
import { parsePrincipal, printPrincipal } from "../../shared/principal.ts";
import type { Database } from "./database.ts";

const countSchema = z.object({ count: z.int() });

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
    missed: z.int(),
    output: z.string().nullable(),
    body: z.string().nullable(),
    report_ok: z.int().nullable(),
    report: z.string().nullable(),
    causes: z.string(),
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
    /** Below zero: what the run had cost before its thread had its input. */
    costBefore: row.cost_before,
    missed: row.missed,
    output: row.output,
    /** What a request brought. */
    body: row.body,
    /** The jobs that led to it, the oldest first; its own is not among them. */
    causes: row.causes === "" ? [] : row.causes.split(" "),
    /** The report of its agent; null if there is none. */
    report: row.report_ok === null ? null : { ok: row.report_ok === 1, text: row.report ?? "" },
  }));
export type JobRunRow = z.output<typeof runSchema>;

export type NewRun = Pick<JobRunRow, "run" | "jobId" | "due" | "by" | "claimedAt"> &
  Partial<Pick<JobRunRow, "reason" | "endedAt" | "missed" | "body" | "causes">> & { status: RunStatus };
type RunPatch = Partial<
  Pick<
    JobRunRow,
    "status" | "reason" | "begunAt" | "endedAt" | "threadId" | "costUsd" | "costBefore" | "body" | "output"
  >
>;

export class JobRunTable {
  readonly #insert;
  readonly #find;
  readonly #update;
  readonly #setReport;
  readonly #ofThread;
  readonly #isOfThread;
  readonly #open;
  readonly #openOf;
  readonly #list;
  readonly #has;
  readonly #ended;
  readonly #spent;
  readonly #counts;
  readonly #prune;

  constructor(db: Database) {
    this.#insert = db.prepare(
      `INSERT OR IGNORE INTO job_runs (run, job_id, due, status, reason, by, claimed_at, ended_at, missed, body, causes)
       VALUES (@run, @jobId, @due, @status, @reason, @by, @claimedAt, @endedAt, @missed, @body, @causes)`,
    );
    this.#find = db.prepare("SELECT * FROM job_runs WHERE run = ?");
    this.#update = db.prepare(
      `UPDATE job_runs SET status = @status, reason = @reason, begun_at = @begunAt, ended_at = @endedAt,
         thread_id = @threadId, body = @body, cost_usd = @costUsd, cost_before = @costBefore, output = @output WHERE run = @run`,
    );
    this.#setReport = db.prepare(
      "UPDATE job_runs SET report_ok = @ok, report = @text WHERE run = @run AND report_ok IS NULL",
    );
    this.#ofThread = db.prepare(
      `SELECT * FROM job_runs WHERE thread_id = @threadId OR run = @threadId
       ORDER BY status NOT IN ('claimed', 'started'), claimed_at LIMIT 50`,
    );
    this.#isOfThread = db.prepare(
      "SELECT 1 WHERE EXISTS (SELECT 1 FROM job_runs WHERE run = @threadId) OR EXISTS (SELECT 1 FROM job_runs WHERE thread_id = @threadId)",
    );
    this.#open = db.prepare(
      "SELECT * FROM job_runs WHERE status IN ('claimed', 'started') ORDER BY claimed_at, run",
    );
    this.#openOf = db.prepare(
      "SELECT count(*) AS count FROM job_runs WHERE job_id = ? AND status IN ('claimed', 'started')",
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
  insert(given: NewRun): boolean {
    const { by, reason = null, endedAt = null, missed = 0, body = null, causes = [], ...run } = given;
    const kept = { by: printPrincipal(by), causes: causes.join(" ") };
    const values = { ...run, reason, endedAt, missed, body, ...kept };
    return this.#insert.run(values).changes > 0;
  }

  find(run: string): JobRunRow | undefined {
    const row = this.#find.get(run);
    return row === undefined ? undefined : runSchema.parse(row);
  }

  /** Stores its agent's report. The first one counts. @returns false if there is one */
  setReport(run: string, { ok, text }: { ok: boolean; text: string }): boolean {
    return this.#setReport.run({ run, ok: ok ? 1 : 0, text }).changes > 0;
  }

  /** The runs of which this thread has the input, those that go on first, the oldest of them first. */
  listOfThread(threadId: ThreadId): JobRunRow[] {
    return this.#ofThread.all({ threadId }).map((row) => runSchema.parse(row));
  }

  /** Whether some run has its input there. */
  hasThread(threadId: ThreadId): boolean {
    return this.#isOfThread.get({ threadId }) !== undefined;
  }

  /** Does nothing if it is not there (any more). */
  update(run: string, patch: RunPatch): void {
    const before = this.find(run);
    if (!before) return;
    const { jobId: _, by: __, report: ___, causes: ____, ...row } = { ...before, ...patch };
    this.#update.run(row);
  }

  /** Those that go on, the oldest first. */
  listOpen(): JobRunRow[] {
    return this.#open.all().map((row) => runSchema.parse(row));
  }

  countOpen(jobId: number): number {
    return countSchema.parse(this.#openOf.get(jobId)).count;
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
