/** What agents ask people. Made again from the transcripts. */
import * as z from "zod";
import { type AskReply, askSchema } from "../../shared/agent/api.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Database } from "./database.ts";

/** `answered`: a person has decided. `ended`: it is not asked any more. */
const STATES = ["open", "answered", "ended"] as const;
export type AskState = (typeof STATES)[number];

const rowSchema = z.object({ ask: z.string(), state: z.enum(STATES) });
const idSchema = z.object({ request_id: z.string() });

export class AskTable {
  readonly #set;
  readonly #put;
  readonly #find;
  readonly #listIds;
  readonly #listOpen;
  readonly #setState;
  readonly #endAll;
  readonly #remove;
  #tell = () => {};

  constructor(db: Database) {
    this.#set = db.prepare(
      `INSERT INTO asks (thread_id, request_id, ask, state) VALUES (?, ?, ?, 'open')
       ON CONFLICT DO UPDATE SET ask = excluded.ask`,
    );
    this.#put = db.prepare(
      `INSERT INTO asks (thread_id, request_id, ask, state) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET ask = excluded.ask, state = excluded.state`,
    );
    this.#listIds = db.prepare("SELECT request_id FROM asks WHERE thread_id = ?");
    this.#find = db.prepare("SELECT ask, state FROM asks WHERE thread_id = ? AND request_id = ?");
    this.#listOpen = db.prepare("SELECT ask, state FROM asks WHERE state = 'open' ORDER BY rowid");
    this.#setState = db.prepare(
      "UPDATE asks SET state = ? WHERE thread_id = ? AND request_id = ? AND state <> 'ended'",
    );
    this.#endAll = db.prepare("UPDATE asks SET state = 'ended' WHERE thread_id = ?");
    this.#remove = db.prepare("DELETE FROM asks WHERE thread_id = ? AND request_id = ?");
  }

  /** Says who is told that rows may have changed; the transaction that changes them may not have ended yet. */
  listen(listener: () => void): void {
    this.#tell = listener;
  }

  /** An open ask; one that is there keeps its state. */
  add(ask: AskReply): void {
    this.#set.run(ask.threadId, ask.requestId, JSON.stringify(ask));
    this.#tell();
  }

  /** An ask as it is, whatever its row said before. */
  put(ask: AskReply, state: AskState): void {
    this.#put.run(ask.threadId, ask.requestId, JSON.stringify(ask), state);
    this.#tell();
  }

  find(threadId: ThreadId, requestId: string): { ask: AskReply; state: AskState } | undefined {
    const found = this.#find.get(threadId, requestId);
    if (found === undefined) return undefined;
    const { ask, state } = rowSchema.parse(found);
    return { ask: askSchema.parse(JSON.parse(ask)), state };
  }

  /** The open asks of all threads, the oldest first. */
  listOpen(): AskReply[] {
    return this.#listOpen.all().map((row) => askSchema.parse(JSON.parse(rowSchema.parse(row).ask)));
  }

  setState(threadId: ThreadId, requestId: string, state: AskState): void {
    this.#setState.run(state, threadId, requestId);
    this.#tell();
  }

  /** The thread is over: nothing of it can be answered any more. */
  endAll(threadId: ThreadId): void {
    this.#endAll.run(threadId);
    this.#tell();
  }

  /** The ids of all asks of a thread, whatever their state. */
  listIds(threadId: ThreadId): string[] {
    return this.#listIds.all(threadId).map((row) => idSchema.parse(row).request_id);
  }

  remove(threadId: ThreadId, requestId: string): void {
    this.#remove.run(threadId, requestId);
    this.#tell();
  }
}
