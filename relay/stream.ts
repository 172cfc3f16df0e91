/** One thread's output on its way to Discord: log → document → messages, exactly once. */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { OutputReply, Thread } from "../shared/api.ts";
import type { SidecarClient } from "../shared/client.ts";
import { AppError } from "../shared/errors.ts";
import { pause } from "../shared/lifecycle.ts";
import type { Log } from "../shared/log.ts";
import type { Budget } from "./budget.ts";
import {
  type DiscordApi,
  type DiscordMessage,
  findRefusal,
  type Refusal,
  snowflakeTime,
} from "./discord-api.ts";
import { Document, type PageView } from "./render/document.ts";
import { BLANK_PAGE } from "./render/pages.ts";
import { endText } from "./texts.ts";

/** Discord lets a bot edit about once a second in a channel; a little slower is never refused. */
const EDIT_INTERVAL_MS = 1_200;
const SEND_INTERVAL_MS = 1_100;
/** Edits of messages older than an hour are throttled hard (3 in 6 s): a new page is begun before. */
const MAX_LIVE_AGE_MS = 50 * 60_000;
const MAX_BACKOFF_MS = 30_000;
/** A mark may have 4 KiB, and most of that is the screen. */
const MAX_IDS = 20;
const SCREEN_PREFIX = "▣ full screen\n";

/** What is kept on the sidecar: where to go on after a restart. */
const markSchema = z.object({
  offset: z.int(),
  page: z.int(),
  state: z.string(),
  /** The messages of the pages from `page` on. */
  ids: z.array(z.string()),
  /** Number and message of the full-screen picture that is being edited. */
  screen: z.tuple([z.int(), z.string()]).optional(),
  /** `endedAt` of the last end that was told. */
  end: z.string().optional(),
  /** The last message of ours before the first page. */
  after: z.string(),
});

export interface StreamOptions {
  thread: Thread;
  api: DiscordApi;
  client: SidecarClient;
  budget: Budget;
  botId: string;
  log: Log;
  now: () => number;
  /** The Discord thread can't be written to any more. */
  onRefused: (refusal: Refusal) => void;
}

interface SentPage {
  id: string;
  /** Undefined after a restart, until it has been looked up. */
  text: string | undefined;
}

type Action =
  | { kind: "send"; index: number; text: string; isScreen: boolean }
  | { kind: "edit"; page: SentPage; text: string; forget: () => void }
  | { kind: "delete"; page: SentPage; forget: () => void }
  | { kind: "end"; thread: Thread; text: string };

export class ThreadStream {
  readonly threadId: string;
  readonly #options: StreamOptions;
  readonly #document: Document;
  /** From the mark's first page on, delivered or not. */
  readonly #pages = new Map<number, SentPage>();
  /** Pages below are delivered for good. */
  #confirmed: number;
  #screen: { index: number; page: SentPage } | undefined;
  #wasAlternate = false;
  #after: string;
  #toldEnd: string | undefined;
  #ended: Thread | undefined;
  #isAdopted = false;
  #isAccepting = false;
  #isEndSilent = false;
  #otherTexts = new Set<string>();
  #resends = 0;
  #rolledId = "";
  #isDroppingSurplus = false;
  #pump: Promise<void> | undefined;
  #isDirty = false;
  #lastEditAt = 0;
  #lastSendAt = 0;
  #savedMark = "";
  #saving: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();

  constructor(options: StreamOptions) {
    const { thread } = options;
    this.#options = options;
    this.threadId = thread.threadId;
    const mark = thread.delivery === null ? undefined : markSchema.safeParse(thread.delivery).data;
    this.#document =
      mark === undefined
        ? new Document({ cols: thread.cols, rows: thread.rows })
        : Document.restore({ offset: mark.offset, page: mark.page, state: mark.state });
    this.#confirmed = mark?.page ?? 0;
    this.#after = mark?.after ?? thread.threadId;
    this.#toldEnd = mark?.end;
    for (const [i, id] of (mark?.ids ?? []).entries())
      this.#pages.set((mark?.page ?? 0) + i, { id, text: undefined });
    if (mark?.screen) this.#screen = { index: mark.screen[0], page: { id: mark.screen[1], text: undefined } };
  }

