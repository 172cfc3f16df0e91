/** Threads: what they are, their status, where their program runs, where their log begins. */
import * as z from "zod";
import { isOpen, type ThreadStatus, threadStatusSchema } from "../../shared/api.ts";
import { type Follows, followsSchema } from "../../shared/follow/spec.ts";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import { KINDS, type KindFacts, type ThreadType, threadTypeSchema } from "../../shared/kinds.ts";
import { type Principal, parsePrincipal, printPrincipal, sourceSchema } from "../../shared/principal.ts";
import type { Database } from "./database.ts";
import type { EventTable } from "./events.ts";

export interface StoredThread {
  readonly threadId: ThreadId;
  /** `reviewer-1760000000`: unique over all time, also after the thread is gone. */
  readonly name: string;
  readonly type: ThreadType;
  /** There if the kind is none of those that come with threadmux. */
  readonly facts?: KindFacts | undefined;
  /** Relative to `REPOS_DIR`, as shown. */
  readonly dir: string;
  /** Absolute, links resolved. */
  readonly path: string;
  readonly command: string;
  /** Empty if the thread was made before threads had titles. */
  readonly title: string;
  readonly createdBy: Principal;
  readonly createdAt: number;
  readonly status: ThreadStatus;
  /** False while creation is under way: a thread left so by a crash never became one. */
  readonly isMade: boolean;
  readonly endedAt: number | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly cols: number;
  readonly rows: number;
  /** Until then its terminal can't be made large: its program kept tmux from all others. Null if it never did. */
  readonly heldSmallUntil: number | null;
  /** In the environment of every process of the thread. */
  readonly marker: string;
  readonly paneId: string;
  readonly panePid: number;
  readonly tty: string;
  /** The logs that its program follows; null if it follows none. */
  readonly follows: Follows | null;
  /** The offset of the log file's first byte; above 0 only if the file was written anew. */
  readonly logBase: number;
  /** The oldest offset that can still be read. */
  readonly firstOffset: number;
}

export type NewThread = Pick<
  StoredThread,
  | "threadId"
  | "type"
  | "dir"
  | "path"
  | "command"
  | "title"
  | "createdBy"
  | "createdAt"
  | "cols"
  | "rows"
  | "marker"
> & {
  readonly follows?: Follows | null;
  /** What its name begins with; without it, its type. */
  readonly called?: string | undefined;
};

export type ThreadPatch = Partial<
  Pick<
    StoredThread,
    | "dir"
    | "path"
    | "title"
    | "status"
    | "isMade"
    | "endedAt"
    | "exitCode"
    | "signal"
    | "cols"
    | "rows"
    | "heldSmallUntil"
    | "logBase"
    | "firstOffset"
    | "paneId"
    | "panePid"
    | "tty"
    | "follows"
  >
>;

const rowSchema = z
  .object({
    thread_id: knownThreadId,
    name: z.string(),
    type: threadTypeSchema,
    dir: z.string(),
    path: z.string(),
    command: z.string(),
    title: z.string(),
    created_by: sourceSchema,
    created_at: z.int(),
    status: threadStatusSchema,
    is_made: z.int(),
    ended_at: z.int().nullable(),
    exit_code: z.int().nullable(),
    signal: z.string().nullable(),
    cols: z.int(),
    rows: z.int(),
    held_small_until: z.int().nullable(),
    marker: z.string(),
    pane_id: z.string(),
    pane_pid: z.int(),
    tty: z.string(),
    follows: z.string().nullable(),
    log_base: z.int(),
    first_offset: z.int(),
  })
  .transform(
    (row): StoredThread => ({
      threadId: row.thread_id,
      name: row.name,
      type: row.type,
      dir: row.dir,
      path: row.path,
      command: row.command,
      title: row.title,
      createdBy: parsePrincipal(row.created_by),
      createdAt: row.created_at,
      status: row.status,
      isMade: row.is_made !== 0,
      endedAt: row.ended_at,
      exitCode: row.exit_code,
      signal: row.signal,
      cols: row.cols,
      rows: row.rows,
      heldSmallUntil: row.held_small_until,
      marker: row.marker,
      paneId: row.pane_id,
      panePid: row.pane_pid,
      tty: row.tty,
      follows: row.follows === null ? null : followsSchema.parse(JSON.parse(row.follows)),
      logBase: row.log_base,
      firstOffset: row.first_offset,
    }),
  );

const INSERT = `
  INSERT INTO threads
    (thread_id, name, type, dir, path, command, title, created_by, created_at, status, cols, rows, marker,
     follows)
  VALUES
    (@threadId, @name, @type, @dir, @path, @command, @title, @createdBy, @createdAt, 'running', @cols, @rows, @marker,
     @follows)`;

const newestSchema = z.object({ newest: z.int() });
/** With the seconds behind it, a name is no longer than an id. */
const MAX_PREFIX = 48;

/** Everything that a {@link ThreadPatch} may change. */
const UPDATE = `
  UPDATE threads SET
    dir = @dir, path = @path, title = @title, status = @status, is_made = @isMade, ended_at = @endedAt, exit_code = @exitCode, signal = @signal,
    cols = @cols, rows = @rows, held_small_until = @heldSmallUntil, log_base = @logBase, first_offset = @firstOffset,
    pane_id = @paneId, pane_pid = @panePid, tty = @tty, follows = @follows
  WHERE thread_id = @threadId`;

export class ThreadTable {
  readonly #db: Database;
  readonly #onChange: (threadId: ThreadId) => void;
  readonly #events: EventTable;
  /** All threads as the database has them: they are read many times a second and seldom change. */
  readonly #threads = new Map<string, StoredThread>();
  readonly #insert;
  readonly #update;
  readonly #delete;
  readonly #selectOne;
  readonly #selectAll;
  readonly #takeName;
  readonly #kinds: Readonly<Record<string, KindFacts>>;

