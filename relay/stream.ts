/** One thread's output on its way to Discord: log → document → messages, exactly once. */
import { createHash } from "node:crypto";
import type { OutputReply, Thread } from "../shared/api.ts";
import type { SidecarClient } from "../shared/client.ts";
import { AppError } from "../shared/errors.ts";
import { pause } from "../shared/lifecycle.ts";
import type { Log } from "../shared/log.ts";
import type { Budget } from "./budget.ts";
import { DONE_BUTTON, KEY_BUTTONS } from "./buttons.ts";
import { type DeliveryMark, findDeliveryMark, MAX_IDS, MAX_STATE_CHARACTERS } from "./delivery-mark.ts";
import {
  compareIds,
  type DiscordApi,
  type DiscordMessage,
  findRefusal,
  type Refusal,
  snowflakeTime,
} from "./discord-api.ts";
import { type PageAction, planPages, SCREEN_PREFIX, type SentMessage } from "./plan.ts";
import { Document } from "./render/document.ts";
import type { Mark } from "./render/mark.ts";
import { bellText, endText, type Notice } from "./texts.ts";

/** Discord lets a bot edit about once a second in a channel; a little slower is never refused. */
const EDIT_INTERVAL_MS = 1_200;
const SEND_INTERVAL_MS = 1_100;
/** Edits of messages older than an hour are throttled hard (3 in 6 s): a new page is begun before. */
const MAX_LIVE_AGE_MS = 50 * 60_000;
const MAX_BACKOFF_MS = 30_000;
const BELL_INTERVAL_MS = 60_000;

export interface StreamOptions {
  thread: Thread;
  /** The Discord thread's newest message as Discord says, where it has said. */
  lastMessageId: string | undefined;
  isAnsi: boolean;
  api: DiscordApi;
  client: SidecarClient;
  budget: Budget;
  botId: string;
  log: Log;
  now: () => number;
  /** The Discord thread can't be written to now. */
  onRefused: (refusal: Refusal) => void;
}

type Action = PageAction | { kind: "notice"; key: string; notice: Notice; told: () => void };

export class ThreadStream {
  readonly threadId: string;
  readonly #options: StreamOptions;
  readonly #document: Document;
  /** From the mark's first page on, delivered or not. */
  readonly #pages = new Map<number, SentMessage>();
  /** Pages below are delivered for good. */
  #confirmed: number;
  #screen: { index: number; message: SentMessage } | undefined;
  #wasAlternate: boolean;
  /** The last message before the mark's first page. */
  #after: string;
  #seen: string;
  #toldEnd: string | undefined;
  #toldBells: number;
  #lastBellAt = 0;
  #ended: Thread | undefined;
  #isRunning: boolean;
  #isAdopted: boolean;
  #isAccepting = false;
  #isEndSilent = false;
  /** Messages of ours that are no pages, found after a restart. */
  readonly #otherTexts = new Set<string>();
  #resends = 0;
  #rolledId = "";
  #dropsSurplus = false;
  #pump: Promise<void> | undefined;
  #isDirty = false;
  #lastEditAt = 0;
  #lastSendAt = 0;
  #documentMark: Mark | undefined;
  #savedMark = "";
  #saving: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();

  constructor(options: StreamOptions) {
    const { thread, lastMessageId, isAnsi } = options;
    const mark = findDeliveryMark(thread);
    this.#options = options;
    this.threadId = thread.threadId;
    this.#document = mark
      ? Document.restore(mark, { isAnsi })
      : new Document({ cols: thread.cols, rows: thread.rows, isAnsi });
    this.#confirmed = mark?.page ?? 0;
    this.#after = mark?.after ?? thread.threadId;
    this.#seen = mark?.seen ?? thread.threadId;
    this.#toldEnd = mark?.end;
    this.#toldBells = mark?.bells ?? 0;
    this.#isRunning = thread.processRunning;
    this.#wasAlternate = this.#document.screen.alternate !== undefined;
    this.#documentMark = mark && { offset: mark.offset, page: mark.page, state: mark.state };
    for (const [i, id] of (mark?.ids ?? []).entries()) {
      this.#pages.set(this.#confirmed + i, { id, text: undefined, hasKeys: undefined });
    }
    if (mark?.screen) {
      const [index, id] = mark.screen;
      this.#screen = { index, message: { id, text: undefined, hasKeys: undefined } };
    }
    // Where Discord's newest message is one that the mark knows of, there is nothing to look for.
    const knowsAll = mark !== undefined && mark.ids.length < MAX_IDS;
    this.#isAdopted = knowsAll && lastMessageId !== undefined && compareIds(lastMessageId, this.#seen) <= 0;
  }