  /** Where the next output is read from. */
  get offset(): number {
    return this.#document.offset;
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

  get isAccepting(): boolean {
    return this.#isAccepting;
  }

  /** Whoever ends the thread tells it themselves. */
  silenceEnd(): void {
    this.#isEndSilent = true;
  }

  async #accept(reply: OutputReply): Promise<void> {
    if (reply.output !== "") {
      this.#ended = undefined;
      await this.#adopt();
      await this.#document.feedLong(reply.output, reply.offset);
      const isAlternate = this.#document.screen.alternate !== undefined;
      if (isAlternate && !this.#wasAlternate) this.#document.breakPage("screen");
      this.#wasAlternate = isAlternate;
      this.#wake();
    }
    if (!reply.processRunning && !reply.more && this.#ended === undefined) {
      const thread = await this.#options.client.getThread(this.threadId);
      if (thread.processRunning || thread.offset > this.offset) return;
      this.#ended = thread;
      this.#wake();
    } else if (reply.processRunning) {
      this.#ended = undefined;
    }
  }

  /** A person wrote: what comes from now on stands below their message. */
  breakPage(): void {
    this.#document.breakPage("cursor");
    this.#isDroppingSurplus = true;
    this.#wake();
  }

  /** Resolves when everything known so far has been delivered, or after `deadlineMs`. */
  async flush(deadlineMs: number): Promise<void> {
    this.#wake();
    if (this.#pump) await Promise.race([this.#pump, pause(deadlineMs)]);
  }

  /** Stops; what is not delivered yet is delivered after the next start. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#pump;
    await this.#saving;
  }

  #wake(): void {
    this.#isDirty = true;
    this.#pump ??= this.#deliver().finally(() => {
      this.#pump = undefined;
      if (this.#isDirty && !this.#stop.signal.aborted) this.#wake();
    });
  }

  async #deliver(): Promise<void> {
    const { signal } = this.#stop;
    for (let backoffMs = 0; !signal.aborted; ) {
      this.#isDirty = false;
      try {
        const next = this.#nextAction();
        if (!next) {
          await this.#save();
          if (!this.#isDirty) return;
          continue;
        }
        await this.#adopt();
        await this.#pace(next);
        await this.#options.budget.run(async () => {
          // Looked up again now that it is this thread's turn: only the newest state is ever sent.
          const action = signal.aborted ? undefined : this.#nextAction();
          if (action) await this.#perform(action);
        });
        backoffMs = 0;
      } catch (error) {
        const refusal = findRefusal(error);
        if (refusal === "archived") {
          await this.#unarchive();
        } else if (refusal !== undefined && refusal !== "unknown message") {
          this.#stop.abort();
          this.#options.onRefused(refusal);
        } else if (!signal.aborted) {
          backoffMs = Math.min(Math.max(1_000, backoffMs * 2), MAX_BACKOFF_MS);
          this.#options.log.warn(
            { threadId: this.threadId, err: error, backoffMs },
            "could not deliver; trying again",
          );
          await pause(backoffMs, signal);
        }
      }
    }
  }

  #nextAction(): Action | undefined {
    const views = this.#document.pages();
    let last = this.#confirmed - 1;
    for (const view of views) {
      if (view.kind === "screen") continue;
      last = view.index;
      const action = this.#actionFor(view, this.#pages.get(view.index));
      if (action) return action;
      if (view.isSealed) this.#confirm(view.index);
    }
    const surplus = [...this.#pages].filter(([index]) => index > last);
    for (const [index, page] of surplus) {
      const forget = () => this.#pages.delete(index);
      if (this.#isDroppingSurplus || this.#ended) return { kind: "delete", page, forget };
      if (page.text !== BLANK_PAGE) return { kind: "edit", page, text: BLANK_PAGE, forget };
    }
    this.#isDroppingSurplus = false;
    const picture = views.find((view) => view.kind === "screen");
    const screenAction = picture && this.#screenAction(picture);
    if (screenAction) return screenAction;
    return this.#endAction();
  }

  #actionFor(view: PageView, page: SentPage | undefined): Action | undefined {
    if (!page) return { kind: "send", index: view.index, text: view.text, isScreen: false };
    if (page.text === view.text) return undefined;
    const forget = () => this.#pages.delete(view.index);
    if (!view.isSealed && this.#options.now() - snowflakeTime(page.id) > MAX_LIVE_AGE_MS) {
      // What has settled stays in the old message; where nothing has, the message itself is replaced.
      if (this.#rolledId === page.id) return { kind: "delete", page, forget };
      this.#rolledId = page.id;
      this.#document.breakPage("screen");
      return this.#nextAction();
    }
    return { kind: "edit", page, text: view.text, forget };
  }

  #screenAction(picture: PageView): Action | undefined {
    const text = SCREEN_PREFIX + picture.text;
    const current = this.#screen?.index === picture.index ? this.#screen.page : undefined;
    if (!current) return { kind: "send", index: picture.index, text, isScreen: true };
    if (current.text === text) return undefined;
    return {
      kind: "edit",
      page: current,
      text,
      forget: () => {
        this.#screen = undefined;
      },
    };
  }

  #endAction(): Action | undefined {
    const thread = this.#isEndSilent ? undefined : this.#ended;
    const text = thread && endText(thread);
    if (!thread || text === undefined || thread.endedAt === null || thread.endedAt === this.#toldEnd)
      return undefined;
    return { kind: "end", thread, text };
  }

  async #perform(action: Action): Promise<void> {
    const { api } = this.#options;
    switch (action.kind) {
      case "send": {
        this.#lastSendAt = this.#options.now();
        if (!action.isScreen) this.#document.begin(action.index + 1);
        const nonce = this.#nonce(action.isScreen ? "screen" : "page", action.index);
        const sent = await this.#orForget(
          { forget: () => undefined },
          api.send(this.threadId, { content: action.text, nonce }),
        );
        if (!sent) return;
        const page = { id: sent.id, text: action.text };
        if (action.isScreen) this.#screen = { index: action.index, page };
        else this.#pages.set(action.index, page);
        await this.#save();
        return;
      }
      case "edit":
        this.#lastEditAt = this.#options.now();
        await this.#orForget(action, api.edit(this.threadId, action.page.id, action.text));
        action.page.text = action.text;
        return;
      case "delete":
        await this.#orForget(action, api.deleteMessage(this.threadId, action.page.id));
        action.forget();
        this.#resends++;
        return;
      case "end": {
        this.#lastSendAt = this.#options.now();
        const endedAt = action.thread.endedAt ?? "";
        if (!this.#otherTexts.has(action.text)) {
          await api.send(this.threadId, { content: action.text, nonce: this.#nonce("end", endedAt) });
        }
        this.#toldEnd = endedAt;
        await this.#save();
        return;
      }
      default:
        action satisfies never;
    }
  }

  /**
   * A message that a person deleted gets a successor, with another nonce: Discord answers a nonce whose message is
   * gone with "unknown message" too.
   */
  async #orForget<T>(action: { forget: () => void }, work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      if (findRefusal(error) !== "unknown message") throw error;
      action.forget();
      this.#resends++;
      return undefined;
    }
  }

