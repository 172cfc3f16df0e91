/** What the sidecar knows of agent threads: their numbers, and what their transcripts come to. */
import * as z from "zod";
import { AWAITING, THREAD_STATUSES } from "../../shared/agent/files.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import type { Database } from "./database.ts";

const originSchema = z.object({ threadId: knownThreadId, number: z.int().nullable(), seq: z.int() });

const rowSchema = z
  .object({
    thread_id: knownThreadId,
    number: z.int(),
    status: z.enum(THREAD_STATUSES),
    awaiting: z.enum(AWAITING).nullable(),
    turn_count: z.int(),
    transcript_bytes: z.int(),
    fold: z.string(),
    run: z.int(),
    started_at_bytes: z.int(),
    starts_in_vain: z.int(),
    problem: z.string().nullable(),
    is_locked: z.int(),
    origin: z.string().nullable(),
  })
  .transform((row) => {
    let fold: ThreadFold | undefined;
    return {
      threadId: row.thread_id,
      /** Its number for people: `#12`. No other thread ever gets it. */
      number: row.number,
      status: row.status,
      awaiting: row.awaiting,
      turnCount: row.turn_count,
      /** How much of the transcript is in `fold`, in the steps and in the asks. */
      transcriptBytes: row.transcript_bytes,
      /** Read when it is first asked for: most callers want a number or a status, and a long thread's fold is long. */
      get fold(): ThreadFold {
        fold ??= JSON.parse(row.fold) as ThreadFold;
        return fold;
      },
      /** Counts the runners; each leaves how it ended under its number. */
      run: row.run,
      /** How long the transcript was when the last runner was started. */
      startedAtBytes: row.started_at_bytes,
      /** How many runners in a row ended without a new line in the transcript. */
      startsInVain: row.starts_in_vain,
      /** Why the sidecar starts no runner any more, in words for a person. */
      problem: row.problem,
      /** It was branched, and takes no more messages once its turn has ended. */
      isLocked: row.is_locked !== 0,
      /** Where a branch left its parent; null if it is none. */
      origin: row.origin === null ? null : originSchema.parse(JSON.parse(row.origin)),
    };
  })
  .readonly();

export type AgentRow = z.infer<typeof rowSchema>;
export type AgentProgress = Pick<
  AgentRow,
  "threadId" | "status" | "awaiting" | "turnCount" | "transcriptBytes" | "fold"
>;

export class AgentTable {
  readonly #find;
  readonly #list;
  readonly #number;
  readonly #numbered;
  readonly #insert;
  readonly #progress;
  readonly #fold;
  readonly #runners;
  readonly #takeRun;
  readonly #countAsleep;
  readonly #noteStart;
  readonly #setStatus;
  readonly #setLocked;
  readonly #setEnding;
  readonly #listEnding;

