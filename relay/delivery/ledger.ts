/** The ledger of one thread: which of its messages Discord holds, known by the ids that were noted. */
import { randomBytes } from "node:crypto";
import * as z from "zod";
import type { DiscordId } from "../../shared/ids.ts";
import type { LedgerRow, MessageRequest } from "../../shared/ledger-api.ts";
import { compareIds, type DiscordApi, type OutgoingMessage } from "../discord/api.ts";
import type { DiscordMessage } from "../discord/message-schema.ts";
import { findRefusal } from "../discord/refusals.ts";
import { type SentMessage, shownBy } from "./plan.ts";

/** What the bot says besides pages has keys that begin with this. */
export const POST = "post.";
/** A mark has 4 KiB, a key at most 64 bytes. */
const MAX_GONE = 20;

export interface LedgerOptions {
  threadId: DiscordId;
  /** As the sidecar has them. */
  rows: readonly LedgerRow[];
  /** Writes a row on the sidecar. */
  put: (key: string, note: MessageRequest) => Promise<void>;
  api: Pick<DiscordApi, "send" | "listMessagesAfter">;
  botId: string;
  /** The newest message of anybody: one of ours that is sent after that is newer. */
  findNewest: () => Promise<DiscordId | undefined>;
  /** Others write there too, so the newest message that is known may be an old one. */
  isShared?: boolean;
  /** False of pages that stay as they are: what their messages show is not looked up. */
  mayChange?: (key: string) => boolean;
  /** The keys of messages that an earlier process found deleted, and left away. */
  gone?: readonly string[] | undefined;
  /** Messages of ours that no row knows stood there before the first of this ledger. */
  isReused?: boolean;
}

/** A message that was begun: until it has an id, and the id is noted, nothing else is sent or edited. */
interface Flight {
  readonly key: string;
  readonly after: string;
  readonly nonce: string;
  id?: string;
}

interface Unread {
  readonly key: string;
  readonly id: string;
}

/**
 * The order of things makes it safe against a death at any moment. The intent is noted before the message is sent,
 * its id after it, and one message is in flight at a time. So after a restart at most one message is not known: the
 * only one of the bot's that is newer than the newest noted one and in no row. What it shows does not matter.
 */
export class Ledger {
  readonly #options: LedgerOptions;
  readonly #messages = new Map<string, SentMessage>();
  #flight: Flight | undefined;
  /** Deleted while a message was in flight: perhaps that one, of which the answer comes later. */
  readonly #deletedInFlight = new Set<string>();
  /** The last message that was begun and not found. Discord may make it late: tried again, it has the same nonce. */
  #notFound: Flight | undefined;
  /** The newest message of ours, also when its row is gone. */
  #newest: string;
  /** Rows that the sidecar is to forget with the next write. */
  readonly #stale = new Set<string>();