  #confirm(index: number): void {
    this.#confirmed = index + 1;
    this.#document.confirm(this.#confirmed);
  }

  async #pace(action: Action): Promise<void> {
    const isSend = action.kind === "send" || action.kind === "end";
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
    const contents = new Map(ours.map((message) => [message.id, message.content]));
    const known = new Set([...this.#pages.values()].map((page) => page.id));
    for (const [index, page] of this.#pages) {
      const text = contents.get(page.id);
      if (text === undefined) this.#pages.delete(index);
      else page.text = text;
    }
    let next = Math.max(this.#confirmed, ...[...this.#pages.keys()].map((index) => index + 1));
    for (const message of ours) {
      if (isPage(message) && !known.has(message.id))
        this.#pages.set(next++, { id: message.id, text: message.content });
      else if (message.content.startsWith(SCREEN_PREFIX) && this.#screen?.page.id === message.id)
        this.#screen.page.text = message.content;
      else this.#otherTexts.add(message.content);
    }
    this.#document.begin(next);
    this.#isAdopted = true;
  }

  /** Keeps the mark on the sidecar, one after the other and only when it says something new. */
  async #save(): Promise<void> {
    const save = async () => {
      const mark = this.#document.mark(3_000);
      if (!mark) return; // too full to keep: the older mark, with more to read again, stays good
      // What lies before the mark is history. Pages of which the mark has no room are found again by their order.
      this.#after = this.#pages.get(mark.page - 1)?.id ?? this.#after;
      for (const index of this.#pages.keys()) if (index < mark.page) this.#pages.delete(index);
      const ids: string[] = [];
      for (let page = this.#pages.get(mark.page); page && ids.length < MAX_IDS; ) {
        ids.push(page.id);
        page = this.#pages.get(mark.page + ids.length);
      }
      const full: z.input<typeof markSchema> = {
        ...mark,
        ids,
        after: this.#after,
        ...(this.#screen ? { screen: [this.#screen.index, this.#screen.page.id] as [number, string] } : {}),
        ...(this.#toldEnd === undefined ? {} : { end: this.#toldEnd }),
      };
      const text = JSON.stringify(full);
      if (text === this.#savedMark) return;
      await this.#options.client.putDelivery(this.threadId, full);
      this.#savedMark = text;
    };
    const saved = this.#saving.then(save).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      this.#options.log.warn({ threadId: this.threadId, err: error }, "could not keep the mark");
    });
    this.#saving = saved;
    return saved;
  }

  async #unarchive(): Promise<void> {
    const { api, onRefused } = this.#options;
    const channel = await api.findChannel(this.threadId);
    if (!channel || channel.isLocked) {
      this.#stop.abort();
      onRefused(channel ? "locked" : "unknown channel");
      return;
    }
    await api.setArchived(this.threadId, false);
  }

  /** Stable over restarts, so that a message which was made but not answered for is not made twice. */
  #nonce(kind: string, key: number | string): string {
    const text = `${this.threadId} ${kind} ${key} ${this.#resends}`;
    return createHash("sha256").update(text).digest("base64url").slice(0, 25);
  }
}

function isPage(message: DiscordMessage): boolean {
  return message.content.startsWith("```") || message.content.startsWith("… ");
}
