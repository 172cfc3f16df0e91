/** The relay's ledgers: which messages Discord holds of each thread and channel, and which one is in flight. */
import * as z from "zod";
import { type DiscordId, knownDiscordId, knownThreadId, type ThreadId } from "../../shared/ids.ts";
import type { LedgerRow } from "../../shared/ledger-api.ts";
import type { Database } from "./database.ts";

const placeSchema = z.object({ place: z.string() });
const rowSchema = z
  .object({
    key: z.string(),
    message_id: knownDiscordId.nullable(),
    after: knownDiscordId.nullable(),
    nonce: z.string().nullable(),
  })
  .transform(
    ({ key, message_id, after, nonce }): LedgerRow => ({ key, messageId: message_id, after, nonce }),
  );

/** A place is the id of either. */
interface PlaceTable<Place extends string> {
  table: string;
  column: string;
  parse: (id: unknown) => Place;
}

/** Messages of threads, which go with their thread. */
export const IN_THREADS: PlaceTable<ThreadId> = {
  table: "messages",
  column: "thread_id",
  parse: (id) => knownThreadId.parse(id),
};
/** Messages of channels. */
export const IN_CHANNELS: PlaceTable<DiscordId> = {
  table: "channel_messages",
  column: "channel_id",
  parse: (id) => knownDiscordId.parse(id),
};

export class MessageTable<Place extends string> {
  readonly #parsePlace: (id: unknown) => Place;
  readonly #count;
  readonly #list;
  readonly #dropIntent;
  readonly #setIntent;
  readonly #setSent;
  readonly #forget;

  constructor(db: Database, { table, column: place, parse }: PlaceTable<Place>) {
    this.#parsePlace = parse;
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
  countOthers(place: Place, key: string): number {
    return z.object({ n: z.int() }).parse(this.#count.get(place, key)).n;
  }

  /** All rows, the oldest first. */
  list(): { place: Place; row: LedgerRow }[] {
    return this.#list.all().map((row) => ({
      place: this.#parsePlace(placeSchema.parse(row).place),
      row: rowSchema.parse(row),
    }));
  }

  /** One message of a place is in flight at a time: an older intent is dropped. Call it within a transaction. */
  setIntent(place: Place, key: string, intent: { after: string; nonce: string }): void {
    this.#dropIntent.run(place);
    this.#setIntent.run({ place, key, after: intent.after, nonce: intent.nonce });
  }

  setSent(place: Place, key: string, messageId: string): void {
    this.#setSent.run({ place, key, messageId });
  }

  forget(place: Place, key: string): void {
    this.#forget.run(place, key);
  }
}
