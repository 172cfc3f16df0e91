/** Threads and agents' turns in SQLite: the truth about them. */
import { closeSync, openSync } from "node:fs";
import Database from "better-sqlite3";
import { z } from "zod";
import {
  type Delivery,
  deliverySchema,
  isOpen,
  threadStatusSchema,
  threadTypeSchema,
} from "../../shared/api.ts";
import { migrate, refuseNewer } from "./migrations.ts";

const flag = z.int().transform((n) => n !== 0);

const threadRowSchema = z
  .object({
    thread_id: z.string(),
    type: threadTypeSchema,
    dir: z.string(),
    path: z.string(),
    command: z.string(),
    created_by: z.string(),
    created_at: z.int(),
    status: threadStatusSchema,
    is_made: flag,
    ended_at: z.int().nullable(),
    exit_code: z.int().nullable(),
    signal: z.string().nullable(),
    cols: z.int(),
    rows: z.int(),
    marker: z.string(),
    pane_id: z.string(),
    pane_pid: z.int(),
    tty: z.string(),
    agent_session: z.string().nullable(),
    log_base: z.int(),
    first_offset: z.int(),
  })
  .transform((row) => ({
    threadId: row.thread_id,
    type: row.type,
    /** Relative to `REPOS_DIR`, as shown. */
    dir: row.dir,
    /** Absolute, links resolved. */
    path: row.path,
    command: row.command,
    createdBy: row.created_by,
    createdAt: row.created_at,
    status: row.status,
    /** False while creation is under way: a row left so by a crash never became a thread. */
    isMade: row.is_made,
    endedAt: row.ended_at,
    exitCode: row.exit_code,
    signal: row.signal,
    cols: row.cols,
    rows: row.rows,
    /** In the environment of every process of the thread. */
    marker: row.marker,
    paneId: row.pane_id,
    panePid: row.pane_pid,
    tty: row.tty,
    /** The agent's own conversation id. */
    agentSession: row.agent_session,
    /** The offset of the log file's first byte; above 0 only where it was written anew. */
    logBase: row.log_base,
    /** The oldest offset that can still be read. */
    firstOffset: row.first_offset,
  }))
  .readonly();

export type ThreadRow = z.infer<typeof threadRowSchema>;
export type NewThread = Pick<
  ThreadRow,
  "threadId" | "type" | "dir" | "path" | "command" | "createdBy" | "createdAt" | "cols" | "rows" | "marker"
> & { agentSession: string | null };

/**
 * `starting` while tmux is being asked: only then is it unknown, after a crash or a hang, whether it ran. A turn
 * is `running` once its pane's process is known.
 */
export type TurnState = "waiting" | "starting" | "running" | "done";

export interface Turn {
  seq: number;
  text: string;
}

type Patch = Partial<
  Pick<
    ThreadRow,
    | "status"
    | "isMade"
    | "endedAt"
    | "exitCode"
    | "signal"
    | "cols"
    | "rows"
    | "logBase"
    | "firstOffset"
    | "paneId"
    | "panePid"
    | "tty"
  >
>;

const COLUMNS = {
  status: "status",
  isMade: "is_made",
  endedAt: "ended_at",
  exitCode: "exit_code",
  signal: "signal",
  cols: "cols",
  rows: "rows",
  logBase: "log_base",
  firstOffset: "first_offset",
  paneId: "pane_id",
  panePid: "pane_pid",
  tty: "tty",
} as const satisfies Record<keyof Patch, string>;

export class Store {
  readonly #db: Database.Database;
  readonly #statements = new Map<string, Database.Statement>();
  /** All threads as the database has them: they are read many times a second and seldom change. */
  readonly #rows = new Map<string, ThreadRow>();
  readonly #onChange: (threadId: string) => void;

