/**
 * What people write in a channel of the bot's: a message begins an agent's thread, an answer goes into the thread that it
 * belongs to. A thread has the id of the message that began it, so the same message never begins two.
 */
import type { ChannelRow } from "../../shared/channel-api.ts";
import { AppError } from "../../shared/errors.ts";
import type { DiscordId } from "../../shared/ids.ts";
import { kindOf } from "../../shared/kinds.ts";
import { KeyedQueue, pause } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import type { LetIn } from "../actions/frame/action.ts";
import { channelInputText } from "../content/texts.ts";
import { compareIds, type DiscordApi, snowflakeNow, snowflakeTime } from "../discord/api.ts";
import { answered, type ChannelRules, mayBegin, wordsFor } from "../discord/channel-message.ts";
import type { DiscordMessage } from "../discord/message-schema.ts";
import { findRefusal, isTransient } from "../discord/refusals.ts";
import { agent } from "../kinds/agent.ts";
import type { LiveThread } from "../kinds/kind.ts";
import type { Vm } from "../sidecar/vm.ts";
import type { Access } from "./access.ts";
import type { Beginnings } from "./beginnings.ts";
import type { Channel } from "./channel.ts";
import { agentOf, firstWordsOf } from "./channel-agent.ts";
import { ChannelReplies } from "./channel-replies.ts";
import { ChannelRoutes } from "./channel-routes.ts";
import type { ChannelRows } from "./channel-rows.ts";
import { type Inputs, MAX_AGE_MS } from "./inputs.ts";
import { MainMessages } from "./main-messages.ts";
import { leftOut, withFilesAlone } from "./person-files.ts";
import type { Threads } from "./threads.ts";
import { untilItWorks } from "./until-it-works.ts";
import { asLetIn, isAnswered, mayWrite, WENT_NOWHERE } from "./writers.ts";

/** How long a message is tried again while the sidecar does not answer. */
const RETRY_MS = 2 * 60_000;
/** What was written longer ago while nobody listened is left alone. */
const MAX_MISSED_MS = 24 * 3_600_000;

export interface ChannelMessagesOptions {
  api: DiscordApi;
  vm: Vm;
  threads: Threads;
  beginnings: Beginnings;
  inputs: Inputs;
  channel: Channel;
  channelId: DiscordId;
  /** The channel's settings now; undefined if it is not served. */
  getSettings: () => ChannelRow | undefined;
  botId: string;
  access: Pick<Access, "may" | "judge" | "learn" | "refusal" | "whoCould">;
  log: Log;
  now: () => number;
  signal: AbortSignal;
}

/** The outcome of a message that went into a thread or began one; undefined if it went nowhere. */
type Taken = { /** Settles when the thread shows it. */ readonly heard?: Promise<void> } | undefined;

export class ChannelMessages {
  readonly #options: ChannelMessagesOptions;
  readonly #routes: ChannelRoutes;
  readonly #replies: ChannelReplies;
  readonly #main: MainMessages;
  /** In the order in which they came it is found out where they belong. */
  readonly #routing = new KeyedQueue();
  /** By thread. */
  readonly #work = new KeyedQueue();
  /** Messages that are being taken care of; each resolves when it has gone where it belongs. */
  readonly #pending = new Map<DiscordId, Promise<unknown>>();
  /** Messages that a thread is being made of. */
  readonly #beginning = new Set<string>();
  /** Written while nobody listened. */
  #missed: DiscordMessage[] = [];
  /** The newest message that was taken care of. */
  #newest = "0";

  constructor(options: ChannelMessagesOptions) {
    this.#options = { ...options, log: options.log.child({ channelId: options.channelId }) };
    this.#replies = new ChannelReplies(this.#options);
    this.#main = new MainMessages(options);
    this.#routes = new ChannelRoutes({ ...options, isBeginning: (id) => this.#beginning.has(id) });
  }

  /** In which it answers. */
  get channel(): Channel {
    return this.#options.channel;
  }

  /** Leaves alone what stands in the channel now. */
  async skipOld(): Promise<void> {
    const { api, channelId, channel } = this.#options;
    const last = (await api.findChannel(channelId))?.lastMessageId;
    if (last !== undefined) await (await channel.rows())?.noteSeen(last);
  }

