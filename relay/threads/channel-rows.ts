/**
 * What the relay must know of its channel after a restart, kept as rows of the channel's ledger that are no messages
 * of ours: up to which message all are taken care of, which messages began threads, and which went into one.
 */
import { type DiscordId, knownDiscordId } from "../../shared/ids.ts";
import type { LedgerRow } from "../../shared/ledger-api.ts";
import { compareIds } from "../discord/api.ts";
import type { Vm } from "../sidecar/vm.ts";

const SEEN = "seen";
const BEGAN = "began.";
const PASSED = "passed.";
/** How many threads keep their message in the channel; older ones are not told there any more. */
export const MAX_CHANNEL_THREADS = 100;

/** How many answers are remembered with the thread that they went to. */
const MAX_PASSED = 300;

export class ChannelRows {
  readonly #vm: Vm;
  readonly #channelId: DiscordId;
  #seen: string | undefined;
  #began: DiscordId[] = [];
  /** The thread that each message went to, the oldest first. */
  readonly #passed = new Map<DiscordId, DiscordId>();

  constructor(vm: Vm, channelId: DiscordId) {
    this.#vm = vm;
    this.#channelId = channelId;
  }

  /** Takes what is its own. @returns the others: messages of ours. */
  load(rows: readonly LedgerRow[]): LedgerRow[] {
    this.#seen = rows.find(({ key }) => key === SEEN)?.messageId ?? undefined;
    this.#began = rows.flatMap(({ key }) =>
      key.startsWith(BEGAN) ? [knownDiscordId.parse(key.slice(BEGAN.length))] : [],
    );
    this.#began.sort(compareIds);
    for (const { key, messageId } of rows)
      if (key.startsWith(PASSED) && messageId !== null)
        this.#passed.set(knownDiscordId.parse(key.slice(PASSED.length)), messageId);
    return rows.filter(({ key }) => key !== SEEN && !key.startsWith(BEGAN) && !key.startsWith(PASSED));
  }

  /** Up to this message of the channel all are taken care of; undefined if none ever was. */
  get seen(): string | undefined {
    return this.#seen;
  }

  /** Threads that began with a message of the channel, whose id they have; the oldest first. */
  get began(): readonly DiscordId[] {
    return this.#began;
  }

  /** The thread that got a message which answers others. */
  findPassed(messageId: DiscordId): DiscordId | undefined {
    return this.#passed.get(messageId);
  }

  async notePassed(messageId: DiscordId, threadId: DiscordId): Promise<void> {
    if (this.#passed.get(messageId) === threadId) return;
    const ids = [...this.#passed.keys()].filter((id) => id !== messageId);
    const old = ids.slice(0, Math.max(0, ids.length + 1 - MAX_PASSED));
    const forget = old.map((id) => PASSED + id);
    await this.#vm.putChannelMessage(this.#channelId, PASSED + messageId, { messageId: threadId, forget });
    for (const id of old) this.#passed.delete(id);
    this.#passed.set(messageId, threadId);
  }

  async noteSeen(messageId: string): Promise<void> {
    if (this.#seen !== undefined && compareIds(messageId, this.#seen) <= 0) return;
    await this.#vm.putChannelMessage(this.#channelId, SEEN, { messageId });
    if (this.#seen === undefined || compareIds(messageId, this.#seen) > 0) this.#seen = messageId;
  }

  async noteBegan(threadId: DiscordId): Promise<void> {
    if (this.#began.includes(threadId)) return;
    // At once, not when the sidecar has it: others begin meanwhile.
    const ids = [...this.#began, threadId].sort(compareIds);
    this.#began = ids.slice(-MAX_CHANNEL_THREADS);
    const forget = ids.slice(0, -MAX_CHANNEL_THREADS).map((id) => BEGAN + id);
    try {
      await this.#vm.putChannelMessage(this.#channelId, BEGAN + threadId, { messageId: threadId, forget });
    } catch (error) {
      this.#began = this.#began.filter((id) => id !== threadId);
      throw error;
    }
  }
}
