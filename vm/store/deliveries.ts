/** The relay's mark for each thread: kept for it, never looked into. */
import * as z from "zod";
import type { ThreadId } from "../../shared/ids.ts";
import { type Delivery, deliverySchema } from "../../shared/ledger-api.ts";
import type { Database } from "./database.ts";

const rowSchema = z.object({ mark: z.string() });

export class DeliveryTable {
  readonly #find;
  readonly #set;

  constructor(db: Database) {
    this.#find = db.prepare("SELECT mark FROM deliveries WHERE thread_id = ?");
    this.#set = db.prepare(
      "INSERT INTO deliveries (thread_id, mark) VALUES (?, ?) ON CONFLICT DO UPDATE SET mark = excluded.mark",
    );
  }

  find(threadId: ThreadId): Delivery | undefined {
    const row = this.#find.get(threadId);
    return row === undefined ? undefined : deliverySchema.parse(JSON.parse(rowSchema.parse(row).mark));
  }

  set(threadId: ThreadId, mark: Delivery): void {
    this.#set.run(threadId, JSON.stringify(mark));
  }
}
