/** One agent thread as the sidecar holds it: what is in its inbox, and what its transcript comes to. */

import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { owesAnswer } from "../../shared/agent/fold-voice.ts";
import type { InboxLine } from "../../shared/agent/inbox.ts";
import { maySleep } from "../../shared/agent/place-order.ts";
import { nextStep } from "../../shared/agent/rescue.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { type FoundMessage, Inbox, type ToldChildren } from "./inbox.ts";
import type { Projection } from "./projection.ts";
import { findCalls, readEvents, transcriptSize } from "./transcript.ts";

export interface AgentThreadOptions {
  threadId: ThreadId;
  folder: string;
  /** As it is stored. */
  fold: ThreadFold;
  transcriptBytes: number;
  projection: Projection;
  log: Log;
}

export class AgentThread {
  readonly threadId: ThreadId;
  readonly folder: string;
  readonly #options: AgentThreadOptions;
  readonly #inbox: Inbox;
  #fold: ThreadFold;
  #end: number;
  /** How far the rows are made anew; what was shown before is shown until they are. */
  #anew: { fold: ThreadFold; end: number } | undefined;

  constructor(options: AgentThreadOptions) {
    this.threadId = options.threadId;
    this.folder = options.folder;
    this.#options = options;
    this.#inbox = new Inbox(options.folder);
    this.#fold = options.fold;
    this.#end = options.transcriptBytes;
  }

  /** What the transcript comes to, as far as it was read by {@link refresh}. */
  get fold(): ThreadFold {
    return this.#fold;
  }

  /** So far the transcript is on the disk for good, stored, and may be shown. */
  get transcriptEnd(): number {
    return this.#end;
  }

  /** @returns where the last of them begins in the inbox */
  append(lines: readonly InboxLine[]): number {
    return this.#inbox.append(lines);
  }

  /** The ids of all messages in its inbox. */
  get messageIds(): ReadonlySet<string> {
    return this.#inbox.messageIds();
  }

  hasMessage(messageId: string): boolean {
    return this.messageIds.has(messageId);
  }

  /** Whether anybody has written to it. A branch may wait for its first message. */
  get hasMessages(): boolean {
    return this.#inbox.messageIds().size > 0;
  }

  /** As the inbox tells: the transcript comes later. */
  /** When a person has written last, in milliseconds since 1970; undefined if none has. */
  get lastPersonAt(): number | undefined {
    return this.#inbox.lastPersonAt();
  }

  get children(): ToldChildren {
    return this.#inbox.children();
  }

  hasEvent(...what: Parameters<Inbox["hasEvent"]>): boolean {
    return this.#inbox.hasEvent(...what);
  }

  /** A message as its writer left it last: `text` is null once it was taken back. Undefined if there is none. */
  findMessage(messageId: string): FoundMessage | undefined {
    return this.#inbox.findMessage(messageId);
  }

  /** Messages that lie in the inbox and that the runner has not read yet. */
  get unreadMessages(): number {
    return this.#unread().filter(({ op }) => op === "message").length;
  }

  /** Whether its runner has not read this message yet. */
  hasUnread(messageId: string): boolean {
    return this.#unread().some((line) => line.op === "message" && line.messageId === messageId);
  }

  /** Whether a notice of these words lies in the inbox and its runner has not read it yet. */
  hasUnreadNotice(title: string): boolean {
    return this.#unread().some(
      (line) => line.op === "event" && line.event.type === "notice" && line.event["title"] === title,
    );
  }

  /** How many of the unread messages a person has to let in. */
  get unreadHeld(): number {
    return this.#unread().filter((line) => line.op === "message" && line.held !== undefined).length;
  }

  /** Whether an answer to this request lies in the inbox and has not been read yet. */
  hasUnreadAnswer(requestId: string, fold = this.#fold): boolean {
    return this.#unread(fold).some(
      (line) => (line.op === "permission" || line.op === "elicitation") && line.requestId === requestId,
    );
  }

  /** Whether a person holds the thread, as far as the inbox tells. */
  get isPaused(): boolean {
    const last = this.#unread().findLast(({ op }) => op === "pause" || op === "resume");
    return last === undefined ? this.#fold.isPaused : last.op === "pause";
  }

  /** Text from outside is in its context, or will be, as far as the inbox tells. */
  get marked(): { why: string } | undefined {
    const last = this.#unread().findLast(({ op }) => op === "mark" || op === "unmark");
    if (last === undefined) return this.#fold.marked;
    return last.op === "mark" ? last : undefined;
  }

  /** Nothing lies in the inbox that the runner has not read. */
  get isSettled(): boolean {
    return this.#unread().length === 0;
  }

  #unread(fold = this.#fold): InboxLine[] {
    return this.#inbox.unread(fold.lastInboxId?.byte);
  }

  /**
   * Reads and stores the next of what the runner has written: some milliseconds' work. All of it is read anew if the
   * rows do not fit the transcript.
   * @returns whether there is anything new to show, and whether more may be left to read.
   */
  refresh(): { isNew: boolean; isMore: boolean } {
    const { projection, log } = this.#options;
    const size = transcriptSize(this.folder);
    if (!this.#anew && (size < this.#end || !projection.fits(this.threadId, this.#fold, this.#end))) {
      log.warn(
        { threadId: this.threadId },
        "the rows of an agent thread do not fit its transcript; making them anew",
      );
      this.#anew = { fold: projection.reset(this.threadId), end: 0 };
    }
    if (this.#anew?.end === 0 && projection.removeSome(this.threadId)) return { isNew: false, isMore: true };
    const from = this.#anew ?? { fold: this.#fold, end: this.#end };
    projection.recall(this.threadId, from.fold, (ids) => findCalls(this.folder, from.end, ids));
    const onForeign = (byte: number, error: unknown) =>
      log.warn({ threadId: this.threadId, byte, err: error }, "a line of a transcript is no event");
    const read = readEvents(this.folder, from.end, onForeign);
    if (!read && !this.#anew) return { isNew: false, isMore: false };
    const { events, end } = read ?? { events: [], end: from.end };
    const isWhole = !read || end >= this.#end;
    const fold = projection.apply(this.threadId, {
      fold: from.fold,
      events,
      newFrom: this.#end,
      isAnswered: (requestId, fold) => this.hasUnreadAnswer(requestId, fold),
      ...(isWhole && { transcriptBytes: end }),
    });
    this.#anew = isWhole ? undefined : { fold, end };
    if (!isWhole) return { isNew: false, isMore: true };
    this.#fold = fold;
    this.#end = end;
    return { isNew: true, isMore: end < size };
  }

  /** It waits for a place and for nothing else: until it is near the front of the queue, no runner is needed. */
  get isAsleep(): boolean {
    return maySleep(this.#fold) && !this.#inbox.hasLineAfter(this.#fold.lastInboxId?.byte);
  }

  /** Whether a runner has something to do, without anybody doing anything further. */
  needsRunner(nowMs: number): boolean {
    const { lastInboxId, engine, pending } = this.#fold;
    if (pending.undo) return true; // a runner that was killed has not put all files back
    if (this.#inbox.hasLineAfter(lastInboxId?.byte)) return true;
    if (engine?.isUp) return true; // it ends an engine that has nothing to do, and notices one that died
    return owesAnswer(this.#fold) || nextStep(this.#fold, nowMs) !== "rest";
  }
}