  /**
   * Opens or makes the database; `:memory:` for one that is not kept.
   * @param onChange is told each thread whose row has changed, before a surrounding transaction ends.
   */
  constructor(file: string, onChange: (threadId: string) => void = () => undefined) {
    this.#onChange = onChange;
    if (file !== ":memory:") makePrivate(file);
    this.#db = new Database(file);
    try {
      refuseNewer(this.#db);
      this.#db.pragma("journal_mode = WAL");
      this.#db.pragma("foreign_keys = ON");
      this.#db.pragma("busy_timeout = 5000");
      migrate(this.#db);
      reserveRoom(this.#db);
      this.#load();
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  close(): void {
    this.#db.close();
  }

  findThread(threadId: string): ThreadRow | undefined {
    return this.#rows.get(threadId);
  }

  /** The oldest first. */
  listThreads(which: "open" | "ended" | "all"): ThreadRow[] {
    return [...this.#rows.values()]
      .filter(({ status }) => which === "all" || isOpen(status) === (which === "open"))
      .sort((a, b) => a.createdAt - b.createdAt || (a.threadId < b.threadId ? -1 : 1));
  }

  countOpen(): number {
    return this.listThreads("open").length;
  }

  /** Replaces an ended thread of the same id. The first turn of an agent is stored with it. */
  insertThread(thread: NewThread): void {
    this.transaction(() => {
      this.deleteThread(thread.threadId);
      this.#sql(
        `INSERT INTO threads (thread_id, type, dir, path, command, created_by, created_at, status, cols, rows, marker, agent_session)
         VALUES (@threadId, @type, @dir, @path, @command, @createdBy, @createdAt, 'running', @cols, @rows, @marker, @agentSession)`,
      ).run(thread);
      this.#refresh(thread.threadId);
      if (thread.type === "agent") this.addTurn(thread.threadId, thread.command, thread.createdAt);
    });
  }

  updateThread(threadId: string, patch: Patch): void {
    const keys = Object.keys(patch) as (keyof Patch)[];
    const sets = keys.map((key) => `${COLUMNS[key]} = @${key}`).join(", ");
    const values = Object.fromEntries(
      keys.map((key) => [key, typeof patch[key] === "boolean" ? Number(patch[key]) : patch[key]]),
    );
    this.#sql(`UPDATE threads SET ${sets} WHERE thread_id = @threadId`).run({ ...values, threadId });
    this.#refresh(threadId);
    this.#onChange(threadId);
  }

  deleteThread(threadId: string): void {
    this.#sql("DELETE FROM threads WHERE thread_id = ?").run(threadId);
    this.#rows.delete(threadId);
    this.#onChange(threadId);
  }

  addTurn(threadId: string, text: string, now: number): void {
    this.#sql(
      `INSERT INTO turns (thread_id, seq, text, state, created_at)
       VALUES (@threadId, (SELECT coalesce(max(seq), 0) + 1 FROM turns WHERE thread_id = @threadId), @text, 'waiting', @now)`,
    ).run({ threadId, text, now });
  }

  /** The oldest turn in that state. */
  findTurn(threadId: string, state: TurnState): Turn | undefined {
    const row = this.#sql(
      "SELECT seq, text FROM turns WHERE thread_id = ? AND state = ? ORDER BY seq LIMIT 1",
    ).get(threadId, state);
    return row === undefined ? undefined : z.object({ seq: z.int(), text: z.string() }).parse(row);
  }

  setTurn(threadId: string, seq: number, state: TurnState, exitCode: number | null = null): void {
    this.#sql("UPDATE turns SET state = ?, exit_code = ? WHERE thread_id = ? AND seq = ?").run(
      state,
      exitCode,
      threadId,
      seq,
    );
  }

  countWaiting(threadId: string): number {
    const row = this.#sql("SELECT count(*) AS n FROM turns WHERE thread_id = ? AND state = 'waiting'").get(
      threadId,
    );
    return z.object({ n: z.int() }).parse(row).n;
  }

  /** Whether the agent's program has run at all: only then is there a conversation to resume. */
  hasConversation(threadId: string): boolean {
    const sql =
      "SELECT 1 FROM turns WHERE thread_id = ? AND state = 'done' AND coalesce(exit_code, 0) NOT IN (126, 127) LIMIT 1";
    return this.#sql(sql).get(threadId) !== undefined;
  }

  findDelivery(threadId: string): Delivery | undefined {
    const row = this.#sql("SELECT mark FROM deliveries WHERE thread_id = ?").get(threadId);
    if (row === undefined) return undefined;
    return deliverySchema.parse(JSON.parse(z.object({ mark: z.string() }).parse(row).mark));
  }

  setDelivery(threadId: string, mark: Delivery): void {
    this.#sql(
      "INSERT INTO deliveries (thread_id, mark) VALUES (?, ?) ON CONFLICT DO UPDATE SET mark = excluded.mark",
    ).run(threadId, JSON.stringify(mark));
  }