  constructor(options: LedgerOptions) {
    this.#options = options;
    this.#newest = options.threadId;
    for (const { key, messageId, after, nonce } of options.rows) {
      if (messageId !== null)
        this.#messages.set(key, {
          id: messageId,
          shows: undefined,
          isGone: options.gone?.includes(key) ?? false,
          isFromBefore: true,
        });
      else if (after !== null && nonce !== null) this.#flight = { key, after, nonce };
      this.#noteNewest(messageId ?? after ?? "");
    }
  }

  /** The keys of all messages that exist, and of the one that may. */
  get keys(): string[] {
    return [...this.#messages.keys(), ...(this.#flight ? [this.#flight.key] : [])];
  }

  /** Whether no message is known to exist. One may be on its way. */
  get isEmpty(): boolean {
    return this.#messages.size === 0;
  }

  find(key: string): SentMessage | undefined {
    return this.#messages.get(key);
  }

  /** The keys of the newest messages that were deleted and stay away: few enough for the mark. */
  get gone(): string[] {
    const gone = [...this.#messages].filter(([, { isGone }]) => isGone).map(([key]) => key);
    return gone.slice(-MAX_GONE);
  }

  /** Discord says that it was deleted: {@link noteGone} is to decide. @returns whether it is one of ours */
  noteDeleted(messageId: string): boolean {
    const found = [...this.#messages].find(([, { id }]) => id === messageId);
    if (!found) {
      if (this.#flight) this.#deletedInFlight.add(messageId);
      return false;
    }
    const [key, message] = found;
    this.#messages.set(key, { ...message, isDeleted: !message.isGone, isFromBefore: false });
    return true;
  }

  /** Whether the message that was sent last was deleted before Discord's answer to its sending was there. */
  wasDeletedInFlight(key: string): boolean {
    return this.#deletedInFlight.has(this.#messages.get(key)?.id ?? "");
  }

  /** Finds out what became of a message in flight. Before anything else is done; mostly there is nothing to do. */
  async settle(): Promise<void> {
    const flight = this.#flight;
    if (!flight) return;
    const id = flight.id ?? (await this.#look(flight));
    if (id !== undefined) {
      flight.id = id;
      return this.#note(flight.key, id, undefined);
    }
    this.#flight = undefined;
    this.#notFound = flight;
  }

  /**
   * Sends a message that has none yet, once {@link settle} has resolved.
   * @param shows what it will show, as `shownBy` says.
   * @returns false if it was deleted before it was known: to be sent again.
   */
  async send(key: string, message: Omit<OutgoingMessage, "nonce">, shows: string): Promise<boolean> {
    const { api, threadId, findNewest, isShared, isReused } = this.#options;
    const tried = this.#notFound?.key === key ? this.#notFound : undefined;
    const nonce = tried?.nonce ?? randomBytes(15).toString("base64url");
    // Asked before the intent is noted: what is sent after it is newer. Not again for a second try: Discord may have
    // made the message of the first one late.
    const isUnsure = isShared || (isReused && this.#messages.size === 0);
    if (isUnsure && !tried) this.#noteNewest((await findNewest()) ?? "");
    const flight: Flight = { key, after: this.#newest, nonce };
    await this.#put(key, { after: flight.after, nonce });
    this.#flight = flight;
    this.#deletedInFlight.clear();
    this.#notFound = undefined;
    let sent: { id: string; content: string };
    try {
      sent = await api.send(threadId, { ...message, nonce });
    } catch (error) {
      if (findRefusal(error) !== "unknown message") throw error;
      // Discord's answer to a nonce whose message was deleted.
      this.#flight = undefined;
      return false;
    }
    flight.id = sent.id;
    // A nonce may bring back what an earlier try made, with the text of then.
    await this.#note(key, sent.id, sent.content === message.content ? shows : undefined);
    return true;
  }

  /** @param shows undefined while it is not known. */
  noteEdit(key: string, shows: string | undefined): void {
    const message = this.#messages.get(key);
    if (message) this.#messages.set(key, { ...message, shows, isFromBefore: false });
  }

  /**
   * Discord says that a message is gone. Others may be gone as well: a relay that died had no time to forget what it
   * had deleted.
   * @returns the keys of all that are gone, the newest first.
   */
  async findGone(key: string): Promise<string[]> {
    const { api, threadId } = this.#options;
    const id = this.#messages.get(key)?.id;
    if (id === undefined) return [];
    const there = new Set<string>((await api.listMessagesAfter(threadId, id)).map((message) => message.id));
    const gone = [...this.#messages].filter(
      ([, message]) => compareIds(message.id, id) >= 0 && !there.has(message.id) && !message.isGone,
    );
    return gone.sort(([, a], [, b]) => compareIds(b.id, a.id)).map(([other]) => other);
  }

  /** A person deleted it. The newest one is sent anew; the place of another one stays empty. */
  noteGone(key: string, isNewest: boolean): void {
    const message = this.#messages.get(key);
    if (!message) return;
    if (isNewest) this.#messages.delete(key);
    else this.#messages.set(key, { ...message, isGone: true, isDeleted: false });
  }

  /** The row is not needed any more; the sidecar forgets it with the next write. */
  forget(key: string): void {
    if (this.#messages.delete(key)) this.#stale.add(key);
  }

  /** Forgets what is not needed, but for the newest row: what is not known is newer than that. */
  prune(isNeeded: (key: string) => boolean): void {
    const newest = [...this.#messages].reduce(
      (best, [key, { id }]) => (compareIds(id, best.id) > 0 ? { key, id } : best),
      { key: "", id: "" },
    );
    for (const key of [...this.#messages.keys()]) {
      if (key !== newest.key && !isNeeded(key)) this.forget(key);
    }
  }

  async #note(key: string, id: string, shows: string | undefined): Promise<void> {
    await this.#put(key, { messageId: id });
    this.#messages.set(key, { id, shows, isGone: false });
    this.#noteNewest(id);
    this.#flight = undefined;
  }

  async #put(key: string, note: MessageRequest): Promise<void> {
    this.#stale.delete(key);
    const forget = [...this.#stale];
    await this.#options.put(key, { ...note, forget });
    for (const old of forget) this.#stale.delete(old);
  }

  /**
   * Lists an earlier process's messages that nobody has read since, the oldest first: they may show something else, or
   * be gone.
   */
  unread(keys: readonly string[]): Unread[] {
    const { mayChange = () => true } = this.#options;
    return keys
      .flatMap((key) => {
        const message = this.#messages.get(key);
        const { isFromBefore, isGone } = message ?? {};
        return message && isFromBefore && !isGone && mayChange(key) ? [{ key, id: message.id }] : [];
      })
      .sort((a, b) => compareIds(a.id, b.id));
  }

  /**
   * Reads what messages show, before any of them is edited: an edit of one that is gone would find that out as well,
   * and would be made anew by each process that dies before it has noted so. Messages of others between ours are not
   * read through: a hundred are read from each message on that is not known by then.
   */
  async read(unread: readonly Unread[]): Promise<void> {
    const { api, threadId } = this.#options;
    for (let rest = unread, [oldest] = rest; oldest; [oldest] = rest) {
      const page = await api.listMessagesAfter(threadId, String(BigInt(oldest.id) - 1n), 1);
      const last = page.at(-1)?.id;
      const isRead = ({ id }: Unread) => last === undefined || compareIds(id, last) <= 0;
      const byId = new Map<string, DiscordMessage>(page.map((message) => [message.id, message]));
      for (const { key, id } of rest.filter(isRead)) {
        const message = byId.get(id);
        if (message) this.noteEdit(key, shownIn(message));
        else this.noteDeleted(id);
      }
      rest = rest.filter((one) => !isRead(one));
    }
  }

  async #look({ after }: Flight): Promise<string | undefined> {
    const { api, threadId, botId } = this.#options;
    const known = new Set([...this.#messages.values()].map(({ id }) => id));
    const messages = await api.listMessagesAfter(threadId, after);
    return messages.find((message) => isSentBy(botId, message) && !known.has(message.id))?.id;
  }

  #noteNewest(id: string): void {
    if (compareIds(id, this.#newest) > 0) this.#newest = id;
  }
}

const buttonRowsSchema = z.array(
  z.object({
    components: z.array(
      z
        .object({ custom_id: z.string(), label: z.string().optional(), placeholder: z.string().optional() })
        .transform(({ custom_id: id, label, placeholder }) => ({ id, label: label ?? placeholder ?? "" })),
    ),
  }),
);

/** What a message shows, to be compared with what it should; undefined if it holds what we do not make. */
function shownIn({ content, components }: DiscordMessage): string | undefined {
  const rows = buttonRowsSchema.safeParse(components).data;
  const buttons = rows?.flatMap((row) => row.components);
  return buttons && shownBy({ text: content, buttons });
}

/** A plain message or a reply (types 0 and 19) of the bot's own, no answer to a command or button. */
export function isSentBy(botId: string, message: DiscordMessage): boolean {
  const isPlain = message.type === 0 || message.type === 19;
  return isPlain && message.author.id === botId && message.interaction_metadata === undefined;
}