  /** Where the next output is read from. */
  get offset(): number {
    return this.#document.offset;
  }

  /** The newest message that is taken care of; what people wrote after it may still have to go in. */
  get seen(): string {
    return this.#seen;
  }

  get isAccepting(): boolean {
    return this.#isAccepting;
  }

  /** Takes what the sidecar read from {@link offset} on. One call at a time: look at {@link isAccepting}. */
  async accept(reply: OutputReply): Promise<void> {
    this.#isAccepting = true;
    try {
      await this.#accept(reply);
    } finally {
      this.#isAccepting = false;
    }
  }

  /** A message of the thread has been taken care of: after a restart it is not looked at again. */
  noteSeen(messageId: string): void {
    if (compareIds(messageId, this.#seen) <= 0) return;
    this.#seen = messageId;
    this.#wake();
  }

  /** A message was deleted; where it was one of the pages still to change, it gets a successor. */
  noteDeleted(messageId: string): void {
    for (const [index, { id }] of this.#pages) {
      if (id !== messageId || index < this.#confirmed) continue;
      this.#pages.delete(index);
      this.#resends++;
      this.#wake();
    }
  }

  /** Whoever ends the thread tells it themselves. */
  silenceEnd(): void {
    this.#isEndSilent = true;
  }

  /** A person wrote: what comes from now on stands below their message. */
  breakPage(): void {
    this.#document.breakPage("cursor");
    this.#dropsSurplus = true;
    this.#wake();
  }

  /** Resolves when everything known so far has been delivered, or after `deadlineMs`. */
  async flush(deadlineMs: number): Promise<void> {
    this.#wake();
    if (this.#pump) await Promise.race([this.#pump, pause(deadlineMs, this.#stop.signal)]);
  }

  /** Stops; what is not delivered yet is delivered after the next start. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#pump;
    await this.#saving;
  }

  async #accept(reply: OutputReply): Promise<void> {
    const document = this.#document;
    if (reply.output !== "") {
      // Before the first byte: which pages have messages decides what a flood may leave out.
      await this.#adopt();
      await document.feedLong(reply.output, reply.offset);
      const isAlternate = document.screen.alternate !== undefined;
      if (isAlternate && !this.#wasAlternate) document.breakPage("screen");
      this.#wasAlternate = isAlternate;
      this.#wake();
    }
    if (document.screen.cols !== reply.cols || document.screen.rows !== reply.rows) {
      document.resize(reply.cols, reply.rows);
      this.#wake();
    }
    if (this.#isRunning !== reply.processRunning) this.#wake();
    this.#isRunning = reply.processRunning;
    if (reply.processRunning) {
      this.#ended = undefined;
    } else if (!reply.more && this.#ended?.status !== reply.status) {
      const thread = await this.#options.client.getThread(this.threadId);
      if (thread.processRunning || thread.offset > this.offset) return;
      this.#ended = thread;
      this.#wake();
    }
  }

  #wake(): void {
    this.#isDirty = true;
    if (this.#stop.signal.aborted) return;
    this.#pump ??= this.#deliver().finally(() => {
      this.#pump = undefined;
      if (this.#isDirty) this.#wake();
    });
  }

  /** Works until messages and document agree. At most one request is in flight. */
  async #deliver(): Promise<void> {
    const { signal } = this.#stop;
    for (let backoffMs = 0; !signal.aborted; ) {
      this.#isDirty = false;
      try {
        await this.#adopt();
        const next = this.#nextAction();
        if (!next) {
          await this.#save();
          if (!this.#isDirty) return;
          continue;
        }
        await this.#pace(next);
        await this.#options.budget.run(async () => {
          // Looked up again now that it is this thread's turn: only the newest state is ever sent.
          const action = signal.aborted ? undefined : this.#nextAction();
          if (action) await this.#perform(action);
        });
        backoffMs = 0;
      } catch (error) {
        if (signal.aborted) return;
        const refusal = findRefusal(error);
        if (refusal !== undefined && refusal !== "unknown message") {
          if (refusal === "archived" && (await this.#cameBack())) continue;
          this.#options.onRefused(refusal);
          return;
        }
        backoffMs = Math.min(Math.max(1_000, backoffMs * 2), MAX_BACKOFF_MS);
        this.#options.log.warn(
          { threadId: this.threadId, err: error, backoffMs },
          "could not deliver; trying again",
        );
        await pause(backoffMs, signal);
      }
    }
  }

  #nextAction(): Action | undefined {
    const { action, confirmed } = planPages({
      views: this.#document.pages(),
      confirmed: this.#confirmed,
      pages: this.#pages,
      screen: this.#screen,
      wantsKeys: this.#isRunning,
      dropsSurplus: this.#dropsSurplus || this.#ended !== undefined,
      isTooOld: (id) => this.#options.now() - snowflakeTime(id) > MAX_LIVE_AGE_MS,
    });
    this.#confirmed = confirmed;
    this.#document.confirm(confirmed);
    if (action?.kind === "roll") {
      // What has settled stays in the old message; where nothing has, the message itself is replaced.
      if (this.#rolledId === action.message.id) return { ...action, kind: "delete" };
      this.#rolledId = action.message.id;
      this.#document.breakPage("screen");
      return this.#nextAction();
    }
    if (action) return action;
    this.#dropsSurplus = false;
    return this.#bellNotice() ?? this.#endNotice();
  }

  #bellNotice(): Action | undefined {
    const { bells } = this.#document.screen;
    const { thread, now } = this.#options;
    if (bells <= this.#toldBells || now() - this.#lastBellAt < BELL_INTERVAL_MS) return undefined;
    const told = () => {
      this.#toldBells = bells;
      this.#lastBellAt = now();
    };
    return { kind: "notice", key: `bell ${bells}`, notice: bellText(thread), told };
  }

  #endNotice(): Action | undefined {
    const thread = this.#isEndSilent ? undefined : this.#ended;
    const notice = thread && endText(thread);
    const endedAt = thread?.endedAt;
    if (!notice || typeof endedAt !== "string" || endedAt === this.#toldEnd) return undefined;
    const told = () => {
      this.#toldEnd = endedAt;
    };
    return { kind: "notice", key: `end ${endedAt}`, notice, told };
  }

  async #perform(action: Action): Promise<void> {
    const { api, now } = this.#options;
    switch (action.kind) {
      case "send": {
        this.#lastSendAt = now();
        const { index, isScreen, want } = action;
        if (!isScreen) this.#document.begin(index + 1);
        const nonce = this.#nonce(`${isScreen ? "screen" : "page"} ${index}`);
        const message = await this.#orForget(() => undefined, this.#send(want.text, nonce, want.hasKeys));
        if (!message) return;
        const sent = { id: message.id, ...want };
        if (isScreen) this.#screen = { index, message: sent };
        else this.#pages.set(index, sent);
        return this.#save();
      }
      case "edit": {
        this.#lastEditAt = now();
        const { want, message } = action;
        const components = want.hasKeys ? KEY_BUTTONS : [];
        const edited = api.edit(this.threadId, message.id, { content: want.text, components });
        await this.#orForget(() => this.#forget(action), edited);
        Object.assign(message, want);
        return;
      }
      case "roll":
      case "delete":
        await this.#orForget(() => undefined, api.deleteMessage(this.threadId, action.message.id));
        this.#pages.delete(action.index);
        this.#resends++;
        return;
      case "notice": {
        this.#lastSendAt = now();
        const { notice } = action;
        if (!this.#otherTexts.has(notice.content)) {
          const message = await api.send(this.threadId, {
            content: notice.content,
            nonce: this.#nonce(action.key),
            ...(notice.mention === undefined ? {} : { mention: notice.mention }),
            ...(notice.isEnd ? { components: DONE_BUTTON } : {}),
          });
          this.#isSeen(message.id);
        }
        action.told();
        return this.#save();
      }
      default:
        action satisfies never;
    }
  }

  async #send(content: string, nonce: string, hasKeys: boolean): Promise<{ id: string }> {
    const components = hasKeys ? { components: KEY_BUTTONS } : {};
    const message = await this.#options.api.send(this.threadId, { content, nonce, ...components });
    this.#isSeen(message.id);
    return message;
  }

  #isSeen(messageId: string): void {
    if (compareIds(messageId, this.#seen) > 0) this.#seen = messageId;
  }

  #forget({ index, isScreen }: { index: number; isScreen: boolean }): void {
    if (isScreen) this.#screen = undefined;
    else this.#pages.delete(index);
  }

  /**
   * A message that a person deleted gets a successor, with another nonce: Discord answers a nonce whose message is
   * gone with "unknown message" too.
   */
  async #orForget<T>(forget: () => void, work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      if (findRefusal(error) !== "unknown message") throw error;
      forget();
      this.#resends++;
      return undefined;
    }
  }

  async #pace(action: Action): Promise<void> {
    const isSend = action.kind === "send" || action.kind === "notice";
    const readyAt = isSend ? this.#lastSendAt + SEND_INTERVAL_MS : this.#lastEditAt + EDIT_INTERVAL_MS;
    const waitMs = readyAt - this.#options.now();
    if (waitMs > 0) await pause(waitMs, this.#stop.signal);
  }

  /**
   * After a restart, before anything is sent: finds the messages that are there, also those that were made when
   * the relay before had no time left to note them. Pages are sent one after the other, so their order says which
   * is which.
   */
  async #adopt(): Promise<void> {
    if (this.#isAdopted) return;
    const { api, botId } = this.#options;
    const messages = await api.listMessagesAfter(this.threadId, this.#after);
    const ours = messages.filter((message) => message.author.id === botId && message.type === 0);
    const byId = new Map(ours.map((message) => [message.id, message]));
    const known = new Set([...this.#pages.values()].map(({ id }) => id));
    for (const [index, page] of this.#pages) {
      const message = byId.get(page.id);
      if (message) Object.assign(page, stateOf(message));
      else this.#pages.delete(index);
    }
    let next = Math.max(this.#confirmed, ...[...this.#pages.keys()].map((index) => index + 1));
    for (const message of ours) {
      const sent = { id: message.id, ...stateOf(message) };
      if (known.has(message.id)) continue;
      if (message.content.startsWith(SCREEN_PREFIX)) {
        // The newest picture is the one that is being edited; the document counts them.
        const index = Math.max(0, this.#document.screen.alternates - 1);
        if (this.#screen?.message.id === message.id) this.#screen.message = sent;
        else if (compareIds(message.id, this.#screen?.message.id ?? "") > 0)
          this.#screen = { index, message: sent };
      } else if (isPage(message)) {
        this.#pages.set(next++, sent);
      } else {
        this.#otherTexts.add(message.content);
      }
      this.#isSeen(message.id);
    }
    this.#document.begin(next);
    this.#isAdopted = true;
  }

  /** Keeps the mark on the sidecar, one after the other and only when it says something new. */
  #save(): Promise<void> {
    const save = async () => {
      const mark = this.#makeMark();
      const text = JSON.stringify(mark);
      if (!mark || text === this.#savedMark) return;
      await this.#options.client.putDelivery(this.threadId, mark);
      this.#savedMark = text;
    };
    this.#saving = this.#saving.then(save).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      this.#options.log.warn({ threadId: this.threadId, err: error }, "could not keep the mark");
    });
    return this.#saving;
  }

  /** Where the screen is too full to be kept, an older mark of it, with more to read again, stays good. */
  #makeMark(): DeliveryMark | undefined {
    const mark = this.#document.mark(MAX_STATE_CHARACTERS) ?? this.#documentMark;
    if (!mark) return undefined;
    this.#documentMark = mark;
    this.#after = this.#pages.get(mark.page - 1)?.id ?? this.#after;
    for (const index of this.#pages.keys()) if (index < mark.page) this.#pages.delete(index);
    const ids: string[] = [];
    for (let page = this.#pages.get(mark.page); page && ids.length < MAX_IDS; ) {
      ids.push(page.id);
      page = this.#pages.get(mark.page + ids.length);
    }
    return {
      ...mark,
      after: this.#after,
      ids,
      ...(this.#screen ? { screen: [this.#screen.index, this.#screen.message.id] } : {}),
      ...(this.#toldEnd === undefined ? {} : { end: this.#toldEnd }),
      bells: this.#toldBells,
      seen: this.#seen,
    };
  }

  /** Discord archives what nobody writes to, and edits are no writing: such a thread comes back. */
  async #cameBack(): Promise<boolean> {
    const { api } = this.#options;
    const channel = await api.findChannel(this.threadId);
    if (!channel || channel.isLocked || channel.isArchivedByPerson) return false;
    await api.setArchived(this.threadId, false);
    return true;
  }

  /** Stable over restarts, so that a message which was made but not answered for is not made twice. */
  #nonce(what: string): string {
    const text = `${this.threadId} ${what} ${this.#resends}`;
    return createHash("sha256").update(text).digest("base64url").slice(0, 25);
  }
}

function stateOf(message: DiscordMessage): { text: string; hasKeys: boolean } {
  return { text: message.content, hasKeys: message.components.length > 0 };
}

function isPage({ content }: DiscordMessage): boolean {
  return content.startsWith("```") || content.startsWith("… ");
}