  /** `sending` where it was begun and, as far as the database knows, not finished. */
  findInput(threadId: string, inputId: string): "sending" | "sent" | undefined {
    const row = this.#sql("SELECT is_sent FROM inputs WHERE thread_id = ? AND input_id = ?").get(
      threadId,
      inputId,
    );
    if (row === undefined) return undefined;
    return z.object({ is_sent: flag }).parse(row).is_sent ? "sent" : "sending";
  }

  /** Inputs that were begun and, as far as the database knows, not finished. */
  listSendingInputs(threadId: string): string[] {
    const rows = this.#sql("SELECT input_id FROM inputs WHERE thread_id = ? AND is_sent = 0").all(threadId);
    return rows.map((row) => z.object({ input_id: z.string() }).parse(row).input_id);
  }

  setInput(threadId: string, inputId: string, state: "sending" | "sent"): void {
    this.#sql(
      "INSERT INTO inputs (thread_id, input_id, is_sent) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET is_sent = excluded.is_sent",
    ).run(threadId, inputId, state === "sent" ? 1 : 0);
  }

  transaction<T>(work: () => T): T {
    try {
      return this.#db.transaction(work)();
    } catch (error) {
      this.#load(); // nothing of it has happened
      throw error;
    }
  }

  #load(): void {
    this.#rows.clear();
    const rows = z.array(threadRowSchema).parse(this.#sql("SELECT * FROM threads").all());
    for (const row of rows) this.#rows.set(row.threadId, row);
  }

  #refresh(threadId: string): void {
    const row = this.#sql("SELECT * FROM threads WHERE thread_id = ?").get(threadId);
    if (row !== undefined) this.#rows.set(threadId, threadRowSchema.parse(row));
  }

  #sql(sql: string): Database.Statement {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** SQLite would make it readable by others; its companions get the same mode. */
function makePrivate(file: string): void {
  closeSync(openSync(file, "a", 0o600));
}

/**
 * Holds the state folder for this process until it ends, however it ends (SQLite's file lock goes with it).
 * @throws Error where another sidecar has it.
 */
export function holdLock(file: string, waitMs = 3_000): { release: () => void } {
  makePrivate(file);
  const db = new Database(file, { timeout: waitMs });
  try {
    db.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    db.close();
    throw new Error("another sidecar runs on this STATE_DIR; stop it first, or choose another folder", {
      cause,
    });
  }
  return { release: () => db.close() };
}

const RESERVED_BYTES = 512 * 1024;

/**
 * The database and its write-ahead log keep some room on the disk: what ends, and what is typed, can be noted also
 * when the disk is full.
 */
function reserveRoom(db: Database.Database): void {
  try {
    db.exec("DROP TABLE IF EXISTS reserve"); // of a start that was cut off
    // In two steps: what is made and dropped in one transaction is never written.
    db.exec(`CREATE TABLE reserve AS SELECT zeroblob(${RESERVED_BYTES}) AS bytes`);
    db.exec("DROP TABLE reserve");
    db.pragma("wal_checkpoint(RESTART)"); // the log's file keeps its length and is written from its start again
  } catch (error) {
    if ((error as { code?: string }).code !== "SQLITE_FULL") throw error; // it is full already: do without
  }
}
