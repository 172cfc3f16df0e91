/** Jobs, each with the instant at which it is due next. */
import * as z from "zod";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import {
  JOB_STATES,
  type JobSettings,
  type JobState,
  jobSettingsSchema,
  type KeptDirective,
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
    notice: z.string().nullable(),
    attended_at: z.int(),
  })
  .transform((row) => ({
    jobId: row.job_id,
    /** As JSON. */
    settings: row.settings,
    createdBy: parsePrincipal(row.created_by),
    createdAt: row.created_at,
    state: row.state,
    why: row.why,
    nextDue: row.next_due,
    /** From the due instant before to the next one. */
    period: row.period,
    /** How many runs were begun by hand. */
    byHand: row.by_hand,
    /** The thread of a job that has one for all runs. */
    threadId: row.thread_id,
    /** What the thread of its maker is still to be told. */
    notice: row.notice,
    /** When a person has dealt with it last, or was asked to. */
    attendedAt: Math.max(row.attended_at, row.created_at),
  }));
export type JobRow = Omit<z.output<typeof rowSchema>, "settings"> & { settings: JobSettings };

/** The settings of so many jobs are kept parsed: each request at the hook's door asks for those of its hook. */
const MAX_PARSED = 1_000;

export interface NewJob {
  settings: JobSettings;
  createdBy: Principal;
  createdAt: number;
  state: JobState;
  why: string | null;
  nextDue: number | null;
  period: number;
  notice?: string | undefined;
}

const countSchema = z.object({ count: z.int() });
const nameSchema = z.object({ name: z.string() });
const OVERDUE = `FROM jobs WHERE (state = 'active' AND next_due < @before) OR job_id IN
  (SELECT job_id FROM job_runs WHERE status = 'claimed' AND claimed_at < @before)`;

export class JobTable {
  readonly #db: Database;
  readonly #insert;
  readonly #find;
  readonly #get;
  readonly #isOfThread;
  readonly #list;
  readonly #listDue;
  readonly #listFar;
  readonly #listExpired;
  readonly #listUnattended;
  readonly #setAttended;
  readonly #listOfEvents;
  readonly #eventsRead;
  readonly #setEventsRead;
  readonly #first;
  readonly #count;
  readonly #countOf;
  readonly #countOverdue;
  readonly #listOverdue;
  readonly #setNext;
  readonly #setState;
  readonly #setThread;
  readonly #setDirective;
  readonly #listUnsaid;
  readonly #setSaid;
  readonly #takeHand;
  readonly #remove;
  /** By the job's id, with the JSON that they were parsed from; the oldest first. */
  readonly #parsed = new Map<number, { json: string; settings: JobSettings }>();

