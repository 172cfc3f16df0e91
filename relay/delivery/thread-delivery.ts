/** One thread's content on its way to Discord: what it shows becomes messages, each of them exactly once. */
import type { DiscordId } from "../../shared/ids.ts";
import type { LedgerRow, MessageRequest } from "../../shared/ledger-api.ts";
import type { Log } from "../../shared/log.ts";
import type { Content, ContentMark, Notice, Page } from "../content/content.ts";
import { compareIds, type DiscordApi, type OutgoingFile, snowflakeTime } from "../discord/api.ts";
import type { Budget } from "../discord/budget.ts";
import type { Refusal } from "../discord/refusals.ts";
import type { DeliveryPlace } from "./delivery-mark.ts";
import { FirstLook } from "./first-look.ts";
import { Ledger, POST } from "./ledger.ts";
import { MarkKeeper } from "./mark-keeper.ts";
import { MessageWriter } from "./message-writer.ts";
import type { Post } from "./outgoing.ts";
import { Pace } from "./pace.ts";
import { deleteNewest, isNewest, type PageAction, planPages } from "./plan.ts";
import { Posts, type WaitingPost } from "./posts.ts";
import { type NextStep, Pump, type Step } from "./pump.ts";
import { nextReceipt } from "./receipt-step.ts";

/** Edits of messages older than an hour are throttled hard (3 in 6 s): a new page is begun before. */
const MAX_LIVE_AGE_MS = 50 * 60_000;
/** What can be sent by then is as good as sent now. */
const SOON_MS = 1_000;
/** No page is held back for longer. */
const LONGEST_WAIT_MS = 10_000;
/** How many of the newest posts stay in the ledger, so that they are not sent again after a restart. */
const KEPT_POSTS = 20;
/** In a channel many messages may be answered while an older one, that is not taken care of yet, holds the mark. */
const KEPT_SHARED_POSTS = 100;

export interface ThreadDeliveryOptions<Reply> {
  /** Where the messages stand: a thread, or a channel. */
  threadId: DiscordId;
  /** The thread's channel; not set if this is the delivery of a channel. */
  parentId?: DiscordId | undefined;
  /** True for a channel, where others write too: the messages between ours are never read through. */
  isShared?: boolean;
  /** False of pages whose messages stay as they are. */
  mayChange?: (key: string) => boolean;
  /** Another thread stood there before, whose messages no row knows. */
  isReused?: boolean;
  content: Content<Reply>;
  rows: readonly LedgerRow[];
  /** Up to this message all are taken care of. */
  seen: string;
  /** The keys of messages that an earlier process found deleted ({@link Ledger.gone}). */
  gone?: readonly string[] | undefined;
  /** Whose share of the request budget it takes. */
  owner: () => string;
  putMark: (mark: ContentMark & DeliveryPlace) => Promise<void>;
  putMessage: (key: string, note: MessageRequest) => Promise<void>;
  api: DiscordApi;
  /** An attachment of the thread; undefined if it is gone. */
  readFile?: (name: string) => Promise<OutgoingFile | undefined>;
  budget: Budget;
  botId: string;
  log: Log;
  now: () => number;
  editIntervalMs?: number;
  /** Scales the waits between messages and edits; 1 by default. */
  waitScale?: number | undefined;
  /** The Discord thread can't be written to now. */
  onRefused: (refusal: Refusal) => void;
}

/** A mark, and of how many events of the content it knows. */
interface Kept {
  readonly mark: ContentMark & DeliveryPlace;
  readonly eventCount: number;
}

export class ThreadDelivery<Reply> {
  readonly #options: ThreadDeliveryOptions<Reply>;
  readonly #ledger: Ledger;
  readonly #firstLook: FirstLook;
  readonly #writer: MessageWriter;
  readonly #keeper: MarkKeeper<Kept>;
  readonly #pump: Pump;
  readonly #pace: Pace;
  readonly #stop = new AbortController();
  readonly #posts = new Posts();
  #seen: string;
  #isAccepting = false;
  /** The mark may say something new. Not after a start: hundreds that are kept at once would hold up all streams. */
  #hasNews = false;
  /** How many events the sidecar's mark knows. */
  #keptEvents: number;

