/**
 * What happened over all threads, in one order: each row has an id that only grows. A transcript's event is a range of
 * bytes of that transcript; what the sidecar itself says is kept here whole.
 */
import * as z from "zod";
import type { OWN_EVENT_TYPES } from "../../shared/hub-events.ts";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import type { Database } from "./database.ts";

/** More rows than this, and the oldest go. */
const MAX_EVENTS = 250_000;
const PRUNED_AT_ONCE = 1_000;

const rowSchema = z
  .object({
    event_id: z.int(),
    thread_id: knownThreadId,
    type: z.string(),
    byte: z.int().nullable(),
    bytes: z.int().nullable(),
    body: z.string().nullable(),
    causes: z.string().nullable(),
  })
  .transform((row) => ({
    eventId: row.event_id,
    threadId: row.thread_id,
    type: row.type,
    /** Where its line begins in the transcript, and its length; null of what the sidecar says. */
    byte: row.byte,
    bytes: row.bytes,
    /** What the sidecar says, as JSON. */
    body: row.body,
    /** The jobs that led to it, as far as its transcript tells. */
    causes: namesIn(row.causes),
  }));

const idSchema = z.object({ id: z.int() });

export type EventRow = z.infer<typeof rowSchema>;

/** What the sidecar says of a thread. */
export interface OwnEvent {
  type: (typeof OWN_EVENT_TYPES)[number];
  [field: string]: unknown;
}

export class EventTable {
  readonly #db: Database;
  readonly #maxEvents: number;
  readonly #insert;
  readonly #list;
  readonly #listOfTypes;
  readonly #before;
  readonly #newest;
  readonly #count;
  readonly #floor;
  readonly #setFloor;
  readonly #pruneFrom;
  readonly #prune;
  readonly #removeThread;
  #rows: number;
  readonly #listeners: ((type: string, threadId: ThreadId) => void)[] = [];

  constructor(db: Database, maxEvents = MAX_EVENTS) {
    this.#db = db;
    this.#maxEvents = maxEvents;
    this.#insert = db.prepare(
      `INSERT INTO events (thread_id, type, byte, bytes, body, causes)
       VALUES (@threadId, @type, @byte, @bytes, @body, @causes)`,
    );
    this.#list = db.prepare("SELECT * FROM events WHERE event_id > ? ORDER BY event_id LIMIT ?");
    this.#listOfTypes = db.prepare(
      `SELECT * FROM events WHERE event_id > @afterId AND event_id <= @upTo
         AND type IN (SELECT value FROM json_each(@types)) ORDER BY event_id LIMIT @limit`,
    );
    this.#before = db.prepare("SELECT event_id AS id FROM events ORDER BY event_id DESC LIMIT 1 OFFSET ?");
    this.#newest = db.prepare("SELECT seq AS id FROM sqlite_sequence WHERE name = 'events'");
    this.#count = db.prepare("SELECT count(*) AS id FROM events");
    this.#floor = db.prepare("SELECT event_id AS id FROM event_floor");
    this.#setFloor = db.prepare("UPDATE event_floor SET event_id = ?");
    this.#pruneFrom = db.prepare("SELECT event_id AS id FROM events ORDER BY event_id LIMIT 1 OFFSET ?");
    this.#prune = db.prepare("DELETE FROM events WHERE event_id <= ?");
    this.#removeThread = db.prepare("DELETE FROM events WHERE thread_id = ?");
    this.#rows = this.#read(this.#count);
    db.onRollback(() => {
      this.#rows = this.#read(this.#count);
    });
  }

  /**
   * Ids go on from the clock's milliseconds if that is further: those of a lost database, or of one that an older copy
   * took the place of, are never given to other events.
   */
  beginAt(nowMs: number): void {
    this.#db.transaction(() => {
      const newest = this.newest();
      if (newest >= nowMs) return;
      this.#db.prepare("UPDATE sqlite_sequence SET seq = ? WHERE name = 'events'").run(nowMs);
      if (newest === 0) this.#setFloor.run(nowMs);
    });
  }

  /** Says who is told the type of what is new, and of which thread, before the surrounding transaction ends. */
  listen(onAdd: (type: string, threadId: ThreadId) => void): void {
    this.#listeners.push(onAdd);
  }

  /**
   * An event of a transcript: where its line begins, and its length in bytes.
   * @param causes the jobs that led to it
   */
  add(
    threadId: ThreadId,
    type: string,
    { byte, bytes }: { byte: number; bytes: number },
    causes: readonly string[] = [],
  ): void {
    this.#add({ threadId, type, byte, bytes, body: null, causes });
  }

  addOwn(threadId: ThreadId, event: OwnEvent): void {
    this.#add({
      threadId,
      type: event.type,
      byte: null,
      bytes: null,
      body: JSON.stringify(event),
      causes: [],
    });
  }

  /** The first `limit` after an id, in order. */
  list(afterId: number, limit: number): EventRow[] {
    return this.#list.all(afterId, limit).map((row) => rowSchema.parse(row));
  }

  /** The first `limit` of these types after an id and up to another one, in order. */
  listOfTypes(types: readonly string[], afterId: number, upTo: number, limit: number): EventRow[] {
    const rows = this.#listOfTypes.all({ types: JSON.stringify(types), afterId, upTo, limit });
    return rows.map((row) => rowSchema.parse(row));
  }

  /** An id after which there are `count` events, or all that are kept if those are fewer. */
  idBefore(count: number): number {
    const found = this.#before.get(count);
    return found === undefined ? this.floor() : idSchema.parse(found).id;
  }

  /** The newest id that was given; 0 before {@link beginAt}. */
  newest(): number {
    return this.#read(this.#newest);
  }

  /** All events with a greater id are there, but those of threads that were removed. */
  floor(): number {
    return this.#read(this.#floor);
  }

  /** A thread's transcript is about to go, and its events with it. */
  removeThread(threadId: ThreadId): void {
    this.#rows -= this.#removeThread.run(threadId).changes;
  }

  #add(row: Omit<EventRow, "eventId" | "causes"> & { causes: readonly string[] }): void {
    this.#insert.run({ ...row, causes: row.causes.join(" ") || null });
    this.#rows += 1;
    if (this.#rows >= this.#maxEvents + PRUNED_AT_ONCE) this.#pruneSome();
    for (const listener of this.#listeners) listener(row.type, row.threadId);
  }

  #pruneSome(): void {
    this.#db.transaction(() => {
      const last = this.#read(this.#pruneFrom, this.#rows - this.#maxEvents - 1);
      this.#setFloor.run(last);
      this.#rows -= this.#prune.run(last).changes;
    });
  }

  #read(statement: { get: (...values: unknown[]) => unknown }, ...values: unknown[]): number {
    return idSchema.parse(statement.get(...values)).id;
  }
}

/** Names of jobs, which have no space in them. */
function namesIn(text: string | null): string[] {
  return text === null || text === "" ? [] : text.split(" ");
}
