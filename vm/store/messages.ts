/** The relay's ledger: which messages Discord holds of each thread, and which one is in flight. */
import { z } from "zod";
import type { LedgerRow } from "../../shared/api.ts";
import type { Database } from "./database.ts";

const rowSchema = z
  .object({
    thread_id: z.string(),
    key: z.string(),
    message_id: z.string().nullable(),
    after: z.string().nullable(),
    nonce: z.string().nullable(),
  })
  .transform(({ thread_id, key, message_id, after, nonce }) => ({
    threadId: thread_id,
    row: { key, messageId: message_id, after, nonce } satisfies LedgerRow,
  }));

export class MessageTable {
  readonly #count;
  readonly #list;
  readonly #dropIntent;
  readonly #setIntent;
  readonly #setSent;
  readonly #forget;

  constructor(db: Database) {
    const columns = "thread_id, key, message_id, after, nonce";
    this.#count = db.prepare("SELECT count(*) AS n FROM messages WHERE thread_id = ? AND key <> ?");
    this.#list = db.prepare(`SELECT ${columns} FROM messages ORDER BY rowid`);
    this.#dropIntent = db.prepare("DELETE FROM messages WHERE thread_id = ? AND message_id IS NULL");
    this.#setIntent = db.prepare(
      `INSERT INTO messages (${columns}) VALUES (@threadId, @key, NULL, @after, @nonce)
       ON CONFLICT DO UPDATE SET message_id = NULL, after = excluded.after, nonce = excluded.nonce`,
    );
    this.#setSent = db.prepare(
      `INSERT INTO messages (${columns}) VALUES (@threadId, @key, @messageId, NULL, NULL)
       ON CONFLICT DO UPDATE SET message_id = excluded.message_id, after = NULL, nonce = NULL`,
    );
    this.#forget = db.prepare("DELETE FROM messages WHERE thread_id = ? AND key = ?");
  }

  /** How many rows a thread has, one key left out. */
  countOthers(threadId: string, key: string): number {
    return z.object({ n: z.int() }).parse(this.#count.get(threadId, key)).n;
  }

  /** All rows, the oldest first. */
  list(): { threadId: string; row: LedgerRow }[] {
    return this.#list.all().map((row) => rowSchema.parse(row));
  }

  /** One message of a thread is in flight at a time: an older intent is dropped. Call it within a transaction. */
  setIntent(threadId: string, key: string, intent: { after: string; nonce: string }): void {
    this.#dropIntent.run(threadId);
    this.#setIntent.run({ threadId, key, after: intent.after, nonce: intent.nonce });
  }

  setSent(threadId: string, key: string, messageId: string): void {
    this.#setSent.run({ threadId, key, messageId });
  }

  forget(threadId: string, key: string): void {
    this.#forget.run(threadId, key);
  }
}