  /**
   * @param onChange is told each thread that has changed, before a surrounding transaction ends.
   * @param events gets what becomes of threads.
   * @param kinds those beside the kinds that come with threadmux
   */
  constructor(
    db: Database,
    onChange: (threadId: ThreadId) => void,
    events: EventTable,
    kinds: Readonly<Record<string, KindFacts>>,
  ) {
    this.#db = db;
    this.#onChange = onChange;
    this.#events = events;
    this.#kinds = kinds;
    this.#insert = db.prepare(INSERT);
    this.#update = db.prepare(UPDATE);
    this.#delete = db.prepare("DELETE FROM threads WHERE thread_id = ?");
    this.#selectOne = db.prepare("SELECT * FROM threads WHERE thread_id = ?");
    this.#selectAll = db.prepare("SELECT * FROM threads");
    this.#takeName = db.prepare(
      `INSERT INTO thread_names (prefix, newest) VALUES (@prefix, @second)
         ON CONFLICT DO UPDATE SET newest = MAX(newest + 1, excluded.newest) RETURNING newest`,
    );
    this.#load();
    db.onRollback(() => this.#load());
  }

  find(threadId: ThreadId): StoredThread | undefined {
    return this.#threads.get(threadId);
  }

  /** The thread of that name, which is no other's. */
  findByName(name: string): StoredThread | undefined {
    for (const thread of this.#threads.values()) if (thread.name === name) return thread;
    return undefined;
  }

  /** The oldest first. */
  list(which: "open" | "ended" | "all"): StoredThread[] {
    return [...this.#threads.values()]
      .filter(({ status }) => which === "all" || isOpen(status) === (which === "open"))
      .sort((a, b) => a.createdAt - b.createdAt || (a.threadId < b.threadId ? -1 : 1));
  }

  /** How many of a kind are open. @param isCounted all of them without it */
  countOpen(wanted: ThreadType, isCounted: (thread: StoredThread) => boolean = () => true): number {
    return this.list("open").filter((thread) => thread.type === wanted && isCounted(thread)).length;
  }

  /** Replaces a thread of the same id, and all that other tables hold of it. */
  insert(thread: NewThread): void {
    const createdBy = printPrincipal(thread.createdBy);
    this.#db.transaction(() => {
      this.delete(thread.threadId);
      const { called = thread.type, ...row } = thread;
      const name = this.#newName(called, thread.createdAt);
      this.#insert.run({ ...row, name, createdBy, follows: textOf(thread.follows) });
      this.#threads.set(thread.threadId, this.#typed(rowSchema.parse(this.#selectOne.get(thread.threadId))));
      const { threadId, type: kind, dir, title } = thread;
      this.#events.addOwn(threadId, {
        type: "thread_created",
        ts: at(thread.createdAt),
        kind,
        dir,
        title,
        createdBy,
      });
    });
  }

  /** If the second's is taken, or the clock went back, that of the next free one. No caller's id is taken for one. */
  #newName(called: string, nowMs: number): string {
    const prefix = called.slice(0, MAX_PREFIX);
    for (;;) {
      const row = this.#takeName.get({ prefix, second: Math.floor(nowMs / 1_000) });
      const name = `${prefix}-${newestSchema.parse(row).newest}`;
      if (!this.#threads.has(name)) return name;
    }
  }

  /** Does nothing if the thread is not there (any more). */
  update(threadId: ThreadId, patch: ThreadPatch): void {
    const before = this.#threads.get(threadId);
    if (!before) return;
    const thread = { ...before, ...patch };
    const { status } = thread;
    const write = () =>
      void this.#update.run({ ...thread, isMade: Number(thread.isMade), follows: textOf(thread.follows) });
    if (status === before.status || !isTold(status)) write();
    else {
      this.#db.transaction(() => {
        write();
        const { endedAt, exitCode, signal } = thread;
        this.#events.addOwn(threadId, {
          type: "thread_status",
          ...(endedAt === null ? {} : { ts: at(endedAt) }),
          status,
          exitCode,
          signal,
        });
      });
    }
    this.#threads.set(threadId, thread);
    this.#onChange(threadId);
  }

  /** What other tables hold of it goes too. */
  delete(threadId: ThreadId): void {
    this.#db.transaction(() => {
      this.#delete.run(threadId);
      this.#events.removeThread(threadId);
      if (this.#threads.has(threadId)) this.#events.addOwn(threadId, { type: "thread_removed" });
    });
    this.#threads.delete(threadId);
    this.#onChange(threadId);
  }

  #load(): void {
    this.#threads.clear();
    for (const thread of z.array(rowSchema).parse(this.#selectAll.all()))
      this.#threads.set(thread.threadId, this.#typed(thread));
  }

  /** @throws Error if this sidecar does not have the thread's kind */
  #typed(thread: StoredThread): StoredThread {
    if (Object.hasOwn(KINDS, thread.type)) return thread;
    const facts = this.#kinds[thread.type];
    if (!facts)
      throw new Error(
        `thread ${thread.threadId} is of the kind ${thread.type}, which this sidecar does not have`,
      );
    return { ...thread, facts };
  }
}

/** Running and idle come and go with an agent's runner; what it does is in its transcript. */
function isTold(status: ThreadStatus): boolean {
  return status === "exited" || status === "killed" || status === "lost";
}

function textOf(follows: Follows | null | undefined): string | null {
  return follows ? JSON.stringify(follows) : null;
}

function at(ms: number): string {
  return new Date(ms).toISOString();
}
