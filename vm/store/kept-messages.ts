/** Which of the relay's messages is which: what a person asks about long after its ledger has forgotten it. */
import * as z from "zod";
import { knownDiscordId, type ThreadId } from "../../shared/ids.ts";
import type { KeptMessage } from "../../shared/ledger-api.ts";
import type { Database } from "./database.ts";

/** The most messages of a thread; if there are more, the oldest go. */
const MAX_KEPT = 5_000;
/** How many go at once, so that this is seldom looked at. */
const SPARE = 500;

const rowSchema = z
  .object({ message_id: knownDiscordId, key: z.string() })
  .transform(({ message_id, key }): KeptMessage => ({ messageId: message_id, key }));

export class KeptMessageTable {
  readonly #count;
  readonly #list;
  readonly #set;
  readonly #drop;

  constructor(db: Database) {
    this.#count = db.prepare("SELECT count(*) AS n FROM kept_messages WHERE thread_id = ?");
    // Discord's ids grow with time, and in length.
    const oldestFirst = "ORDER BY length(message_id), message_id";
    this.#list = db.prepare(`SELECT message_id, key FROM kept_messages WHERE thread_id = ? ${oldestFirst}`);
    this.#set = db.prepare(
      `INSERT INTO kept_messages (thread_id, message_id, key) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET key = excluded.key`,
    );
    this.#drop = db.prepare(
      `DELETE FROM kept_messages WHERE thread_id = @threadId AND message_id IN
         (SELECT message_id FROM kept_messages WHERE thread_id = @threadId ${oldestFirst} LIMIT @count)`,
    );
  }

  /** Call it within a transaction. */
  set(threadId: ThreadId, messageId: string, key: string): void {
    this.#set.run(threadId, messageId, key);
    const { n } = z.object({ n: z.int() }).parse(this.#count.get(threadId));
    if (n > MAX_KEPT) this.#drop.run({ threadId, count: n - MAX_KEPT + SPARE });
  }

  /** The oldest first. */
  list(threadId: ThreadId): KeptMessage[] {
    return this.#list.all(threadId).map((row) => rowSchema.parse(row));
  }
}