  constructor(db: Database) {
    this.#find = db.prepare("SELECT * FROM agents WHERE thread_id = ?");
    this.#list = db.prepare("SELECT * FROM agents ORDER BY number");
    this.#numbered = db.prepare("SELECT thread_id FROM agents WHERE number = ?");
    this.#number = db.prepare("INSERT INTO agent_numbers DEFAULT VALUES RETURNING number");
    this.#insert = db.prepare(
      `INSERT INTO agents (thread_id, number, status, fold, origin)
         VALUES (@threadId, @number, @status, @fold, @origin)`,
    );
    this.#progress = db.prepare(
      `UPDATE agents SET status = @status, awaiting = @awaiting, turn_count = @turnCount,
         transcript_bytes = @transcriptBytes, fold = @fold, starts_in_vain = 0, problem = NULL
       WHERE thread_id = @threadId`,
    );
    this.#fold = db.prepare("UPDATE agents SET fold = ? WHERE thread_id = ?");
    this.#takeRun = db.prepare("UPDATE agents SET run = run + 1 WHERE thread_id = ? RETURNING run");
    this.#noteStart = db.prepare("UPDATE agents SET started_at_bytes = transcript_bytes WHERE thread_id = ?");
    this.#setStatus = db.prepare("UPDATE agents SET status = ?, awaiting = NULL WHERE thread_id = ?");
    this.#setLocked = db.prepare("UPDATE agents SET is_locked = ? WHERE thread_id = ?");
    this.#setEnding = db.prepare(
      "UPDATE agents SET is_ending = ? WHERE thread_id IN (SELECT value FROM json_each(?))",
    );
    this.#listEnding = db.prepare(
      `SELECT thread_id FROM agents JOIN threads USING (thread_id)
       WHERE is_ending = 1 AND threads.status NOT IN ('killed', 'lost') ORDER BY number`,
    );
    this.#countAsleep = db.prepare(
      `SELECT count(*) AS count FROM agents JOIN threads USING (thread_id)
       WHERE threads.status = 'idle' AND agents.status IN ('queued', 'running')`,
    );
    this.#runners = db.prepare(
      "UPDATE agents SET starts_in_vain = @startsInVain, problem = @problem WHERE thread_id = @threadId",
    );
  }

  find(threadId: ThreadId): AgentRow | undefined {
    const row = this.#find.get(threadId);
    return row === undefined ? undefined : rowSchema.parse(row);
  }

  list(): AgentRow[] {
    return this.#list.all().map((row) => rowSchema.parse(row));
  }

  /** Open threads that have something to do, and no runner. */
  countAsleep(): number {
    return z.object({ count: z.int() }).parse(this.#countAsleep.get()).count;
  }

  /** The thread that people call by a number. */
  findNumbered(number: number): ThreadId | undefined {
    const row = this.#numbered.get(number);
    return row === undefined ? undefined : z.object({ thread_id: knownThreadId }).parse(row).thread_id;
  }

  /** Takes the next number for good, also if the surrounding transaction's thread goes again. */
  takeNumber(): number {
    return z.object({ number: z.int() }).parse(this.#number.get()).number;
  }

  insert(
    agent: Pick<AgentRow, "threadId" | "number" | "status" | "fold"> & Partial<Pick<AgentRow, "origin">>,
  ): void {
    const { origin = null } = agent;
    const rest = { fold: JSON.stringify(agent.fold), origin: origin && JSON.stringify(origin) };
    this.#insert.run({ ...agent, ...rest });
  }

  /** The transcript has grown: what it comes to now. Whatever stopped runners from starting is over. */
  setProgress(progress: AgentProgress): void {
    this.#progress.run({ ...progress, fold: JSON.stringify(progress.fold) });
  }

  /** What the transcript comes to so far, if that is not to be shown. */
  setFold(threadId: ThreadId, fold: AgentRow["fold"]): void {
    this.#fold.run(JSON.stringify(fold), threadId);
  }

  /** The number of the runner that is about to be started. */
  takeRun(threadId: ThreadId): number {
    return z.object({ run: z.int() }).parse(this.#takeRun.get(threadId)).run;
  }

  /** A runner is about to be started: what it writes is counted from here. */
  noteStart(threadId: ThreadId): void {
    this.#noteStart.run(threadId);
  }

  /** For what the sidecar alone knows: that a thread was ended. */
  setStatus(threadId: ThreadId, status: AgentRow["status"]): void {
    this.#setStatus.run(status, threadId);
  }

  setLocked(threadId: ThreadId, isLocked: boolean): void {
    this.#setLocked.run(Number(isLocked), threadId);
  }

  /** They are to be killed together: what a crash leaves of them is killed at the next start. */
  setEnding(threadIds: readonly ThreadId[], isEnding: boolean): void {
    this.#setEnding.run(Number(isEnding), JSON.stringify(threadIds));
  }

  /** Those of them that are open. */
  listEnding(): ThreadId[] {
    return this.#listEnding.all().map((row) => z.object({ thread_id: knownThreadId }).parse(row).thread_id);
  }

  setRunners(threadId: ThreadId, runners: Pick<AgentRow, "startsInVain" | "problem">): void {
    this.#runners.run({ threadId, ...runners });
  }
}
