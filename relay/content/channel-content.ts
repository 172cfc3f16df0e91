/** What the bot keeps in its channel: what needs people, and how the threads stand that messages there began. */
import type { InboxItem } from "../../shared/agent/api.ts";
import { type DiscordId, knownDiscordId, type ThreadName } from "../../shared/ids.ts";
import type { LedgerRow } from "../../shared/ledger-api.ts";
import type { Thread } from "../sidecar/names.ts";
import type { Content, ContentMark, Notice, Page } from "./content.ts";
import { InboxContent } from "./inbox-content.ts";
import { channelStatus, channelWords } from "./lists/channel.ts";

const STATUS = "status.";
const WORDS = "words.";

/** A thread that a message of the channel began. */
export interface ChannelThread {
  /** The message's too. */
  readonly threadId: DiscordId;
  /** Null if the VM does not know it any more. */
  readonly thread: Thread | null;
  /** Nothing will change any more. */
  readonly isOver: boolean;
  /** Turns that have ended since those that were told. */
  readonly ends: readonly { seq: number; words: string }[];
}

export interface ChannelNews {
  readonly items: readonly InboxItem[];
  readonly threads: readonly ChannelThread[];
}

export interface ChannelContentOptions {
  /** The ledger's. */
  rows: readonly LedgerRow[];
  /** Who may use the bot. */
  isAllowed: (userId: string) => boolean;
  /** Whether a thread is one of those that the channel still tells of. */
  isKept: (threadId: ThreadName) => boolean;
  waitScale?: number | undefined;
}

export class ChannelContent implements Content<ChannelNews> {
  readonly offset = 0;
  readonly eventCount = 0;
  readonly #inbox: InboxContent;
  readonly #isKept: (threadId: ThreadName) => boolean;
  /** The pages that are not confirmed, by key. */
  readonly #pages = new Map<string, Page>();
  /** Keys of pages that may have a message already. */
  readonly #begun = new Set<string>();
  /** The last turn whose words stand in the channel, by thread. */
  readonly #told = new Map<ThreadName, number>();
  /** How often a page came to stand as it stays. */
  #confirmations = 0;

  constructor({ rows, isAllowed, isKept, waitScale }: ChannelContentOptions) {
    const keys = rows.map(({ key }) => key);
    this.#inbox = new InboxContent(keys, isAllowed, waitScale);
    this.#isKept = isKept;
    // What was only begun to be sent may not be there: it is listed again.
    for (const { key, messageId } of rows) if (messageId !== null) this.#noteTold(key);
  }

  /** Up to this event of the thread the channel has been told. */
  toldUpTo(threadId: ThreadName): number {
    return this.#told.get(threadId) ?? 0;
  }

  async accept({ items, threads }: ChannelNews, now: number): Promise<void> {
    await this.#inbox.accept(items, now);
    for (const { threadId, thread, isOver, ends } of threads) {
      this.#set(`${STATUS}${threadId}`, {
        threadId,
        text: channelStatus(threadId, thread),
        isSealed: isOver,
      });
      this.#tellEnd(threadId, ends.at(-1));
    }
  }

  /** The newest end alone: a channel takes five messages in five seconds, and the thread tells all. */
  #tellEnd(threadId: DiscordId, end: ChannelThread["ends"][number] | undefined): void {
    if (!end || end.seq <= this.toldUpTo(threadId)) return;
    const text = channelWords(threadId, end.words);
    if (text === "") return;
    const isOvertaken = (key: string) => parseWords(key)?.threadId === threadId && !this.#begun.has(key);
    for (const key of [...this.#pages.keys()].filter(isOvertaken)) this.#pages.delete(key);
    this.#set(`${WORDS}${threadId}.${end.seq}`, { threadId, text, isSealed: true });
  }

  pages(now: number): readonly Page[] {
    this.#forgetOld();
    return [...this.#inbox.pages(now), ...this.#pages.values()];
  }

  confirm(keys: readonly string[]): void {
    for (const key of keys) {
      this.#begun.delete(key);
      if (!this.#pages.delete(key)) continue;
      this.#noteTold(key);
      this.#confirmations += 1;
    }
  }

  /** What the channel does not tell of any more: its message stays as it is. */
  #forgetOld(): void {
    const threadOf = (key: string) =>
      key.startsWith(STATUS) ? knownDiscordId.parse(key.slice(STATUS.length)) : parseWords(key)?.threadId;
    const isKept = (threadId?: DiscordId) => threadId !== undefined && this.#isKept(threadId);
    for (const key of [...this.#pages.keys()].filter((key) => !isKept(threadOf(key)))) {
      this.#pages.delete(key);
      this.#begun.delete(key);
    }
    for (const threadId of [...this.#told.keys()].filter((id) => !this.#isKept(id)))
      this.#told.delete(threadId);
  }

  roll(): "edit" {
    return "edit";
  }

  begin(key: string): void {
    this.#begun.add(key);
  }

  breakPage(): void {}
  settle(): void {}
  told(): void {}

  notices(): readonly Notice[] {
    return [];
  }

  /** Another one after each page that is done: then the ledger forgets rows that are needed no more. */
  mark(): ContentMark & { confirmations: number } {
    return { offset: this.offset, confirmations: this.#confirmations };
  }

  /** Words and ends stay as they were said. */
  mayChange(key: string): boolean {
    return !key.startsWith(WORDS);
  }

  /** The newest message about a thread says what need not be said again. */
  isNeeded(key: string): boolean {
    const words = parseWords(key);
    if (words) return this.#isKept(words.threadId) && words.seq >= this.toldUpTo(words.threadId);
    return !key.startsWith(STATUS) || this.#isKept(knownDiscordId.parse(key.slice(STATUS.length)));
  }

  #set(key: string, { threadId, text, isSealed }: { threadId: DiscordId; text: string; isSealed: boolean }) {
    this.#pages.set(key, {
      key,
      text,
      buttons: [],
      replyTo: threadId,
      isSilent: true,
      isSealed,
      presence: "wanted",
      isAside: true,
      notBefore: 0,
    });
  }

  #noteTold(key: string): void {
    const words = parseWords(key);
    if (words) this.#told.set(words.threadId, Math.max(words.seq, this.toldUpTo(words.threadId)));
  }
}

function parseWords(key: string): { threadId: DiscordId; seq: number } | undefined {
  const [, threadId, seq] = /^words\.(\d+)\.(\d+)$/.exec(key) ?? [];
  return threadId === undefined ? undefined : { threadId: knownDiscordId.parse(threadId), seq: Number(seq) };
}