  constructor(options: ThreadDeliveryOptions<Reply>) {
    const { threadId, content, rows, api, budget, owner, log, now } = options;
    this.#options = options;
    this.#pace = new Pace(options.editIntervalMs, options.waitScale);
    this.#seen = options.seen;
    this.#keptEvents = content.eventCount;
    this.#ledger = new Ledger({
      ...options,
      put: options.putMessage,
      findNewest: async () => (await api.findChannel(threadId))?.lastMessageId,
    });
    this.#firstLook = new FirstLook({ ...options, ledger: this.#ledger });
    this.#writer = new MessageWriter({ ...options, ledger: this.#ledger });
    for (const { messageId } of rows) if (messageId !== null) this.#pace.noteSend(snowflakeTime(messageId));
    this.#keeper = new MarkKeeper({
      make: () => this.#makeMark(),
      put: ({ mark }) => options.putMark(mark),
      onKept: (kept) => this.#onKept(kept),
      log,
    });
    this.#pump = new Pump({
      prepare: () => this.#ledger.settle(),
      next: () => this.#next(),
      onIdle: (hasStepped) => {
        if (hasStepped || this.#hasNews) this.#keeper.soon();
        this.#hasNews = false;
      },
      onRefused: (refusal, error) => {
        this.#posts.fail(error);
        options.onRefused(refusal);
      },
      comeBack: () => this.#comeBack(),
      ...{ budget, owner, threadId, log, now },
    });
  }

  /** Where the next output is read from. */
  get offset(): number {
    return this.#options.content.offset;
  }

  /** Up to here all messages are taken care of; what people wrote after it may still have to go in. */
  get seen(): string {
    return this.#seen;
  }

  get isAccepting(): boolean {
    return this.#isAccepting;
  }

  /** Takes what was read from {@link offset} on. One call at a time: look at {@link isAccepting}. */
  async accept(reply: Reply): Promise<void> {
    const { content, now } = this.#options;
    const { offset, eventCount } = content;
    this.#isAccepting = true;
    try {
      await content.accept(reply, now(), this.#stop.signal);
    } finally {
      this.#isAccepting = false;
    }
    // A reply that tells of another thread's news has an empty part for this one.
    this.#hasNews ||= content.offset !== offset || content.eventCount !== eventCount;
    this.#pump.wake(content.offset !== offset && this.#firstLook.noteMoved());
  }

  /**
   * A message of the thread has been taken care of: after a restart it is not looked at again. A person's is noted
   * at once: found again after ten minutes, they would be asked about it.
   */
  noteSeen(messageId: string, isFromPerson: boolean): void {
    if (compareIds(messageId, this.#seen) <= 0) return;
    this.#seen = messageId;
    if (isFromPerson) void this.#keeper.now();
    else this.#keeper.soon();
  }

  /** Begins, or goes on after a time in which the Discord thread took nothing. */
  resume(): void {
    this.#pump.wake(true);
  }

  /** A message was deleted: it is looked at again. If it was the newest page, it gets a successor. */
  noteDeleted(messageId: string): void {
    if (this.#ledger.noteDeleted(messageId)) this.#pump.wake(true);
  }

  /** A person wrote: what comes from now on stands below their message. */
  breakPage(): void {
    this.#options.content.breakPage();
    this.#pump.wake(true);
  }

  /**
   * Says something, before everything else that waits. The same key a second time, also after a restart, says it
   * once.
   * @throws what Discord refuses with, or Error if the delivery is closed.
   */
  say(name: string, post: Post): Promise<void> {
    const said = this.#posts.add(POST + name, post);
    this.#pump.wake(true);
    return said;
  }

  /** Resolves when everything known so far has been delivered, or after `deadlineMs`. */
  flush(deadlineMs: number): Promise<void> {
    return this.#pump.flush(deadlineMs);
  }

  /** Stops; what is not delivered yet is delivered after the next start. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#pump.close();
    this.#posts.close();
    await this.#keeper.close();
  }

  #next(): NextStep {
    const post = this.#posts.next((key) => this.#ledger.find(key) !== undefined);
    const { content, now } = this.#options;
    if (post) return { at: this.#pace.nextSendAt(now()), run: () => this.#sendPost(post) };
    const pages = this.#pages();
    const look = this.#firstLook.next(pages);
    if (look) return look;
    const { actions, delivered } = planPages({ pages, ...this.#view() });
    content.confirm(delivered);
    const lost = pages.find(({ key }) => !delivered.includes(key) && this.#ledger.find(key)?.isDeleted);
    // It is decided before anything is sent below its place.
    if (lost) return { at: 0, run: () => this.#noteGone(lost.key) };
    const steps = actions.map((action) => ({ at: this.#timeOf(action), action }));
    const ready = steps.find(({ at }) => at <= now());
    const sooner = ready ? undefined : nextReceipt(this.#options);
    if (sooner) return sooner;
    const next = ready ?? steps.reduce((a, b) => (a && a.at <= b.at ? a : b), steps[0]);
    if (!next) return content.isCut && delivered.length > 0 ? "again" : this.#nextNotice();
    if (next.action.kind !== "roll") return { at: next.at, run: () => this.#perform(next.action) };
    return this.#roll(next.action, pages);
  }

  #nextNotice(): Step | undefined {
    const { content, now } = this.#options;
    content.settle();
    for (const notice of content.notices(now())) {
      if (!this.#ledger.find(notice.key)) {
        return { at: this.#pace.nextSendAt(now()), run: () => this.#sendNotice(notice) };
      }
      content.told(notice, now());
    }
    return undefined;
  }

  #roll(action: Extract<PageAction, { kind: "roll" }>, pages: readonly Page[]): NextStep {
    const { key } = action.page;
    const how = this.#options.content.roll(key);
    if (how === "moved") return this.#next();
    const view = this.#view();
    const instead: PageAction =
      how === "edit" ? { ...action, kind: "edit" } : deleteNewest({ pages, ...view }, key);
    return { at: this.#timeOf(instead), run: () => this.#perform(instead) };
  }

  async #perform(action: PageAction): Promise<void> {
    if (action.kind === "send") return this.#sendPage(action.page);
    if (action.kind === "roll") throw new Error("what is rolled is decided before");
    this.#pace.noteEdit(this.#options.now());
    if (action.kind === "delete") return this.#writer.delete(action.key, action.id);
    if (!(await this.#writer.edit(action.id, action.page))) await this.#noteGone(action.page.key);
  }

  async #sendPage(page: Page): Promise<void> {
    const { content } = this.#options;
    content.begin(page.key);
    // What decides about pages must be known when this page is found after a restart.
    if (content.eventCount !== this.#keptEvents) await this.#keeper.now();
    await this.#send(page.key, page);
    // A person who has to decide must find the aside. Any other page that is deleted so soon stays away.
    if (page.isAside && this.#ledger.wasDeletedInFlight(page.key)) this.#ledger.noteEdit(page.key, undefined);
    void this.#keeper.now();
  }

  async #sendNotice(notice: Notice): Promise<void> {
    const { content, now } = this.#options;
    if (!(await this.#send(notice.key, notice))) return;
    content.told(notice, now());
    await this.#keeper.now();
  }

  async #sendPost(post: WaitingPost): Promise<void> {
    if (await this.#send(post.key, post.post)) this.#posts.done(post);
  }

  /** @returns false if it has to be sent once more. */
  #send(key: string, post: Post): Promise<boolean> {
    this.#pace.noteSend(this.#options.now());
    return this.#writer.send(key, post);
  }

  /** A message was deleted, by a person or by a relay that died then. */
  async #noteGone(found: string): Promise<void> {
    if (this.#options.isShared) return this.#ledger.noteGone(found, true);
    const gone = await this.#ledger.findGone(found);
    const pages = this.#pages();
    for (const key of gone) {
      const page = pages.find((page) => page.key === key);
      // An ask that is answered stays away, until it is asked again.
      const isBack = page?.isAside ? !page.isSealed : isNewest({ pages, ...this.#view() }, key);
      this.#ledger.noteGone(key, isBack);
    }
    void this.#keeper.now();
  }

  #pages(): readonly Page[] {
    const { content, now } = this.#options;
    return content.pages(now(), this.#pace.room(now(), SOON_MS));
  }

  #view() {
    return { find: (key: string) => this.#ledger.find(key), isTooOld: this.#isTooOld };
  }

  readonly #isTooOld = (messageId: string): boolean =>
    this.#options.now() - snowflakeTime(messageId) > MAX_LIVE_AGE_MS;

  #timeOf(action: PageAction): number {
    const now = this.#options.now();
    if (action.kind === "edit" && action.takesButtons) return this.#pace.nextEditAt(now, true);
    if (action.kind !== "send") {
      const restsUntil = action.kind === "edit" ? this.#writer.restsUntil(action.page) : 0;
      // Nothing rests for so long: the clock was set back.
      return Math.max(this.#pace.nextEditAt(now), restsUntil > now + LONGEST_WAIT_MS ? 0 : restsUntil);
    }
    const { notBefore } = action.page;
    // No page waits for so long: the clock was set back.
    return Math.max(this.#pace.nextSendAt(now), notBefore > now + LONGEST_WAIT_MS ? 0 : notBefore);
  }

  /** None before the first message: of a thread with a mark the next relay assumes that its opening has been said. */
  #makeMark(): Kept | undefined {
    const { content, isShared } = this.#options;
    const { gone, isEmpty } = this.#ledger;
    const mark = isEmpty && !isShared ? undefined : content.mark();
    const more = gone.length > 0 && { gone };
    return mark && { mark: { ...mark, seen: this.#seen, ...more }, eventCount: content.eventCount };
  }

  #onKept({ mark, eventCount }: Kept): void {
    this.#keptEvents = eventCount;
    const { isShared, content } = this.#options;
    const count = isShared ? KEPT_SHARED_POSTS : KEPT_POSTS;
    const posts = this.#ledger.keys.filter((key) => key.startsWith(POST)).slice(-count);
    this.#ledger.prune((key) => posts.includes(key) || content.isNeeded(key, mark));
  }

  /** Discord archives what nobody writes to, and edits are no writing: such a thread comes back. */
  async #comeBack(): Promise<boolean> {
    const { api, threadId } = this.#options;
    const channel = await api.findChannel(threadId);
    if (!channel || channel.isLocked || channel.isArchivedByPerson) return false;
    await api.setArchived(threadId, false);
    return true;
  }
}
