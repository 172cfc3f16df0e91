/**
 * What people write in the bot's channel: a message begins an agent's thread, an answer goes into the thread that it
 * belongs to. A thread has the id of the message that began it, so the same message never begins two.
 */
import type { Thread } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { KeyedQueue, pause } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { type Button, sendButton } from "../content/buttons.ts";
import {
  compareIds,
  type DiscordApi,
  type DiscordMessage,
  snowflakeNow,
  snowflakeTime,
} from "../discord/api.ts";
import {
  answered,
  type ChannelRules,
  createdThread,
  mayBegin,
  wordsFor,
} from "../discord/channel-message.ts";
import { isFromPerson } from "../discord/person-message.ts";
import { findRefusal, isTransient } from "../discord/refusals.ts";
import { channelInputText, errorSentence, formatDuration } from "../texts.ts";
import type { Beginnings } from "./beginnings.ts";
import type { Channel } from "./channel.ts";
import type { ChannelRows } from "./channel-rows.ts";
import { type Inputs, MAX_AGE_MS } from "./inputs.ts";
import type { Threads } from "./threads.ts";
import type { Vm } from "./vm.ts";

/** So many answers to answers are followed to the thread that they are about. */
const MAX_HOPS = 10;
/** So long a message waits for a sidecar that does not answer. */
const RETRY_MS = 2 * 60_000;
/** What was written longer ago while nobody listened is left alone. */
const MAX_MISSED_MS = 24 * 3_600_000;
/** Of so many answers that went into threads a later edit or deletion is passed on. */
const MAX_PASSED = 500;

export interface ChannelMessagesOptions {
  api: DiscordApi;
  vm: Vm;
  threads: Threads;
  beginnings: Beginnings;
  inputs: Inputs;
  channel: Channel;
  channelId: string;
  rules: ChannelRules;
  /** Where the agents work. */
  dir: string;
  allowedUserIds: ReadonlySet<string>;
  log: Log;
  now: () => number;
  signal: AbortSignal;
}

export class ChannelMessages {
  readonly #options: ChannelMessagesOptions;
  /** In the order in which they came it is found out where they belong. */
  readonly #routing = new KeyedQueue();
  /** By thread. */
  readonly #work = new KeyedQueue();
  /** Messages that are being taken care of. */
  readonly #pending = new Set<string>();
  /** Messages that a thread is being made of. */
  readonly #beginning = new Set<string>();
  /** By message: the thread that got it. */
  readonly #passed = new Map<string, string>();
  /** Written while nobody listened. */
  #missed: DiscordMessage[] = [];
  /** The newest message that was taken care of. */
  #newest = "0";

  constructor(options: ChannelMessagesOptions) {
    this.#options = { ...options, log: options.log.child({ channelId: options.channelId }) };
  }

