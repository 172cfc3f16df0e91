/** One agent thread's delivery, with Discord and the sidecar behind it, that may be killed between any two requests. */
import { DiscordAPIError } from "discord.js";
import pino from "pino";
import type { LedgerRow } from "../../../shared/ledger-api.ts";
import { aDiscordId } from "../../../test/support/ids.ts";
import { TranscriptContent, type TranscriptMark } from "../../content/transcript/content.ts";
import { feed, feedRest } from "../../content/transcript/testing/events.ts";
import type { DiscordApi } from "../../discord/api.ts";
import type { Budget } from "../../discord/budget.ts";
import { ThreadDelivery, type ThreadDeliveryOptions } from "../thread-delivery.ts";

const THREAD = "1800000000000000000";

type Events = Parameters<typeof feed>[1];

/** Discord, the sidecar and one relay; the relay edits once in `editIntervalMs`. */
export class Side {
  readonly messages = new Map<string, string>();
  readonly rows = new Map<string, LedgerRow>();
  mark: (TranscriptMark & { seen: string; gone?: readonly string[] }) | undefined;
  /** The ids of messages that were gone when they were edited, one for each edit. */
  readonly missed: string[] = [];
  /** The relay is killed before this many more requests are made. */
  killIn = Infinity;
  content = new TranscriptContent({ starter: undefined });
  #events: Events = [];
  /** The relay that runs now. */
  #relay = { isKilled: false };
  #nextId = BigInt(THREAD);
  readonly #waitScale: number;
  delivery: ThreadDelivery<never>;

  /** @param waitScale of the waits between two messages and two edits */
  constructor({ waitScale = 1 } = {}) {
    this.#waitScale = waitScale;
    this.delivery = this.#open(100);
  }

  get texts(): string[] {
    return [...this.messages.values()];
  }

  get isKilled(): boolean {
    return this.#relay.isKilled;
  }

  async tell(events: Events): Promise<void> {
    this.#events = [...this.#events, ...events];
    feed(this.content, events);
    this.delivery.resume();
    await this.#flush();
  }

  /** A person deletes the message; whether the relay is told is up to Discord. */
  remove(words: string, { isTold = true } = {}): void {
    const [id] = [...this.messages].find(([, text]) => text.includes(words)) ?? [];
    if (id !== undefined) this.removeId(id, { isTold });
  }

  removeId(id: string, { isTold = true } = {}): void {
    this.messages.delete(id);
    if (isTold) this.delivery.noteDeleted(id);
  }

  /** The next relay reads on from the mark; what it cannot read is what the sidecar lost with a kill. */
  async restart({ editIntervalMs = 1 } = {}): Promise<void> {
    if (!this.isKilled) await this.delivery.close();
    this.content = new TranscriptContent({ starter: undefined, mark: structuredClone(this.mark) });
    this.delivery = this.#open(editIntervalMs);
    feedRest(this.content, this.#events);
    this.delivery.resume();
    await this.#flush();
  }

  /** Resolves also once the relay is killed. */
  async #flush(): Promise<void> {
    const { delivery } = this;
    let isOver = false;
    const over = delivery.flush(5_000).then(() => {
      isOver = true;
    });
    while (!isOver && !this.isKilled) await Promise.race([over, new Promise((next) => setImmediate(next))]);
  }

  #open(editIntervalMs: number): ThreadDelivery<never> {
    this.#relay = { isKilled: false };
    const relay = this.#relay;
    /** A relay that was killed makes no request and hears no answer. */
    const request = async <T>(work: () => T): Promise<T> => {
      if (!relay.isKilled && this.killIn-- <= 0) {
        relay.isKilled = true;
        this.killIn = Infinity;
      }
      return relay.isKilled ? new Promise<T>(() => undefined) : work();
    };
    const missing = (id: string) => {
      this.missed.push(id);
      throw new DiscordAPIError({ message: "", code: 10008 } as never, 10008, 404, "PATCH", "", {});
    };
    const api = {
      send: (_channel: string, { content }: { content: string }) =>
        request(() => {
          const id = String(++this.#nextId);
          this.messages.set(id, content);
          return { id, content };
        }),
      edit: (_channel: string, id: string, { content }: { content?: string }) =>
        request(() =>
          this.messages.has(id)
            ? void this.messages.set(id, content ?? this.messages.get(id) ?? "")
            : missing(id),
        ),
      deleteMessage: (_channel: string, id: string) => request(() => void this.messages.delete(id)),
      listMessagesAfter: (_channel: string, after: string) =>
        request(() =>
          [...this.messages]
            .filter(([id]) => BigInt(id) > BigInt(after))
            .map(([id, content]) => ({ id, content, type: 0, author: { id: "9" }, components: undefined })),
        ),
      findChannel: async () => undefined,
    };
    const options: ThreadDeliveryOptions<never> = {
      threadId: aDiscordId(THREAD),
      content: this.content as never,
      rows: structuredClone([...this.rows.values()]),
      seen: THREAD,
      gone: this.mark?.gone,
      owner: () => "1",
      putMark: (mark) =>
        request(() => {
          this.mark = structuredClone(mark) as never;
        }),
      putMessage: (key, note) =>
        request(() => {
          for (const old of note.forget ?? []) this.rows.delete(old);
          const row =
            "messageId" in note
              ? { messageId: aDiscordId(note.messageId), after: null, nonce: null }
              : { messageId: null, after: aDiscordId(note.after), nonce: note.nonce };
          this.rows.set(key, { key, ...row });
        }),
      api: api as unknown as DiscordApi,
      budget: { run: (work: () => Promise<void>) => work() } as unknown as Budget,
      botId: "9",
      log: pino({ level: "silent" }),
      now: Date.now,
      editIntervalMs,
      waitScale: this.#waitScale,
      onRefused: () => undefined,
    };
    return new ThreadDelivery(options);
  }
}
