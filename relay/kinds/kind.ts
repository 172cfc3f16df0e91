/**
 * What the relay does for each kind of thread in its own way. All other code treats threads alike and asks the thread
 * (`thread.kind`), or its facts in `shared/kinds.ts`; it never looks at the type.
 */
import type { OutputsReply, ThreadStatus } from "../../shared/api.ts";
import type { DiscordId } from "../../shared/ids.ts";
import type { KindFacts, ThreadType } from "../../shared/kinds.ts";
import type { LedgerRow } from "../../shared/ledger-api.ts";
import type { Log } from "../../shared/log.ts";
import type { ThreadDelivery } from "../delivery/thread-delivery.ts";
import type { DiscordApi } from "../discord/api.ts";
import type { Budget } from "../discord/budget.ts";
import type { DiscordMessage } from "../discord/message-schema.ts";
import type { Attachment } from "../discord/person-message.ts";
import type { Refusal } from "../discord/refusals.ts";
import type { ThreadInDiscord } from "../sidecar/names.ts";
import type { Source, Vm, VmThread } from "../sidecar/vm.ts";

export interface RelayKind {
  readonly type: ThreadType;
  /** As the threads of the kind tell it, if it is none of those that come with threadmux. */
  readonly facts?: KindFacts;
  open(options: LiveThreadOptions): LiveThread;
  readonly reading: Reading;
  /** While such a thread works it is read at least every so many milliseconds; infinite: no oftener than any other. */
  readonly readMs: number;
  /**
   * What a person's message becomes for the sidecar, part by part; none if nothing of it can go in.
   * @param attach puts files where the thread's program finds them, and says what they are called there
   */
  inputsOf(
    message: DiscordMessage,
    words: Words,
    attach: (files: readonly Attachment[]) => Promise<string[]>,
  ): Promise<MessageInput[]>;
}

/** How the parts of a person's message are read. */
export interface Reading {
  /** The words of what was forwarded. */
  forwarded(text: string): string;
  /** Whether a file's words go in, if it holds words. */
  isWords(file: Attachment): boolean;
  /** Whether a file that is no UTF-8 goes in as a file. */
  takesFiles: boolean;
  /** Which files do not go in, of those that are no words. */
  leavesOut(file: Attachment): boolean;
  /** For a person, before the list of what was left out. @param hasOthers whether that holds more than files */
  leftOut(hasOthers: boolean): string;
  /** For a person whose message holds nothing that can go in. */
  nothing: string;
}

/** What a person's message holds. */
export interface Words {
  /** What was written, then the text files, each by itself. */
  texts: string[];
  /** Some of them come from a file, or from who wrote what was forwarded. */
  isPlain: boolean;
  /** Files that are no words. */
  rest: Attachment[];
}

export interface MessageInput {
  text: string;
  plain?: boolean;
  attachments?: string[];
  paste?: boolean;
  enter?: boolean;
}

/** What others do with a delivery, whatever it delivers. */
export type Delivery = Omit<ThreadDelivery<never>, "accept">;

/** A part of the sidecar's reply, of either kind. */
export interface News {
  readonly status: ThreadStatus;
  /** There is more to read at once. */
  readonly more: boolean;
  /** The thread's title at the sidecar, if the reply has it. */
  readonly title?: string | undefined;
}

export interface LiveThread {
  readonly threadId: DiscordId;
  /** The channel that this is in; undefined if nobody has said. */
  readonly channelId: DiscordId | undefined;
  readonly kind: RelayKind;
  readonly vm: VmThread;
  readonly delivery: Delivery;
  /** What of it is read: a terminal's log, an agent's transcript. */
  readonly source: Source;
  /** Its own part of a reply for many threads; undefined if the sidecar has no such thread. */
  find(replies: OutputsReply): News | undefined;
  /**
   * Takes that part, if it was read from where the content goes on and nothing else is being taken: of two who read
   * side by side (the poller, and whoever ends the thread) one comes first.
   * @param offset from where it was read.
   * @returns whether it was taken.
   */
  accept(replies: OutputsReply, offset: number): Promise<boolean>;
  /** A person presses a key, by tmux's name. @throws AppError */
  pressKey(key: string, userId: string): Promise<void>;
  /** True while somebody ends the thread, who tells it themselves. */
  setEndSilent(isSilent: boolean): void;
  /** The name that the sidecar has. */
  title: string;
  /** The status that the sidecar told last. */
  status: ThreadStatus;
  /** Why nothing is streamed now; undefined while all is well. */
  paused: string | undefined;
  /** There was more to read last time. */
  hasMore: boolean;
}

export interface LiveThreadOptions {
  thread: ThreadInDiscord;
  /** Its ledger. */
  rows: readonly LedgerRow[];
  /** Whose share of the request budget it takes, by who began it. */
  ownerOf: (createdBy: string) => string;
  vm: Vm;
  api: DiscordApi;
  budget: Budget;
  botId: string;
  isAnsi: boolean;
  log: Log;
  now: () => number;
  waitScale?: number | undefined;
  onRefused: (refusal: Refusal) => void;
}
