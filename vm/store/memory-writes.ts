/**
 * Writes to memory: each one is a row before its file changes, so that a kill in between is finished, the writer of a file
 * is known, and a write can be undone.
 */
import * as z from "zod";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import { type Principal, parsePrincipal, printPrincipal } from "../../shared/principal.ts";
import type { Database } from "./database.ts";

/** `restore` puts back what another write has changed. */
export const WRITE_HOWS = ["append", "replace", "remove", "restore"] as const;
export type WriteHow = (typeof WRITE_HOWS)[number];
/** `waiting`: a person is asked; `writing`: it is to be in the file; `failed`: the file is another one by now. */
export const WRITE_STATES = ["waiting", "writing", "written", "refused", "failed"] as const;
export type WriteState = (typeof WRITE_STATES)[number];

const rowSchema = z
  .object({
    seq: z.int(),
    write_id: z.string(),
    folder: z.string(),
    name: z.string(),
    how: z.enum(WRITE_HOWS),
    text: z.string().nullable(),
    by: z.string(),
    thread_id: knownThreadId.nullable(),
    at: z.int(),
    state: z.enum(WRITE_STATES),
    before: z.string().nullable(),
    before_hash: z.string().nullable(),
    after_hash: z.string().nullable(),
    undoes: z.string().nullable(),
    decided_by: z.string().nullable(),
  })
  .transform((row) => ({
    seq: row.seq,
    writeId: row.write_id,
    /** The owner's, below STATE_DIR/memory. */
    folder: row.folder,
    name: row.name,
    how: row.how,
    /** The text of the write; null if the file is to go, or if the row is old. */
    text: row.text,
    by: parsePrincipal(row.by),
    threadId: row.thread_id,
    at: row.at,
    state: row.state,
    /** The file's text before; null if there was none (`beforeHash` too), or if the row is too old to be undone. */
    before: row.before,
    beforeHash: row.before_hash,
    /** Null if the file is gone since. */
    afterHash: row.after_hash,
    undoes: row.undoes,
    decidedBy: row.decided_by === null ? null : parsePrincipal(row.decided_by),
  }));
export type MemoryWriteRow = z.output<typeof rowSchema>;

export interface NewMemoryWrite {
  writeId: string;
  folder: string;
  name: string;
  how: WriteHow;
  text: string | null;
  by: Principal;
  threadId: ThreadId | null;
  at: number;
  state: Extract<WriteState, "waiting" | "writing">;
  before: string | null;
  beforeHash: string | null;
  afterHash: string | null;
  undoes: string | null;
}

/** Rows of one owner whose earlier text is kept, and those that are kept at all. */
const MAX_UNDOABLE = 100;
const MAX_ROWS = 2_000;

const countSchema = z.object({ count: z.int() });

export class MemoryWriteTable {
  readonly #db: Database;
  readonly #insert;
  readonly #find;
  readonly #listOpen;
  readonly #listOf;
  readonly #newest;
  readonly #listSince;
  readonly #countOf;
  readonly #countWaiting;
  readonly #set;
  readonly #decide;
  readonly #fail;
  readonly #forgetTexts;
  readonly #prune;

