/** What a thread shows, as messages: the one interface between what a thread is about and its delivery. */
import type { Button, Select } from "../actions/frame/controls.ts";

/** One message as its sender sees it. */
export interface MessageText {
  /** Discord's markdown: never empty, at most 2,000 characters, no blanks at its ends (Discord trims them). */
  readonly text: string;
  readonly buttons: readonly Button[];
  /** Above the buttons. */
  readonly selects?: readonly Select[];
  /** The one user whom the message notifies when it is sent. Edits notify nobody. */
  readonly mention?: string;
  /** The message that it answers. */
  readonly replyTo?: string;
  /** Discord notifies nobody of it, not even those who follow every message of the thread. */
  readonly isSilent?: boolean;
  /**
   * The thread's attachment that the message brings. It is sent with the message and never changed, but for {@link
   * renewsFile}.
   */
  readonly file?: string;
  /** The file is read and sent anew with each edit. */
  readonly renewsFile?: boolean;
}

/** One message as it should be now. */
export interface Page extends MessageText {
  /**
   * The message's name in the ledger. It belongs to this page for ever and never to another one. At most 64
   * characters of A-Z, a-z, 0-9, `.`, `_` and `-`.
   */
  readonly key: string;
  /** As a message's; empty if it stays as it is, and only the buttons change. Such a page is `kept`. */
  readonly text: string;
  /** Sealed: it will not change any more. Otherwise it is live: edited in place. */
  readonly isSealed: boolean;
  /**
   * `wanted`: it is sent if there is no message of it. `kept`: a message that is there is edited, none is sent.
   * `unwanted`: a message that is there is deleted.
   */
  readonly presence: "wanted" | "kept" | "unwanted";
  /**
   * An aside belongs to no place between the other pages (the picture of a full-screen program): they may be sent
   * below it.
   */
  readonly isAside: boolean;
  /** It is not sent before this time; in milliseconds since 1970. What is sent by then may make it needless. */
  readonly notBefore: number;
}

/** Something to tell once, in a new message below everything else. It is never edited. */
export interface Notice extends MessageText {
  /** As a page's. */
  readonly key: string;
}

/** What the content needs after a restart, as plain JSON. `offset`: where it reads on. */
export interface ContentMark {
  readonly offset: number;
}

/**
 * What a thread is about: a log, or an agent's transcript. It knows nothing of Discord's messages but their keys.
 * The delivery asks it for pages, sends or edits what differs, and tells it what it did:
 *
 * - `begin` before a page is sent: from now on a message of that key may exist, whatever happens.
 * - `confirm` when sealed pages are delivered as they will stay: they need not be listed any more.
 */
export interface Content<Reply> {
  /** Where the next reply begins, in bytes. */
  readonly offset: number;
  /**
   * Counts what decides about pages and is known nowhere but here (a person's message, another size, a gap). The
   * mark must know of it before the next page is sent: otherwise a restart would find other pages.
   */
  readonly eventCount: number;
  /**
   * Takes what was read from {@link offset} on. One call at a time. Once `signal` fires it takes no more of it:
   * {@link offset} says where it stopped.
   */
  accept(reply: Reply, now: number, signal: AbortSignal): Promise<void>;
  /** A person wrote: what comes from now on stands below their message. */
  breakPage(): void;
  /**
   * The pages that are not confirmed, in the order in which a person reads them; only the first of many, see
   * {@link isCut}.
   * @param room so many new messages Discord takes in the next moments. What a flood leaves is made to fit.
   */
  pages(now: number, room?: number): readonly Page[];
  /** True if more pages wait than {@link pages} listed: they are listed once those are confirmed. */
  readonly isCut?: boolean;
  begin(key: string): void;
  /** @param keys sealed pages of the last {@link pages} whose messages are as they will stay. */
  confirm(keys: readonly string[]): void;
  /** A person's message that has reached its reader, and that nobody was told of yet. */
  receipt?(): string | undefined;
  receipted?(messageId: string): void;
  /** Everything that {@link pages} listed last is as it was listed. */
  settle(): void;
  /**
   * The live page's message is so old that Discord hardly lets it be edited. `moved`: the page has been sealed as
   * it is, as far as it can be; list the pages again. `replace`: delete the message and send it anew. `edit`: edit it
   * all the same.
   */
  roll(key: string): "moved" | "replace" | "edit";
  /** What is to be told once all pages are delivered. */
  notices(now: number): readonly Notice[];
  told(notice: Notice, now: number): void;
  /** From here a new process goes on. Undefined if there is no mark that fits. */
  mark(): ContentMark | undefined;
  /** Whether, after a restart from `mark`, this key can be listed again. The ledger forgets the others. */
  isNeeded(key: string, mark: ContentMark): boolean;
}