  /** Looks up what was written while nobody listened. The first time ever, what stands there already is left alone. */
  async look(): Promise<void> {
    const { api, channelId, channel, now } = this.#options;
    if (this.#isOff) return;
    const rows = await channel.rows();
    if (!rows) return;
    if (rows.seen === undefined) {
      await rows.noteSeen((await api.findChannel(channelId))?.lastMessageId ?? channelId);
    }
    const since = [rows.seen ?? channelId, snowflakeNow(now() - MAX_MISSED_MS)].sort(compareIds);
    this.#missed = await api.listMessagesAfter(channelId, since[1] ?? channelId);
  }

  /** Whether a message that was not taken care of yet will make a thread of this id. */
  isAwaited(threadId: string): boolean {
    return this.#beginning.has(threadId) || this.#missed.some(({ id }) => id === threadId);
  }

  /** Takes what {@link look} has found, in its order, before what comes now. */
  takeMissed(): void {
    for (const message of this.#missed) this.#take(message, this.#options.now() - snowflakeTime(message.id));
  }

  /** A message that came just now, from whomever. */
  async take(message: DiscordMessage): Promise<void> {
    if (this.#isOff) return;
    await this.#options.inputs.whenOpen();
    this.#take(message, 0);
  }

  /** A person wants what they wrote while the relay was away to be taken after all. @throws AppError */
  async takeAfterAll(messageId: string): Promise<void> {
    const { api, channelId } = this.#options;
    const message = await api.findMessage(channelId, messageId);
    if (!message) throw new AppError("not_found", "That message is gone.");
    await this.#handle(message);
  }

  /** Other words for an answer that went into a thread; null takes it back. */
  async amend(messageId: string, text: string | null): Promise<void> {
    const threadId = this.#passed.get(messageId);
    if (threadId !== undefined)
      await this.#options.inputs.amend(threadId, messageId, () => Promise.resolve(text));
  }

  get #isOff(): boolean {
    return this.#options.rules.mode === "off";
  }

  #take(message: DiscordMessage, ageMs: number): void {
    const { allowedUserIds, channel, log } = this.#options;
    if (this.#pending.has(message.id) || !isFromPerson(message, allowedUserIds)) return;
    this.#pending.add(message.id);
    const work = async () => {
      const rows = await channel.rows();
      if (!rows) return;
      if (compareIds(message.id, rows.seen ?? "0") > 0) {
        if (ageMs > MAX_AGE_MS) await this.#ask(message, ageMs);
        else await this.#patiently(message);
      }
      await this.#noteDone(message.id, rows);
    };
    this.#place(message)
      .then((key) => this.#work.run(key, work))
      // It is not noted as taken care of: the next start takes it up again.
      .catch((error: unknown) => log.error({ err: error }, "could not take a message of the channel"))
      .finally(() => {
        this.#pending.delete(message.id);
        this.#beginning.delete(message.id);
      });
  }

  /** Whose queue it waits in: its thread's, or that of the thread that it will begin. */
  #place(message: DiscordMessage): Promise<string> {
    const { channelId, log } = this.#options;
    return this.#routing.run(channelId, async () => {
      const reference = answered(message);
      if (reference !== undefined) {
        try {
          const threadId = await this.#resolve(reference);
          if (threadId !== undefined) return threadId;
        } catch (error) {
          log.warn({ err: error }, "could not look up what a message answers; it is looked up again");
        }
      }
      if (mayBegin(message, this.#options.rules)) this.#beginning.add(message.id);
      return message.id;
    });
  }

  /** All before the oldest that is being taken care of are done. */
  async #noteDone(messageId: string, rows: ChannelRows): Promise<void> {
    this.#missed = this.#missed.filter(({ id }) => id !== messageId);
    if (compareIds(messageId, this.#newest) > 0) this.#newest = messageId;
    const [oldest] = [...this.#pending].filter((id) => id !== messageId).sort(compareIds);
    const isHeld = oldest !== undefined && compareIds(oldest, this.#newest) < 0;
    await rows.noteSeen(isHeld ? String(BigInt(oldest) - 1n) : this.#newest);
  }

  /** What Discord or the sidecar can't do now is tried again; its writer is told what can't be done at all. */
  async #patiently(message: DiscordMessage): Promise<void> {
    const { signal, log } = this.#options;
    const startedAt = performance.now();
    for (let waitMs = 250; ; waitMs = Math.min(waitMs * 2, 5_000)) {
      try {
        return await this.#handle(message);
      } catch (error) {
        if (signal.aborted) throw error;
        const isAway = error instanceof AppError && error.code === "unavailable";
        if (!isTransient(error) && !(isAway && performance.now() - startedAt < RETRY_MS)) {
          if (!(error instanceof AppError)) log.error({ err: error }, "could not take a message");
          return this.#refuse(message, error);
        }
        log.warn({ err: error }, "a message of the channel waits");
        await pause(waitMs, signal);
      }
    }
  }

  /** @throws AppError, or what Discord refuses with */
  async #handle(message: DiscordMessage): Promise<void> {
    const reference = answered(message);
    const threadId = reference === undefined ? undefined : await this.#resolve(reference);
    if (threadId !== undefined && (await this.#answer(threadId, message))) return;
    if (mayBegin(message, this.#options.rules)) return this.#begin(message, threadId);
    // In mode `mention` people talk with each other too: only who answered an agent is told.
    if (threadId === undefined) return;
    throw new AppError(
      "thread_ended",
      "That thread is over. Mention me with your words, and a new one begins.",
    );
  }

  /** @returns false if the thread is over, and never had the message. */
  async #answer(threadId: string, message: DiscordMessage): Promise<boolean> {
    const { threads, vm, inputs, rules } = this.#options;
    const live = threads.find(threadId);
    const { id: inputId, author } = message;
    try {
      if (live) await inputs.typeInto(live, message);
      // It says whether it had the message before it was over.
      else
        await vm
          .thread(threadId)
          .send({ text: wordsFor(message, rules), inputId, source: `discord:${author.id}` });
    } catch (error) {
      if (error instanceof AppError && ["thread_ended", "not_found"].includes(error.code)) return false;
      throw error;
    }
    this.#notePassed(inputId, threadId);
    const text = channelInputText(author.id, message.content);
    await live?.delivery.say(`heard.${inputId}`, { text, buttons: [], isSilent: true });
    return true;
  }

  #notePassed(messageId: string, threadId: string): void {
    this.#passed.set(messageId, threadId);
    const [oldest] = this.#passed.keys();
    if (this.#passed.size > MAX_PASSED && oldest !== undefined) this.#passed.delete(oldest);
  }

  /** @param over a thread that the message was written to, and that is over: the new one knows what it knew. */
  async #begin(message: DiscordMessage, over: string | undefined): Promise<void> {
    const { beginnings, channel, dir, rules, inputs, threads } = this.#options;
    const words = wordsFor(message, rules);
    if (words === "" && message.attachments.length === 0) {
      throw new AppError("invalid_request", "Say what the agent is to do.");
    }
    const command = words === "" ? "Look at the attached files." : words;
    const knows = over !== undefined && (await this.#findThread(over))?.type === "agent";
    await beginnings.createFrom(message.id, {
      type: "agent",
      dir,
      command,
      userId: message.author.id,
      ...(knows && { agent: { originThreadId: over } }),
    });
    await channel.begin(message.id);
    const live = threads.find(message.id);
    if (live && message.attachments.length > 0)
      await inputs.typeInto(live, { ...message, id: `${message.id}.files`, content: "" });
  }

  /** The thread that a message is about: made of it, told of by it, or that of the message which it answers. */
  async #resolve(messageId: string): Promise<string | undefined> {
    const { api, channelId, threads } = this.#options;
    let id: string | undefined = messageId;
    for (let hops = 0; id !== undefined && hops < MAX_HOPS; hops++) {
      if (this.#beginning.has(id) || threads.has(id) || (await this.#findThread(id))) return id;
      const message: DiscordMessage | undefined = await api.findMessage(channelId, id);
      const created = message && createdThread(message);
      if (created !== undefined) return created;
      id = message && answered(message);
    }
    return undefined;
  }

  async #findThread(threadId: string): Promise<Thread | undefined> {
    try {
      return await this.#options.vm.thread(threadId).get();
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") return undefined;
      throw error;
    }
  }

  #ask(message: DiscordMessage, ageMs: number): Promise<void> {
    const { rules } = this.#options;
    if (answered(message) === undefined && !mayBegin(message, rules)) return Promise.resolve();
    const ago = formatDuration(ageMs / 1_000);
    const text = `⏳ You wrote this ${ago} ago, while nobody was listening. Is it still to be done?`;
    return this.#reply(message, { name: `ask.${message.id}`, text, buttons: sendButton(message.id) });
  }

  async #refuse(message: DiscordMessage, error: unknown): Promise<void> {
    if (this.#beginning.has(message.id)) await this.#options.beginnings.abandon(message.id);
    const text = `⚠️ This did not go in. ${errorSentence(error)}`;
    return this.#reply(message, { name: `no.${message.id}`, text });
  }

  async #reply(
    message: DiscordMessage,
    { name, text, buttons = [] }: { name: string; text: string; buttons?: readonly Button[] },
  ): Promise<void> {
    const { channel, log } = this.#options;
    try {
      await channel.say(name, { text, buttons, replyTo: message.id });
    } catch (error) {
      if (findRefusal(error) === undefined) throw error;
      log.warn({ err: error }, "could not reply to a person in the channel");
    }
  }
}
