/** The relay's ledgers, kept for it and never looked into. */
import type * as z from "zod";
import { AppError } from "../../shared/errors.ts";
import { formatCount } from "../../shared/format-count.ts";
import type { DiscordId, ThreadId, ThreadName } from "../../shared/ids.ts";
import {
  type KeptMessage,
  type LedgerRow,
  MAX_MESSAGES,
  type messageRequestSchema,
} from "../../shared/ledger-api.ts";
import type { MessageTable } from "../store/messages.ts";
import type { Store } from "../store/store.ts";
import type { Homes } from "./homes.ts";

/** One bot serves one channel; so many may have come and gone. */
const MAX_CHANNELS = 100;

type Note = z.output<typeof messageRequestSchema>;

export class Ledgers {
  readonly #store: Store;
  readonly #homes: Pick<Homes, "nameOf">;

  constructor(store: Store, homes: Pick<Homes, "nameOf">) {
    this.#store = store;
    this.#homes = homes;
  }

  /** @throws AppError `not_found`, `too_large` */
  put(threadId: ThreadId, key: string, note: Note): void {
    const { messages, keptMessages } = this.#store;
    this.#mustExist(threadId);
    this.#store.transaction(() => {
      this.#put(messages, threadId, key, note);
      if ("messageId" in note && note.keep) keptMessages.set(threadId, note.messageId, key);
    });
  }

  /** Which message is which, of those that were to be kept. @throws AppError `not_found` */
  listKept(threadId: ThreadId): KeptMessage[] {
    this.#mustExist(threadId);
    return this.#store.keptMessages.list(threadId);
  }

  /** A channel belongs to nobody here: whoever has the token may keep a ledger of it. @throws AppError `too_large` */
  putOfChannel(channelId: DiscordId, key: string, note: Note): void {
    const { channelMessages } = this.#store;
    const channels = new Set(channelMessages.list().map(({ place }) => place));
    if (!channels.has(channelId) && channels.size >= MAX_CHANNELS)
      throw new AppError("too_large", `Ledgers of at most ${MAX_CHANNELS} channels are kept.`);
    this.#store.transaction(() => this.#put(channelMessages, channelId, key, note));
  }

  listOfChannel(channelId: DiscordId): LedgerRow[] {
    return this.#store.channelMessages
      .list()
      .filter(({ place }) => place === channelId)
      .map(({ row }) => row);
  }

  #mustExist(threadId: ThreadId): void {
    if (this.#store.threads.find(threadId)) return;
    throw new AppError("not_found", `There is no thread ${JSON.stringify(threadId)}.`);
  }

  /** Within a transaction. */
  #put<Place extends string>(messages: MessageTable<Place>, place: Place, key: string, note: Note): void {
    for (const old of note.forget) messages.forget(place, old);
    if (messages.countOthers(place, key) >= MAX_MESSAGES) {
      throw new AppError(
        "too_large",
        `A ledger holds at most ${formatCount(MAX_MESSAGES)} messages; forget some.`,
      );
    }
    if ("messageId" in note) messages.setSent(place, key, note.messageId);
    else messages.setIntent(place, key, note);
  }

  list(which: "open" | "ended" | "all"): Record<ThreadName, LedgerRow[]> {
    const threadIds = new Set(this.#store.threads.list(which).map((thread) => thread.threadId));
    const ledgers: Record<ThreadName, LedgerRow[]> = {};
    for (const { place: threadId, row } of this.#store.messages.list()) {
      if (!threadIds.has(threadId)) continue;
      const name = this.#homes.nameOf(threadId);
      ledgers[name] ??= [];
      ledgers[name].push(row);
    }
    return ledgers;
  }
}