  constructor(db: Database) {
    this.#db = db;
    this.#insert = db.prepare(
      `INSERT INTO jobs (name, settings, created_by, created_at, state, why, next_due, period, notice)
       VALUES (@name, @settings, @createdBy, @createdAt, @state, @why, @nextDue, @period, @notice)`,
    );
    this.#find = db.prepare("SELECT * FROM jobs WHERE name = ?");
    this.#isOfThread = db.prepare(
      `SELECT 1 WHERE EXISTS (SELECT 1 FROM jobs WHERE thread_id = @threadId)
         OR EXISTS (SELECT 1 FROM jobs WHERE json_extract(settings, '$.what.threadId') = @threadId)`,
    );
    this.#get = db.prepare("SELECT * FROM jobs WHERE job_id = ?");
    this.#list = db.prepare("SELECT * FROM jobs ORDER BY name");
    this.#listDue = db.prepare(
      "SELECT * FROM jobs WHERE state = 'active' AND next_due <= ? ORDER BY next_due LIMIT ?",
    );
    this.#listFar = db.prepare("SELECT * FROM jobs WHERE state = 'active' AND next_due - @now > 2 * period");
    this.#listExpired = db.prepare(
      `SELECT * FROM jobs WHERE state != 'over' AND next_due IS NULL
         AND unixepoch(json_extract(settings, '$.expiresAt')) <= ?
         AND NOT EXISTS (SELECT 1 FROM hook_requests WHERE hook = name AND body IS NOT NULL)`,
    );
    this.#listUnattended = db.prepare(
      `SELECT * FROM jobs WHERE state = 'active' AND max(attended_at, created_at) <= ?
         AND json_extract(settings, '$.what.type') IN ('agent', 'input')`,
    );
    this.#setAttended = db.prepare("UPDATE jobs SET attended_at = @at WHERE job_id = @jobId");
    this.#listOfEvents = db.prepare(
      `SELECT * FROM jobs WHERE state = 'active' AND json_extract(settings, '$.when.type') = 'event'
       ORDER BY job_id`,
    );
    this.#eventsRead = db.prepare("SELECT event_id AS count FROM job_events_read");
    this.#setEventsRead = db.prepare("UPDATE job_events_read SET event_id = ?");
    this.#first = db.prepare(
      "SELECT min(next_due) AS count FROM jobs WHERE state = 'active' AND next_due IS NOT NULL",
    );
    this.#count = db.prepare("SELECT count(*) AS count FROM jobs");
    this.#countOf = db.prepare("SELECT count(*) AS count FROM jobs WHERE created_by = ?");
    this.#countOverdue = db.prepare(`SELECT count(*) AS count ${OVERDUE}`);
    this.#listOverdue = db.prepare(`SELECT name ${OVERDUE} ORDER BY name LIMIT @limit`);
    this.#setNext = db.prepare("UPDATE jobs SET next_due = @nextDue, period = @period WHERE job_id = @jobId");
    this.#setState = db.prepare("UPDATE jobs SET state = @state, why = @why WHERE job_id = @jobId");
    this.#setThread = db.prepare("UPDATE jobs SET thread_id = @threadId WHERE job_id = @jobId");
    this.#setDirective = db.prepare(
      "UPDATE jobs SET settings = @settings, thread_id = NULL WHERE job_id = @jobId",
    );
    this.#listUnsaid = db.prepare("SELECT * FROM jobs WHERE notice IS NOT NULL");
    this.#setSaid = db.prepare("UPDATE jobs SET notice = NULL WHERE job_id = ?");
    this.#takeHand = db.prepare("UPDATE jobs SET by_hand = by_hand + 1 WHERE job_id = ?");
    this.#remove = db.prepare("DELETE FROM jobs WHERE job_id = ?");
  }

  insert({ settings, createdBy, notice, ...job }: NewJob): void {
    this.#insert.run({
      ...job,
      notice: notice ?? null,
      name: settings.name,
      settings: JSON.stringify(settings),
      createdBy: printPrincipal(createdBy),
    });
  }

  find(name: string): JobRow | undefined {
    const row = this.#find.get(name);
    return row === undefined ? undefined : this.#rowOf(row);
  }

  /** Whether some job writes into this thread. */
  hasThread(threadId: ThreadId): boolean {
    return this.#isOfThread.get({ threadId }) !== undefined;
  }

  get(jobId: number): JobRow {
    return this.#rowOf(this.#get.get(jobId));
  }

  list(): JobRow[] {
    return this.#list.all().map((row) => this.#rowOf(row));
  }

  /** Those that are due by now, the oldest first. */
  listDue(nowMs: number, limit: number): JobRow[] {
    return this.#listDue.all(nowMs, limit).map((row) => this.#rowOf(row));
  }

  /** Those whose next due instant is over two periods away: the clock that it was computed by was ahead. */
  listFar(nowMs: number): JobRow[] {
    return this.#listFar.all({ now: nowMs }).map((row) => this.#rowOf(row));
  }

  /** Those that have expired and that no clock starts, once nothing waits for them. */
  listExpired(nowMs: number): JobRow[] {
    return this.#listExpired.all(Math.floor(nowMs / 1_000)).map((row) => this.#rowOf(row));
  }

  /** The active ones that put agents to work and with which no person has dealt since then. */
  listUnattended(sinceMs: number): JobRow[] {
    return this.#listUnattended.all(sinceMs).map((row) => this.#rowOf(row));
  }

  setAttended(jobId: number, at: number): void {
    this.#setAttended.run({ jobId, at });
  }

  /** The active ones that an event starts. */
  listOfEvents(): JobRow[] {
    return this.#listOfEvents.all().map((row) => this.#rowOf(row));
  }

  /** The id of the newest event that jobs of events have seen. */
  eventsRead(): number {
    return countSchema.parse(this.#eventsRead.get()).count;
  }

  setEventsRead(eventId: number): void {
    this.#setEventsRead.run(eventId);
  }

  /** When the first one is due; null if none is. */
  firstDue(): number | null {
    return z.object({ count: z.int().nullable() }).parse(this.#first.get()).count;
  }

  count(): number {
    return countSchema.parse(this.#count.get()).count;
  }

  /** How many were due before then and have no row for it, or have a run that was claimed before and has not begun. */
  countOverdue(before: number): number {
    return countSchema.parse(this.#countOverdue.get({ before })).count;
  }

  /** The names of those, at most so many. */
  listOverdue(before: number, limit: number): string[] {
    return this.#listOverdue.all({ before, limit }).map((row) => nameSchema.parse(row).name);
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

  /** Its next run has this directive, in a new thread. */
  setDirective(jobId: number, directive: KeptDirective): void {
    const settings = JSON.stringify({ ...this.get(jobId).settings, directive });
    this.#setDirective.run({ jobId, settings });
  }

  /** Those of which the thread of their maker has not been told. */
  listUnsaid(): JobRow[] {
    return this.#listUnsaid.all().map((row) => this.#rowOf(row));
  }

  setSaid(jobId: number): void {
    this.#setSaid.run(jobId);
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

  #rowOf(found: unknown): JobRow {
    const { settings: json, ...row } = rowSchema.parse(found);
    return { ...row, settings: this.#settingsOf(row.jobId, json) };
  }

  /** Settings seldom change, and an id may be given again. */
  #settingsOf(jobId: number, json: string): JobSettings {
    const known = this.#parsed.get(jobId);
    if (known?.json === json) return known.settings;
    const settings = jobSettingsSchema().parse(JSON.parse(json));
    this.#parsed.delete(jobId);
    const [oldest] = this.#parsed.keys();
    if (this.#parsed.size >= MAX_PARSED && oldest !== undefined) this.#parsed.delete(oldest);
    this.#parsed.set(jobId, { json, settings });
    return settings;
  }
}
