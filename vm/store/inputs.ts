/** Inputs with an id, so that what is sent again goes in once. */
import * as z from "zod";
import type { ThreadId } from "../../shared/ids.ts";
import type { Database } from "./database.ts";

/** `sending`: it was begun and, as far as the database knows, not finished. */
export type InputState = "sending" | "sent";

const stateSchema = z.object({ is_sent: z.int() });
const idSchema = z.object({ input_id: z.string() });

export class InputTable {
  readonly #find;
  readonly #any;
  readonly #listSending;
  readonly #set;
  readonly #remove;

  constructor(db: Database) {
    this.#find = db.prepare("SELECT is_sent FROM inputs WHERE thread_id = ? AND input_id = ?");
    this.#any = db.prepare("SELECT 1 FROM inputs WHERE thread_id = ? LIMIT 1");
    this.#listSending = db.prepare("SELECT input_id FROM inputs WHERE thread_id = ? AND is_sent = 0");
    this.#set = db.prepare(
      "INSERT INTO inputs (thread_id, input_id, is_sent) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET is_sent = excluded.is_sent",
    );
    this.#remove = db.prepare("DELETE FROM inputs WHERE thread_id = ? AND input_id = ?");
  }

  find(threadId: ThreadId, inputId: string): InputState | undefined {
    const row = this.#find.get(threadId, inputId);
    if (row === undefined) return undefined;
    return stateSchema.parse(row).is_sent === 0 ? "sending" : "sent";
  }

  hasAny(threadId: ThreadId): boolean {
    return this.#any.get(threadId) !== undefined;
  }

  /** Ids of the inputs that are `sending`. */
  listSending(threadId: ThreadId): string[] {
    return this.#listSending.all(threadId).map((row) => idSchema.parse(row).input_id);
  }

  set(threadId: ThreadId, inputId: string, state: InputState): void {
    this.#set.run(threadId, inputId, state === "sent" ? 1 : 0);
  }

  /** It did not go in, and may be sent again. */
  remove(threadId: ThreadId, inputId: string): void {
    this.#remove.run(threadId, inputId);
  }
}
