/** The relay's ledgers: which messages Discord holds of each thread and channel, and which one is in flight. */
import * as z from "zod";
import type { LedgerRow } from "../../shared/ledger-api.ts";
import type { Database } from "./database.ts";

const rowSchema = z
  .object({
    place: z.string(),
    key: z.string(),
    message_id: z.string().nullable(),
    after: z.string().nullable(),
    nonce: z.string().nullable(),
  })
  .transform(({ place, key, message_id, after, nonce }) => ({
    place,
    row: { key, messageId: message_id, after, nonce } satisfies LedgerRow,
  }));

/** Messages of threads, which go with their thread, or of channels. A place is the id of either. */
const TABLES = {
  threads: { table: "messages", place: "thread_id" },
  channels: { table: "channel_messages", place: "channel_id" },
} as const;

export class MessageTable {
  readonly #count;
  readonly #list;
  readonly #dropIntent;
  readonly #setIntent;
  readonly #setSent;
  readonly #forget;

  constructor(db: Database, of: keyof typeof TABLES) {
    const { table, place } = TABLES[of];
    const columns = `${place}, key, message_id, after, nonce`;
    this.#count = db.prepare(`SELECT count(*) AS n FROM ${table} WHERE ${place} = ? AND key <> ?`);
    this.#list = db.prepare(
      `SELECT ${place} AS place, key, message_id, after, nonce FROM ${table} ORDER BY rowid`,
    );
    this.#dropIntent = db.prepare(`DELETE FROM ${table} WHERE ${place} = ? AND message_id IS NULL`);
    this.#setIntent = db.prepare(
      `INSERT INTO ${table} (${columns}) VALUES (@place, @key, NULL, @after, @nonce)
       ON CONFLICT DO UPDATE SET message_id = NULL, after = excluded.after, nonce = excluded.nonce`,
    );
    this.#setSent = db.prepare(
      `INSERT INTO ${table} (${columns}) VALUES (@place, @key, @messageId, NULL, NULL)
       ON CONFLICT DO UPDATE SET message_id = excluded.message_id, after = NULL, nonce = NULL`,
    );
    this.#forget = db.prepare(`DELETE FROM ${table} WHERE ${place} = ? AND key = ?`);
  }

  /** How many rows a place has, one key left out. */
  countOthers(place: string, key: string): number {
    return z.object({ n: z.int() }).parse(this.#count.get(place, key)).n;
  }

  /** All rows, the oldest first. */
  list(): { place: string; row: LedgerRow }[] {
    return this.#list.all().map((row) => rowSchema.parse(row));
  }

  /** One message of a place is in flight at a time: an older intent is dropped. Call it within a transaction. */
  setIntent(place: string, key: string, intent: { after: string; nonce: string }): void {
    this.#dropIntent.run(place);
    this.#setIntent.run({ place, key, after: intent.after, nonce: intent.nonce });
  }

  setSent(place: string, key: string, messageId: string): void {
    this.#setSent.run({ place, key, messageId });
  }

  forget(place: string, key: string): void {
    this.#forget.run(place, key);
  }
}
