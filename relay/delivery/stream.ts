/** One thread's output on its way to Discord: log → document → messages, exactly once. */
import { createHash } from "node:crypto";
import { chunkOf, type OutputReply, type Thread } from "../../shared/api.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { AppError } from "../../shared/errors.ts";
import { pause, withTimeout } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { Document } from "../content/document.ts";
import { decodeMark, encodeMark, type LogEvent, type Mark } from "../content/mark.ts";
import {
  compareIds,
  type DiscordApi,
  type DiscordMessage,
  type OutgoingMessage,
  snowflakeTime,
} from "../discord/api.ts";
import type { Budget } from "../discord/budget.ts";
import { DONE_BUTTON, KEY_BUTTONS } from "../discord/buttons.ts";
import { findRefusal, type Refusal } from "../discord/refusals.ts";
import { bellText, endText, lostText, type Notice } from "../texts.ts";
import { type DeliveryMark, findDeliveryMark, MAX_IDS, MAX_STATE_CHARACTERS } from "./delivery-mark.ts";
import { deleteNewest, type PageAction, planPages, SCREEN_PREFIX, type SentMessage } from "./plan.ts";

/** Discord lets a bot edit about once a second in a channel; a little slower is never refused. */
const EDIT_INTERVAL_MS = 1_200;
/** 5 new messages in 5 s, and a little slower; after a pause they may come at once. */
const SENDS = 5;
const SENDS_PER_MS = 5_500;
/** Edits of messages older than an hour are throttled hard (3 in 6 s): a new page is begun before. */
const MAX_LIVE_AGE_MS = 50 * 60_000;
const MAX_BACKOFF_MS = 15_000;
const BELL_INTERVAL_MS = 60_000;
/** While a flood goes on, what it pushes out is told so often. */
const GAP_INTERVAL_MS = 4_000;
/** A mark that only says more of what the log tells again need not be kept at once. */
const SAVE_DELAY_MS = 2_000;

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
  /** The picture that is about to be sent: one that turns up after a restart is this one. */
  #sendingScreen: number | undefined;
  /** The full-screen programs so far that the log was broken for. */
  #alternates: number;
  /** The last message before the mark's first page. */
  #after: string;
  /** The newest message of ours that is known. */
  #sent: string;
  #seen: string;
  #toldEnd: string | undefined;
  #toldBells: number;
  #lastBellAt = 0;
  #ended: Thread | undefined;
  #isRunning: boolean;
  /** False while Discord may have a message of ours that is not known here. */
  #isAdopted: boolean;
  #adopting: Promise<void> | undefined;
  #isAccepting = false;
  #isEndSilent = false;
  /** The log holds more than was read. */
  #hasMore = false;
  /** Bytes that the sidecar gave back before they were read. */
  #lost: { from: number; to: number } | undefined;
  /** Messages of ours that are no pages, sent but not noted. */
  #otherTexts: string[] = [];
  /** How often a message of that kind had to be sent anew. */
  readonly #resends = new Map<string, number>();
  #rolledId = "";
  #dropsSurplus = false;
  #pump: Promise<void> | undefined;
  #isDirty = false;
  #lastEditAt = 0;
  /** When the newest messages were sent. */
  #sendTimes: number[] = [];
  #documentMark: Mark | undefined;
  /** What happened since that mark besides the log's bytes. */
  #newEvents: LogEvent[] = [];
  /** The mark kept on the sidecar does not know of an event. */
  #hasUnsavedEvents = false;
  #savedMark = "";
  #saving: Promise<void> = Promise.resolve();
  #saveTimer: NodeJS.Timeout | undefined;
  readonly #stop = new AbortController();

  constructor(options: StreamOptions) {
    const { thread, lastMessageId } = options;
    this.#options = options;
    this.threadId = thread.threadId;
    const { document, mark } = openDocument(options);
    this.#document = document;
    this.#confirmed = mark?.page ?? 0;
    this.#after = mark?.after ?? thread.threadId;
    this.#sent = mark?.sent ?? thread.threadId;
    this.#seen = mark?.seen ?? thread.threadId;
    this.#toldEnd = mark?.end;
    this.#toldBells = mark?.bells ?? 0;
    this.#isRunning = thread.processRunning;
    this.#alternates = document.screen.alternates;
    this.#documentMark = mark && { offset: mark.offset, page: mark.page, state: mark.state };
    for (const [i, id] of (mark?.ids ?? []).entries()) {
      this.#pages.set(this.#confirmed + i, { id, text: undefined, hasKeys: undefined });
    }
    document.begin(this.#confirmed + this.#pages.size);
    for (const id of mark?.ids ?? []) this.#noteSent(snowflakeTime(id));
    if (mark?.screen) {
      const [index, id] = mark.screen;
      if (id === "") this.#sendingScreen = index;
      else this.#screen = { index, message: { id, text: undefined, hasKeys: undefined } };
    }
    // Where Discord's newest message is one that the mark knows of, there is nothing to look for.
    const knowsAll = mark !== undefined && mark.ids.length < MAX_IDS;
    this.#isAdopted = knowsAll && lastMessageId !== undefined && compareIds(lastMessageId, this.#sent) <= 0;
    if (!thread.processRunning && thread.offset <= this.offset) this.#ended = thread;
  }

  /** Where the next output is read from. */
  get offset(): number {
    return this.#document.offset;
  }

  /** Up to here all messages are taken care of; what people wrote after it may still have to go in. */
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

  /**
   * A message of the thread has been taken care of: after a restart it is not looked at again. A person's is noted
   * at once: found again after ten minutes, they would be asked about it.
   */
  noteSeen(messageId: string, isFromPerson: boolean): void {
    if (compareIds(messageId, this.#seen) <= 0) return;
    this.#seen = messageId;
    if (isFromPerson) void this.#save();
    else this.#saveSoon();
  }

  /** Begins, or goes on after a time in which the Discord thread took nothing. */
  resume(): void {
    this.#wake();
  }

  /** A message was deleted; where it was the last page or the picture, it gets a successor. */
  noteDeleted(messageId: string): void {
    for (const [index, { id }] of this.#pages) {
      if (id !== messageId || index < this.#confirmed) continue;
      this.#forget({ index, isScreen: false });
      this.#wake();
    }
    if (this.#screen?.message.id === messageId) {
      this.#forget({ index: this.#screen.index, isScreen: true });
      this.#wake();
    }
  }

  /** Whoever ends the thread tells it themselves. */
  silenceEnd(): void {
    this.#isEndSilent = true;
  }

  /** A person wrote: what comes from now on stands below their message. */
  breakPage(): void {
    this.#happen({ kind: "break", offset: this.offset });
    this.#dropsSurplus = true;
    this.#wake();
  }

  /** Resolves when everything known so far has been delivered, or after `deadlineMs`. */
  async flush(deadlineMs: number): Promise<void> {
    this.#wake();
    await withTimeout(deadlineMs, [this.#stop.signal], async (signal) => {
      while (this.#pump && !signal.aborted) await Promise.race([this.#pump, pause(deadlineMs, signal)]);
    });
  }

  /** Stops; what is not delivered yet is delivered after the next start. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#pump;
    await this.#save();
  }

  async #accept(reply: OutputReply): Promise<void> {
    const document = this.#document;
    this.#hasMore = reply.more;
    if (reply.output !== "") {
      // Before the first byte: which pages have messages decides what a flood may leave out.
      await this.#adopt();
      if (reply.firstOffset > this.offset) this.#lost = { from: this.offset, to: reply.firstOffset };
      await document.feedLong(chunkOf(reply), this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      this.#breakAtPicture();
      this.#wake();
    }
    if (document.screen.cols !== reply.cols || document.screen.rows !== reply.rows) {
      this.#happen({ kind: "resize", offset: this.offset, cols: reply.cols, rows: reply.rows });
      this.#wake();
    }
    if (this.#isRunning !== reply.processRunning) this.#wake();
    this.#isRunning = reply.processRunning;
    if (reply.processRunning) {
      this.#ended = undefined;
    } else if (!reply.more && (this.#ended?.status !== reply.status || reply.output !== "")) {
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

  /** The log goes on below the picture of a full-screen program. */
  #breakAtPicture(): void {
    const { alternate, alternates } = this.#document.screen;
    if (alternate && alternates > this.#alternates) {
      this.#happen({ kind: "break", offset: this.offset });
      this.#dropsSurplus = true;
    }
    this.#alternates = alternates;
  }

  /** Tells the document something that the log does not say. */
  #happen(event: LogEvent): void {
    this.#newEvents.push(event);
    this.#hasUnsavedEvents = true;
    switch (event.kind) {
      case "resize":
        this.#document.resize(event.cols, event.rows);
        break;
      case "break":
        this.#document.breakPage("cursor");
        break;
      case "break-screen":
        this.#document.breakPage("screen");
        break;
      default:
        event satisfies never;
    }
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
          this.#saveSoon();
          if (!this.#isDirty) return;
          continue;
        }
        await this.#pace(next);
        await this.#options.budget.run(async () => {
          // Looked up again now that it is this thread's turn: only the newest state is ever sent.
          const action = signal.aborted ? undefined : this.#nextAction();
          if (action && this.#waitMs(action) <= 0) await this.#perform(action);
        }, this.#options.thread.createdBy);
        backoffMs = 0;
      } catch (error) {
        if (signal.aborted) return;
        const refusal = findRefusal(error);
        if (refusal !== undefined && refusal !== "unknown message") {
          if (refusal === "archived" && (await this.#cameBack())) continue;
          this.#isDirty = false; // nothing is tried again before it is resumed
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
      if (this.#rolledId === action.message.id) return deleteNewest(this.#pages, action);
      this.#rolledId = action.message.id;
      this.#happen({ kind: "break-screen", offset: this.offset });
      return this.#nextAction();
    }
    if (action) return action;
    this.#dropsSurplus = false;
    return this.#lostNotice() ?? this.#bellNotice() ?? this.#endNotice();
  }

  #lostNotice(): Action | undefined {
    const lost = this.#lost;
    if (!lost) return undefined;
    const told = () => {
      this.#lost = undefined;
    };
    return { kind: "notice", key: `lost ${lost.from}`, notice: lostText(lost.to - lost.from), told };
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
    const { api } = this.#options;
    switch (action.kind) {
      case "send":
        return this.#sendPage(action);
      case "edit": {
        const { want, message } = action;
        this.#lastEditAt = this.#options.now();
        // Until there is an answer it may hold either text.
        message.text = undefined;
        const components = want.hasKeys ? KEY_BUTTONS : [];
        const edited = api.edit(this.threadId, message.id, { content: want.text, components });
        const isThere = await orUndefined(edited.then(() => true));
        if (isThere) Object.assign(message, want);
        else this.#forget(action);
        return;
      }
      case "roll":
      case "delete":
        await orUndefined(api.deleteMessage(this.threadId, action.message.id));
        this.#pages.delete(action.index);
        this.#sendAnew(`page ${action.index}`);
        return;
      case "notice":
        return this.#sendNotice(action);
      default:
        action satisfies never;
    }
  }

  async #sendPage({ index, isScreen, want }: Extract<Action, { kind: "send" }>): Promise<void> {
    if (isScreen) this.#sendingScreen = index;
    else this.#document.begin(index + 1);
    // What decides where pages begin must be known when this page is found after a restart.
    if (isScreen || this.#hasUnsavedEvents) await this.#save();
    const key = `${isScreen ? "screen" : "page"} ${index}`;
    const components = want.hasKeys ? { components: KEY_BUTTONS } : {};
    const message = await this.#send(key, { content: want.text, ...components });
    if (!message) return;
    // A nonce may bring back what an earlier try made, with the text of then.
    const sent = { id: message.id, text: message.content, hasKeys: want.hasKeys };
    if (isScreen) this.#screen = { index, message: sent };
    else this.#pages.set(index, sent);
    this.#sendingScreen = undefined;
    await this.#save();
  }

  async #sendNotice({ key, notice, told }: Extract<Action, { kind: "notice" }>): Promise<void> {
    const { content, mention, isEnd } = notice;
    const known = this.#otherTexts.indexOf(content);
    if (known >= 0) this.#otherTexts.splice(known, 1);
    else {
      const message = await this.#send(key, {
        content,
        ...(mention === undefined ? {} : { mention }),
        ...(isEnd ? { components: DONE_BUTTON } : {}),
      });
      if (!message) return;
    }
    told();
    await this.#save();
  }

  /** Undefined where it has to be tried once more, under another nonce. */
  async #send(
    key: string,
    message: Omit<OutgoingMessage, "nonce">,
  ): Promise<{ id: string; content: string } | undefined> {
    this.#noteSent(this.#options.now());
    let sent: { id: string; content: string } | undefined;
    try {
      const nonce = this.#nonce(key);
      // Discord answers a nonce whose message was deleted with "unknown message".
      sent = await orUndefined(this.#options.api.send(this.threadId, { ...message, nonce }));
    } catch (error) {
      // It may be there all the same.
      this.#isAdopted = false;
      throw error;
    }
    // An older message than the newest known one was made for something else, before a restart.
    if (sent && compareIds(sent.id, this.#sent) > 0) {
      this.#sent = sent.id;
      return sent;
    }
    this.#sendAnew(key);
    return undefined;
  }

  #noteSent(at: number): void {
    this.#sendTimes = [...this.#sendTimes, at].sort((a, b) => a - b).slice(-SENDS);
  }

  #sendAnew(key: string): void {
    this.#resends.set(key, (this.#resends.get(key) ?? 0) + 1);
  }

  /** A message that a person deleted. */
  #forget({ index, isScreen }: { index: number; isScreen: boolean }): void {
    this.#sendAnew(`${isScreen ? "screen" : "page"} ${index}`);
    if (isScreen) {
      this.#screen = undefined;
      return;
    }
    const message = this.#pages.get(index);
    const isLast = ![...this.#pages].some(([other, { isGone }]) => other > index && !isGone);
    if (isLast) this.#pages.delete(index);
    else if (message) message.isGone = true;
  }

  async #pace(action: Action): Promise<void> {
    const waitMs = this.#waitMs(action);
    if (waitMs > 0) await pause(waitMs, this.#stop.signal);
  }

  #waitMs(action: Action): number {
    const now = this.#options.now();
    switch (action.kind) {
      case "send":
      case "notice": {
        const [oldest = 0] = this.#sendTimes.slice(-SENDS);
        const freeAt = this.#sendTimes.length < SENDS ? 0 : oldest + SENDS_PER_MS;
        const isInFlood = this.#hasMore && action.kind === "send" && action.want.text.startsWith(GAP_PREFIX);
        const gapAt = isInFlood ? (this.#sendTimes.at(-1) ?? 0) + GAP_INTERVAL_MS : 0;
        return Math.max(freeAt, gapAt) - now;
      }
      case "edit":
      case "roll":
      case "delete":
        return this.#lastEditAt + EDIT_INTERVAL_MS - now;
      default:
        throw new Error(`unknown action ${JSON.stringify(action satisfies never)}`);
    }
  }

  /**
   * After a restart and after a send without an answer, before anything is sent: finds the messages that are
   * there. Pages are sent one after the other, so their order says which is which.
   */
  #adopt(): Promise<void> {
    if (this.#isAdopted) return Promise.resolve();
    this.#adopting ??= this.#findMessages().finally(() => {
      this.#adopting = undefined;
    });
    return this.#adopting;
  }

  async #findMessages(): Promise<void> {
    const { api, botId } = this.#options;
    const messages = await api.listMessagesAfter(this.threadId, this.#after);
    const ours = messages.filter((message) => message.author.id === botId && message.type === 0);
    const byId = new Map(ours.map((message) => [message.id, message]));
    const known = new Set([...this.#pages.values()].map(({ id }) => id));
    for (const [index, page] of [...this.#pages].sort(([a], [b]) => b - a)) {
      const message = byId.get(page.id);
      if (message) Object.assign(page, stateOf(message));
      else if (!page.isGone) this.#forget({ index, isScreen: false });
    }
    let next = Math.max(this.#confirmed, ...[...this.#pages.keys()].map((index) => index + 1));
    const screen = this.#screen?.message;
    const picture = screen && byId.get(screen.id);
    if (screen && picture) Object.assign(screen, stateOf(picture));
    this.#otherTexts = [];
    for (const message of ours) {
      if (known.has(message.id) || message.id === screen?.id) continue;
      this.#noteSent(snowflakeTime(message.id));
      const isNew = compareIds(message.id, this.#sent) > 0;
      const sent = { id: message.id, ...stateOf(message) };
      if (message.content.startsWith(SCREEN_PREFIX)) {
        if (!isNew || this.#sendingScreen === undefined) continue;
        this.#screen = { index: this.#sendingScreen, message: sent };
        this.#sendingScreen = undefined;
      } else if (isPage(message)) {
        this.#pages.set(next++, sent);
      } else if (isNew) {
        this.#otherTexts.push(message.content);
      }
    }
    const newest = ours.at(-1)?.id ?? "";
    if (compareIds(newest, this.#sent) > 0) this.#sent = newest;
    this.#document.begin(next);
    this.#isAdopted = true;
  }

  /** Keeps the mark within some seconds. */
  #saveSoon(): void {
    if (this.#stop.signal.aborted) return;
    this.#saveTimer ??= setTimeout(() => void this.#save(), SAVE_DELAY_MS);
  }

  /** Keeps the mark on the sidecar, one after the other and only when it says something new. */
  #save(): Promise<void> {
    clearTimeout(this.#saveTimer);
    this.#saveTimer = undefined;
    const save = async () => {
      const hadUnsavedEvents = this.#hasUnsavedEvents;
      this.#hasUnsavedEvents = false;
      const mark = this.#makeMark();
      const text = JSON.stringify(mark);
      if (!mark || text === this.#savedMark) return;
      try {
        await this.#options.client.putDelivery(this.threadId, mark);
        this.#savedMark = text;
      } catch (error) {
        this.#hasUnsavedEvents ||= hadUnsavedEvents;
        // Streaming goes on without it; a bug must not end that either.
        const level = error instanceof AppError ? "warn" : "error";
        this.#options.log[level]({ threadId: this.threadId, err: error }, "could not keep the mark");
      }
    };
    this.#saving = this.#saving.then(save);
    return this.#saving;
  }

  /** Where the screen is too full to be kept, an older mark of it, with more to read again, stays good. */
  #makeMark(): DeliveryMark | undefined {
    let mark = this.#document.mark(MAX_STATE_CHARACTERS);
    if (!mark && this.#documentMark) mark = withEvents(this.#documentMark, this.#newEvents);
    if (!mark) return undefined;
    this.#documentMark = mark;
    this.#newEvents = [];
    for (const [index, { id }] of this.#pages) {
      if (index >= mark.page) continue;
      if (compareIds(id, this.#after) > 0) this.#after = id;
      this.#pages.delete(index);
    }
    const ids: string[] = [];
    for (let page = this.#pages.get(mark.page); page && ids.length < MAX_IDS; ) {
      ids.push(page.id);
      page = this.#pages.get(mark.page + ids.length);
    }
    const screen = this.#makeScreenMark();
    return {
      ...mark,
      after: this.#after,
      ids,
      ...(screen ? { screen } : {}),
      ...(this.#toldEnd === undefined ? {} : { end: this.#toldEnd }),
      bells: this.#toldBells,
      sent: this.#sent,
      seen: this.#seen,
    };
  }

  #makeScreenMark(): DeliveryMark["screen"] {
    if (this.#sendingScreen !== undefined) return [this.#sendingScreen, ""];
    return this.#screen && [this.#screen.index, this.#screen.message.id];
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
  #nonce(key: string): string {
    const text = `${this.threadId} ${key} ${this.#resends.get(key) ?? 0}`;
    return createHash("sha256").update(text).digest("base64url").slice(0, 25);
  }
}

/** Goes on from the mark; from the log's start where there is none, or where it is of another version. */
function openDocument({ thread, isAnsi, log }: StreamOptions): {
  document: Document;
  mark: DeliveryMark | undefined;
} {
  const mark = findDeliveryMark(thread);
  try {
    if (mark) return { document: Document.restore(mark, { isAnsi }), mark };
  } catch (error) {
    log.warn({ threadId: thread.threadId, err: error }, "the mark cannot be read; starting over");
  }
  const document = new Document({ cols: thread.cols, rows: thread.rows, isAnsi });
  return { document, mark: undefined };
}

/** The same mark, from which what happened since then happens again. */
function withEvents(mark: Mark, events: readonly LogEvent[]): Mark {
  if (events.length === 0) return mark;
  const { screen, pager, events: earlier } = decodeMark(mark);
  const candidate = { offset: mark.offset, screen, pager, events: [...earlier] };
  return encodeMark(candidate, events, MAX_STATE_CHARACTERS) ?? mark;
}

/** Undefined where the message is gone. */
async function orUndefined<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (findRefusal(error) !== "unknown message") throw error;
    return undefined;
  }
}

function stateOf(message: DiscordMessage): { text: string; hasKeys: boolean } {
  return { text: message.content, hasKeys: message.components.length > 0 };
}

const GAP_PREFIX = "… ";

function isPage({ content }: DiscordMessage): boolean {
  return content.startsWith("```") || content.startsWith(GAP_PREFIX);
}