  constructor(db: Database) {
    this.#db = db;
    this.#insert = db.prepare(
      `INSERT INTO memory_writes (write_id, folder, name, how, text, by, thread_id, at, state, before, before_hash,
         after_hash, undoes)
       VALUES (@writeId, @folder, @name, @how, @text, @by, @threadId, @at, @state, @before, @beforeHash, @afterHash,
         @undoes)`,
    );
    this.#find = db.prepare("SELECT * FROM memory_writes WHERE write_id = ?");
    this.#listOpen = db.prepare(
      "SELECT * FROM memory_writes WHERE state IN ('waiting', 'writing') ORDER BY seq",
    );
    this.#listOf = db.prepare(
      `SELECT * FROM memory_writes WHERE folder = ? AND name = ? AND state = 'written' ORDER BY seq DESC LIMIT ?`,
    );
    this.#newest = db.prepare(
      "SELECT * FROM memory_writes WHERE folder = @folder AND state = 'written' ORDER BY seq DESC LIMIT @limit",
    );
    this.#listSince = db.prepare(
      "SELECT * FROM memory_writes WHERE at > ? AND thread_id IS NOT NULL ORDER BY seq",
    );
    this.#countOf = db.prepare(
      "SELECT count(*) AS count FROM memory_writes WHERE thread_id = @threadId AND at > @since",
    );
    this.#countWaiting = db.prepare(
      "SELECT count(*) AS count FROM memory_writes WHERE thread_id = ? AND state = 'waiting'",
    );
    this.#set = db.prepare(
      `UPDATE memory_writes SET state = @state, before = @before, before_hash = @beforeHash, after_hash = @afterHash
       WHERE write_id = @writeId`,
    );
    this.#decide = db.prepare(
      "UPDATE memory_writes SET state = @state, decided_by = @by WHERE write_id = @writeId AND state = 'waiting'",
    );
    this.#fail = db.prepare("UPDATE memory_writes SET state = 'failed' WHERE write_id = ?");
    this.#forgetTexts = db.prepare(
      `UPDATE memory_writes SET text = NULL, before = NULL
       WHERE folder = @folder AND state NOT IN ('waiting', 'writing') AND (text IS NOT NULL OR before IS NOT NULL)
         AND seq <=
         (SELECT seq FROM memory_writes WHERE folder = @folder ORDER BY seq DESC LIMIT 1 OFFSET @kept)`,
    );
    this.#prune = db.prepare(
      `DELETE FROM memory_writes WHERE folder = @folder AND state NOT IN ('waiting', 'writing') AND seq <=
         (SELECT seq FROM memory_writes WHERE folder = @folder ORDER BY seq DESC LIMIT 1 OFFSET @kept)`,
    );
  }

  /** Survives a loss of power once this returns. Old rows of the same owner go. */
  insert({ by, folder, ...write }: NewMemoryWrite): void {
    this.#db.durably(() => {
      this.#insert.run({ ...write, folder, by: printPrincipal(by) });
      this.#forgetTexts.run({ folder, kept: MAX_UNDOABLE });
      this.#prune.run({ folder, kept: MAX_ROWS });
    });
  }

  find(writeId: string): MemoryWriteRow | undefined {
    const row = this.#find.get(writeId);
    return row === undefined ? undefined : rowSchema.parse(row);
  }

  /** Those that are not at their end, the oldest first. */
  listOpen(): MemoryWriteRow[] {
    return this.#listOpen.all().map((row) => rowSchema.parse(row));
  }

  /** Those that are in a file, the newest first. */
  listOf(folder: string, name: string, limit: number): MemoryWriteRow[] {
    return this.#listOf.all(folder, name, limit).map((row) => rowSchema.parse(row));
  }

  /** Lists one owner's writes, the newest first. */
  listNewest(folder: string, limit: number): MemoryWriteRow[] {
    return this.#newest.all({ folder, limit }).map((row) => rowSchema.parse(row));
  }

  /** Those of agents since then, the oldest first. */
  listSince(ms: number): MemoryWriteRow[] {
    return this.#listSince.all(ms).map((row) => rowSchema.parse(row));
  }

  countOf(threadId: ThreadId, since: number): number {
    return countSchema.parse(this.#countOf.get({ threadId, since })).count;
  }

  countWaiting(threadId: ThreadId): number {
    return countSchema.parse(this.#countWaiting.get(threadId)).count;
  }

  set(writeId: string, change: Pick<MemoryWriteRow, "state" | "before" | "beforeHash" | "afterHash">): void {
    this.#set.run({ writeId, ...change });
  }

  /** The disk did not take it. */
  fail(writeId: string): void {
    this.#fail.run(writeId);
  }

  /** A person has decided about one that waits; the first decision counts. */
  decide(writeId: string, isLetIn: boolean, by: string | null): void {
    this.#decide.run({ writeId, state: isLetIn ? "writing" : "refused", by });
  }
}