  /** Looks up what was written while nobody listened. The first time ever, what stands there already is left alone. */
  async look(): Promise<void> {
    const { access, api, channelId, channel, now } = this.#options;
    if (this.#isOff) return;
    const rows = await channel.rows();
    if (!rows) return;
    if (rows.seen === undefined) {
      await rows.noteSeen((await api.findChannel(channelId))?.lastMessageId ?? channelId);
    }
    const since = [rows.seen ?? channelId, snowflakeNow(now() - MAX_MISSED_MS)].sort(compareIds);
    this.#missed = await api.listMessagesAfter(channelId, since[1] ?? channelId);
    await access.learn(this.#missed.map(({ author }) => author.id));
  }

  /** Whether a message that was not taken care of yet will make a thread of this id. */
  isAwaited(threadId: DiscordId): boolean {
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

  /**
   * Takes, after all, a message that was written while the relay was away, or by a guest.
   * @param letIn the person who lets it in, if it is not its writer
   * @throws AppError
   */
  async takeAfterAll(messageId: DiscordId, letIn?: LetIn): Promise<void> {
    const { api, channelId } = this.#options;
    const written = await api.findMessage(channelId, messageId);
    if (!written) throw new AppError("not_found", "That message is gone.");
    const message = asLetIn(written, letIn);
    try {
      const key = await this.#place(message);
      // A person who presses twice gets the thread that the first press has made.
      const taken = await this.#work.run(key, () => this.#handle(message));
      if (taken === undefined) throw new AppError("unsupported", WENT_NOWHERE);
      await taken.heard;
    } finally {
      this.#beginning.delete(messageId);
    }
  }

  /** A person changed a message: the agent that got it gets the new words. */
  async change(message: DiscordMessage): Promise<void> {
    const { id, attachments } = message;
    const threadId = await this.#findReader(id);
    if (threadId === undefined) return;
    const content = wordsFor(message, this.#rules);
    // The files of one that began a thread went in by themselves.
    const files = threadId === id ? [] : attachments;
    await this.#options.inputs.change({ ...message, content, attachments: files }, threadId);
  }

  /** As {@link change}, of a message that was deleted. */
  async withdraw(messageId: DiscordId): Promise<void> {
    const threadId = await this.#findReader(messageId);
    if (threadId !== undefined) await this.#options.inputs.withdraw(threadId, messageId);
  }

  /** The thread that got a message, or that it began. */
  async #findReader(messageId: DiscordId): Promise<DiscordId | undefined> {
    if (this.#isOff) return undefined;
    await this.#pending.get(messageId);
    const { channel, threads } = this.#options;
    return (await channel.rows())?.findPassed(messageId) ?? threads.find(messageId)?.threadId;
  }

  get #isOff(): boolean {
    return this.#rules.mode === "off";
  }

  get #rules(): ChannelRules {
    const { getSettings, botId } = this.#options;
    return { mode: getSettings()?.mode ?? "off", botId };
  }

  #take(message: DiscordMessage, ageMs: number): void {
    const { access, log } = this.#options;
    const { id } = message;
    if (this.#pending.has(id) || !isAnswered(access, message)) return;
    const working = this.#place(message).then((key) =>
      this.#work.run(key, () => this.#takeNow(message, ageMs)),
    );
    this.#pending.set(
      id,
      working.catch(() => undefined),
    );
    working
      .then(async (taken) => {
        await taken?.heard;
        const rows = await this.#options.channel.rows();
        if (rows) await this.#noteDone(id, rows);
      })
      // It is not noted as taken care of: the next start takes it up again.
      .catch((error: unknown) => log.error({ err: error }, "could not take a message of the channel"))
      .finally(() => {
        this.#pending.delete(id);
        this.#beginning.delete(id);
      });
  }

