/** The relay's ledgers, kept for it and never looked into. */
import type { z } from "zod";
import { type LedgerRow, MAX_MESSAGES, type messageRequestSchema } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { Store } from "../store/store.ts";

export class Ledgers {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** @throws AppError `not_found`, `too_large` */
  put(threadId: string, key: string, note: z.output<typeof messageRequestSchema>): void {
    const { threads, messages } = this.#store;
    if (!threads.find(threadId))
      throw new AppError("not_found", `There is no thread ${JSON.stringify(threadId)}.`);
    this.#store.transaction(() => {
      for (const old of note.forget) messages.forget(threadId, old);
      if (messages.countOthers(threadId, key) >= MAX_MESSAGES) {
        throw new AppError(
          "too_large",
          `A thread's ledger holds at most ${MAX_MESSAGES.toLocaleString("en")} messages; forget some.`,
        );
      }
      if ("messageId" in note) messages.setSent(threadId, key, note.messageId);
      else messages.setIntent(threadId, key, note);
    });
  }

  list(which: "open" | "ended" | "all"): Record<string, LedgerRow[]> {
    const threadIds = new Set(this.#store.threads.list(which).map((thread) => thread.threadId));
    const ledgers: Record<string, LedgerRow[]> = {};
    for (const { threadId, row } of this.#store.messages.list()) {
      if (!threadIds.has(threadId)) continue;
      ledgers[threadId] ??= [];
      ledgers[threadId].push(row);
    }
    return ledgers;
  }
}
