/** What agents ask people. Made again from the transcripts. */
import { z } from "zod";
import { type AskReply, askSchema } from "../../shared/agent/api.ts";
import type { Database } from "./database.ts";

const rowSchema = z.object({ ask: z.string(), state: z.enum(["open", "answered", "ended"]) });

export class AskTable {
  readonly #set;
  readonly #find;
  readonly #listOpen;
  readonly #setState;
  readonly #endAll;
  readonly #removeAll;

  constructor(db: Database) {
    this.#set = db.prepare(
      `INSERT INTO asks (thread_id, request_id, ask, state) VALUES (?, ?, ?, 'open')
       ON CONFLICT DO UPDATE SET ask = excluded.ask`,
    );
    this.#find = db.prepare("SELECT ask, state FROM asks WHERE thread_id = ? AND request_id = ?");
    this.#listOpen = db.prepare("SELECT ask, state FROM asks WHERE state = 'open' ORDER BY rowid");
    this.#setState = db.prepare(
      "UPDATE asks SET state = ? WHERE thread_id = ? AND request_id = ? AND state <> 'ended'",
    );
    this.#endAll = db.prepare("UPDATE asks SET state = 'ended' WHERE thread_id = ?");
    this.#removeAll = db.prepare("DELETE FROM asks WHERE thread_id = ?");
  }

  add(ask: AskReply): void {
    this.#set.run(ask.threadId, ask.requestId, JSON.stringify(ask));
  }

  /** `answered`: a person has decided. `ended`: it is not asked any more. */
  find(
    threadId: string,
    requestId: string,
  ): { ask: AskReply; state: "open" | "answered" | "ended" } | undefined {
    const found = this.#find.get(threadId, requestId);
    if (found === undefined) return undefined;
    const { ask, state } = rowSchema.parse(found);
    return { ask: askSchema.parse(JSON.parse(ask)), state };
  }

  /** The open asks of all threads, the oldest first. */
  listOpen(): AskReply[] {
    return this.#listOpen.all().map((row) => askSchema.parse(JSON.parse(rowSchema.parse(row).ask)));
  }

  setState(threadId: string, requestId: string, state: "open" | "answered" | "ended"): void {
    this.#setState.run(state, threadId, requestId);
  }

  /** The thread is over: nothing of it can be answered any more. */
  endAll(threadId: string): void {
    this.#endAll.run(threadId);
  }

  /** Before they are made again. */
  removeAll(threadId: string): void {
    this.#removeAll.run(threadId);
  }
}