  async #takeNow(message: DiscordMessage, ageMs: number): Promise<Taken> {
    const rows = await this.#options.channel.rows();
    if (!rows || compareIds(message.id, rows.seen ?? "0") <= 0) return undefined;
    if (ageMs <= MAX_AGE_MS && mayWrite(this.#options.access, message)) return this.#patiently(message);
    const threadId = await this.#routes.findAnswered(message);
    const isMain = this.#rules.mode === "main";
    if (!isMain && threadId === undefined && !mayBegin(message, this.#rules)) return undefined;
    const goesIn = isMain || (threadId !== undefined && this.#options.threads.find(threadId));
    return void (await this.#replies.hold(message, ageMs, goesIn ? "type" : "run"));
  }

  /** Whose queue it waits in: its thread's, or that of the thread that it will begin. */
  #place(message: DiscordMessage): Promise<DiscordId> {
    const { channelId, log } = this.#options;
    return this.#routing.run(channelId, async () => {
      const reference = answered(message);
      this.#routes.note(message);
      if (reference !== undefined) {
        try {
          const threadId = await this.#routes.resolve(reference);
          if (threadId !== undefined) return threadId;
        } catch (error) {
          log.warn({ err: error }, "could not look up what a message answers; it is looked up again");
        }
      }
      if (mayBegin(message, this.#rules)) this.#beginning.add(message.id);
      return message.id;
    });
  }

  /** All before the oldest that is being taken care of are done. */
  async #noteDone(messageId: DiscordId, rows: ChannelRows): Promise<void> {
    this.#missed = this.#missed.filter(({ id }) => id !== messageId);
    if (compareIds(messageId, this.#newest) > 0) this.#newest = messageId;
    const [oldest] = [...this.#pending.keys()].filter((id) => id !== messageId).sort(compareIds);
    const isHeld = oldest !== undefined && compareIds(oldest, this.#newest) < 0;
    await rows.noteSeen(isHeld ? String(BigInt(oldest) - 1n) : this.#newest);
  }

  /** What Discord or the sidecar can't do now is tried again; its writer is told what can't be done at all. */
  async #patiently(message: DiscordMessage): Promise<Taken> {
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
          // The sidecar may be away for long: a message that nobody answers would be lost.
          const what = "tell a person that a message did not go in";
          await untilItWorks({ what, log, signal }, async () => {
            if (this.#beginning.has(message.id)) await this.#options.beginnings.abandon(message.id);
            await this.#replies.refuse(message, error);
          });
          if (signal.aborted) throw error;
          return undefined;
        }
        log.warn({ err: error }, "a message of the channel waits");
        await pause(waitMs, signal);
      }
    }
  }

  /** @throws AppError, or what Discord refuses with */
  async #handle(message: DiscordMessage): Promise<Taken> {
    const threadId = await this.#routes.findAnswered(message);
    const main = this.#rules.mode === "main" ? await this.#main.find(message.author.id, threadId) : undefined;
    if (main && [undefined, main.threadId].includes(threadId)) return this.#tellMain(main, message);
    const taken = threadId === undefined ? undefined : await this.#answer(threadId, message);
    if (taken) return taken;
    if (mayBegin(message, this.#rules)) return this.#begin(message, threadId);
    // In mode `mention` people talk with each other too: only who answered an agent is told.
    if (threadId === undefined) return undefined;
    throw new AppError(
      "thread_ended",
      "That thread is over. Mention me with your words, and a new one begins.",
    );
  }

  /** @returns undefined if the thread is over, and never had the message. */
  async #answer(threadId: DiscordId, message: DiscordMessage): Promise<Taken> {
    const { threads, vm, inputs, channel } = this.#options;
    const live = threads.find(threadId);
    const { id: inputId, author } = message;
    const text = wordsFor(message, this.#rules);
    let missing: string | undefined;
    try {
      if (live) missing = await inputs.typeInto(live, { ...message, content: text });
      // It says whether it had the message before it was over.
      else await vm.as(author.id).thread(threadId).send({ text, inputId });
    } catch (error) {
      if (error instanceof AppError && ["thread_ended", "not_found"].includes(error.code)) return undefined;
      throw error;
    }
    await (await channel.rows())?.notePassed(inputId, threadId);
    await this.#replies.tellRest(message, missing);
    return { heard: live ? this.#tellHeard(live, message) : Promise.resolve() };
  }

  async #tellMain(main: LiveThread, message: DiscordMessage): Promise<Taken> {
    const rest = await this.#main.take(main, { ...message, content: wordsFor(message, this.#rules) });
    await this.#replies.tellRest(message, rest);
    return {};
  }

  /** A thread takes a message a second: what is said in the channel meanwhile does not wait for that. */
  async #tellHeard({ threadId, delivery }: LiveThread, message: DiscordMessage): Promise<void> {
    const { threads, log } = this.#options;
    const text = channelInputText(message.author.id, message.content);
    try {
      await delivery.say(`heard.${message.id}`, { text, buttons: [], isSilent: true });
    } catch (error) {
      const isServed = threads.find(threadId)?.delivery === delivery;
      // The relay ends: its next start says it.
      if (isServed && findRefusal(error) === undefined) throw error;
      log.warn({ threadId, err: error }, "could not show in a thread what was said in the channel");
    }
  }

  /** @param over a thread that the message was written to, and that is over: the new one knows what it knew. */
  async #begin(message: DiscordMessage, over: DiscordId | undefined): Promise<Taken> {
    const { access, beginnings, channel, channelId, getSettings, inputs, threads } = this.#options;
    access.judge(message.author.id, "run", channelId);
    const { command, isPlain, attachments } = firstWordsOf(message, this.#rules);
    const known = over === undefined ? undefined : await this.#routes.findThread(over);
    const knows = known !== undefined && kindOf(known).hasTurns;
    const userId = message.author.id;
    const row = getSettings();
    // One that goes on from another is as that one was made.
    const made = knows ? { agent: { originThreadId: known.ownId } } : agentOf(row);
    const first = { command, isPlain, userId };
    const asked = { type: agent.type, dir: row?.dir ?? ".", channelId, ...first, ...made };
    await beginnings.createFrom(message.id, asked, (ms) => this.#replies.wait(message, ms));
    await channel.begin(message.id);
    const live = threads.find(message.id);
    const files = withFilesAlone(message, attachments, agent.reading);
    if (live && files) await inputs.typeInto(live, files, { inputId: `${message.id}.files` });
    await this.#replies.tellRest(message, leftOut(message, attachments, agent.reading));
    return {};
  }
}
