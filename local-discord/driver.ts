/**
 * Drives local Discord from a test: acts as people, reads what they see, makes faults, counts requests.
 *
 * ```ts
 * const discord = await runLocalDiscord({ port: 0, users: [{ name: "Robin" }] });
 * const you = discord.you.id;                                     // owner of the guild, the page's person
 * const use = discord.driver.command(you, discord.channelId, "terminal", { dir: "app", command: "ls" });
 * const reply = await use.reply();                                // SeenMessage once it is not "thinking"
 * const thread = await discord.driver.until(() => discord.driver.threads()[0], { what: "a thread" });
 * discord.driver.post(you, thread.id, "echo hi");
 * await discord.driver.until(() => discord.driver.text(thread.id).includes("hi"), { what: "the output" });
 * discord.driver.faults.rest = (request) =>
 *   request.method === "PATCH" ? { kind: "drop", how: "rst", isApplied: true } : undefined;
 * discord.driver.gateway.dropAll();
 * discord.driver.stats.maxPerSecond();
 * ```
 */

import { createChannel, deleteChannel, deny, setAnnouncement } from "./channels.ts";
import type { FaultHook } from "./faults.ts";
import type { Gateway } from "./gateway.ts";
import type { Interaction } from "./interaction-store.ts";
import { failUnanswered } from "./interactions.ts";
import { Invocation } from "./invocation.ts";
import { deleteMessage, editMessage, sendMessage } from "./messages.ts";
import { type OptionValues, PersonError } from "./option-values.ts";
import type { PermissionName } from "./permissions.ts";
import { askAutocomplete, commandsFor, runCommand, runMessageCommand } from "./person-commands.ts";
import { operateComponent } from "./person-components.ts";
import { seenChannel, seenMessage, seenMessages, seenThread } from "./person-view.ts";
import { addReaction } from "./reactions.ts";
import { RoleDriver } from "./role-driver.ts";
import type { SeenChannel, SeenMessage, SeenThread } from "./seen.ts";
import { makeBotToken, type World, type WorldEvent } from "./state.ts";
import type { Stats } from "./stats.ts";
import { archiveIdleThreads, createThread, deleteThread, patchThread } from "./threads.ts";
import { type Command, isThread, MessageFlag, MessageType, type Snowflake, type Thread } from "./types.ts";
import { startTyping } from "./typing.ts";
import { messageCreateSchema, messageEditSchema, parseBody } from "./validate.ts";
import { untilWorld, type WaitOptions } from "./waiting.ts";

/** A file that a person attaches. */
export type PersonFile = { name: string; data: string | Uint8Array; type?: string };

export class Driver {
  readonly stats: Stats;
  /** Roles, and who has them. */
  readonly roles: RoleDriver;
  readonly #world: World;
  readonly #gateway: Gateway;
  /** `rest` is asked for every request of the bot; see `faults.ts` for ready-made hooks. */
  readonly faults: { rest: FaultHook | undefined } = { rest: undefined };

  constructor(options: { world: World; gateway: Gateway; stats: Stats }) {
    this.#world = options.world;
    this.#gateway = options.gateway;
    this.stats = options.stats;
    this.roles = new RoleDriver(options.world);
  }

  // --- acting as a person ---------------------------------------------------------------------------------

  /** Posts a message, also in a thread; an archived thread comes back by it. @throws DiscordError */
  post(
    userId: Snowflake,
    channelId: Snowflake,
    content: string,
    options: {
      replyTo?: Snowflake;
      files?: readonly PersonFile[];
      extras?: Record<string, unknown>;
    } = {},
  ): SeenMessage {
    const message = sendMessage(this.#world, {
      userId,
      channel: this.#world.getChannel(channelId),
      input: parseBody(messageCreateSchema, {
        content,
        ...(options.replyTo === undefined ? {} : { message_reference: { message_id: options.replyTo } }),
      }),
      files: (options.files ?? []).map((file, index) => ({
        field: `files[${index}]`,
        name: file.name,
        type: file.type ?? "",
        data: typeof file.data === "string" ? new TextEncoder().encode(file.data) : file.data,
      })),
      ...(options.extras === undefined ? {} : { extras: options.extras }),
    });
    return seenMessage(this.#world, message);
  }

  edit(userId: Snowflake, channelId: Snowflake, messageId: Snowflake, content: string): SeenMessage {
    const message = this.#world.getMessage(channelId, messageId);
    if (message.author_id !== userId) throw new PersonError("People edit only what they wrote.");
    editMessage(this.#world, message, {
      userId,
      patch: parseBody(messageEditSchema, { content }),
      files: [],
    });
    return seenMessage(this.#world, message);
  }

  deleteMessage(userId: Snowflake, channelId: Snowflake, messageId: Snowflake): void {
    deleteMessage(this.#world, this.#world.getMessage(channelId, messageId), userId);
  }

  react(userId: Snowflake, channelId: Snowflake, messageId: Snowflake, emoji: string): void {
    addReaction(this.#world, this.#world.getMessage(channelId, messageId), userId, emoji);
  }

  /** Somebody who manages the server makes another text channel. @throws DiscordError 30013 */
  createChannel(name: string): SeenChannel {
    return seenChannel(createChannel(this.#world, name));
  }

  /** As {@link createChannel}, takes one away with its threads. */
  deleteChannel(channelId: Snowflake): void {
    const channel = this.#world.getChannel(channelId);
    if (isThread(channel)) throw new Error(`${channelId} is a thread`);
    deleteChannel(this.#world, channel);
  }

  /** As {@link createChannel}, turns one into a channel of announcements, or back. */
  setAnnouncement(channelId: Snowflake, isAnnouncement = true): void {
    const channel = this.#world.getChannel(channelId);
    if (isThread(channel)) throw new Error(`${channelId} is a thread`);
    setAnnouncement(this.#world, channel, isAnnouncement);
  }

  /** A person begins to type. @throws DiscordError 50001, 50013, 50083 */
  type(userId: Snowflake, channelId: Snowflake): void {
    startTyping(this.#world, this.#world.getChannel(channelId), userId);
  }

  /** The users who type in a channel now. */
  typists(channelId: Snowflake): Snowflake[] {
    return this.#world.passing.typists(channelId, this.#world.now());
  }

  /** A person makes a public thread of their own. */
  createThread(userId: Snowflake, name: string, channelId = this.#world.data.channelId): SeenThread {
    const parent = this.#world.getChannel(channelId);
    return seenThread(createThread(this.#world, { userId, parent, body: { name, type: 11 } }));
  }

  /** Changes a thread as its owner or a moderator would: archive, unarchive, lock, rename. */
  patchThread(
    userId: Snowflake,
    threadId: Snowflake,
    patch: {
      archived?: boolean;
      locked?: boolean;
      name?: string;
      auto_archive_duration?: 60 | 1440 | 4320 | 10080;
    },
  ): void {
    patchThread(this.#world, this.#thread(threadId), userId, patch);
  }

  archiveThread(userId: Snowflake, threadId: Snowflake, options: { locked?: boolean } = {}): void {
    this.patchThread(userId, threadId, { archived: true, ...options });
  }

  unarchiveThread(userId: Snowflake, threadId: Snowflake): void {
    this.patchThread(userId, threadId, { archived: false });
  }

  deleteThread(userId: Snowflake, threadId: Snowflake): void {
    deleteThread(this.#world, this.#thread(threadId), userId);
  }

  /** Uses a slash command, sub-commands as "thread list". @throws PersonError as Discord's client refuses */
  command(userId: Snowflake, channelId: Snowflake, name: string, options: OptionValues = {}): Invocation {
    return this.#watch(runCommand(this.#world, { userId, channelId, name, options }));
  }

  /** Uses a message command on a message, as the menu of a message does. @throws PersonError */
  messageCommand(userId: Snowflake, channelId: Snowflake, messageId: Snowflake, name: string): Invocation {
    return this.#watch(runMessageCommand(this.#world, { userId, channelId, messageId, name }));
  }

  /** The completions of option `focused`; rejects when the bot does not answer. */
  async autocomplete(
    userId: Snowflake,
    channelId: Snowflake,
    name: string,
    options: OptionValues,
    focused: string,
  ): Promise<{ name: string; value: string | number }[]> {
    const interaction = askAutocomplete(this.#world, { userId, channelId, name, options, focused });
    return this.until(
      () => {
        if (interaction.hasFailed) throw new PersonError("Loading options failed");
        return interaction.choices;
      },
      { what: `completions of ${focused}` },
    );
  }

  /** Presses a button by its custom_id. */
  press(userId: Snowflake, messageId: Snowflake, customId: string): Invocation {
    return this.#watch(operateComponent(this.#world, { userId, messageId, customId }));
  }

  /** Chooses `values` in a select. */
  select(userId: Snowflake, messageId: Snowflake, customId: string, values: readonly string[]): Invocation {
    return this.#watch(operateComponent(this.#world, { userId, messageId, customId, values }));
  }

  // --- seeing as a person ---------------------------------------------------------------------------------

  /** Messages of a channel or thread, oldest first; with `userId` their ephemeral ones too. */
  messages(channelId: Snowflake, userId?: Snowflake): SeenMessage[] {
    return seenMessages(this.#world, channelId, userId);
  }

  /** The contents of the bot's messages in a channel, joined by line breaks. */
  text(channelId: Snowflake): string {
    return this.messages(channelId)
      .filter((message) => message.author.isBot)
      .map((message) => message.content)
      .join("\n");
  }

  /** What only this person sees. */
  ephemerals(userId: Snowflake): SeenMessage[] {
    return [...this.#world.passing.ephemerals.values()]
      .filter((message) => message.ephemeral_for === userId)
      .map((message) => seenMessage(this.#world, message));
  }

  /** The bot's messages with a link that Discord fetches for a preview, ephemeral ones too. */
  messagesWithFetchedLinks(): SeenMessage[] {
    const kept = [...this.#world.data.messages.values()].flatMap((messages) => [...messages.values()]);
    return (
      [...kept, ...this.#world.passing.ephemerals.values()]
        .filter(({ flags, content }) => (flags & MessageFlag.suppressEmbeds) === 0 && /https?:/.test(content))
        .map((message) => seenMessage(this.#world, message))
        // Not "… started a thread", whose text is the thread's name.
        .filter(({ author, type }) => author.isBot && type !== MessageType.threadCreated)
    );
  }

  /** All text channels, in the order in which they are shown. */
  channels(): SeenChannel[] {
    return this.#world.textChannels().map(seenChannel);
  }

  /** All threads, oldest first; by default archived ones too. */
  threads(filter: { archived?: boolean } = {}): SeenThread[] {
    return this.#world
      .threads()
      .map(seenThread)
      .filter((thread) => filter.archived === undefined || thread.isArchived === filter.archived);
  }

  findThread(threadId: Snowflake): SeenThread | undefined {
    return this.threads().find((thread) => thread.id === threadId);
  }

  /** The bytes of an attachment. */
  attachment(attachmentId: Snowflake): Buffer {
    const bytes = this.#world.files.find(attachmentId);
    if (!bytes) throw new Error(`no attachment ${attachmentId}`);
    return Buffer.from(bytes);
  }

  /** Commands that a person is offered. */
  commands(userId: Snowflake, type?: number): Command[] {
    return commandsFor(this.#world, userId, type);
  }

  // --- waiting --------------------------------------------------------------------------------------------

  /**
   * The first value of `check` that is neither undefined, null nor false; looked at again after every change.
   * @throws Error naming `what` after `timeoutMs` (10 s); whatever `check` throws
   */
  until<T>(check: () => T, options: WaitOptions): Promise<Exclude<T, undefined | null | false>> {
    return untilWorld(this.#world, check, options);
  }

  /** Every change as it happens; returns what ends it. */
  onEvent(listener: (event: WorldEvent) => void): () => void {
    return this.#world.onEvent(listener);
  }

  /** Lets the clock do its work now: auto-archive, unanswered interactions. It also runs once a second. */
  tick(): void {
    archiveIdleThreads(this.#world);
    failUnanswered(this.#world);
  }

  // --- switches and faults --------------------------------------------------------------------------------

  /** Faults of the gateway; `isRefusing`, `doesAcknowledge` and `delayMs` stay until set back. */
  get gateway(): Gateway {
    return this.#gateway;
  }

  get isBotOnline(): boolean {
    return this.#world.passing.isBotOnline;
  }

  /** The privileged intent in the developer portal. */
  setMessageContentGranted(isGranted: boolean): void {
    this.#world.switches.isMessageContentGranted = isGranted;
  }

  /** Denies the bot these permissions in a channel and its threads; an empty list gives all back. */
  denyBot(names: readonly PermissionName[], channelId = this.#world.data.channelId): void {
    this.denyPerson(this.#world.data.applicationId, names, channelId);
  }

  /** As {@link denyBot}, a person. */
  denyPerson(userId: Snowflake, names: readonly PermissionName[], channelId: Snowflake): void {
    deny(this.#world, this.#world.getChannel(channelId), userId, names);
  }

  /** The token stops working, connections end with 4004. Returns the token that works from now on. */
  revokeToken(): string {
    this.#world.data.botToken = makeBotToken(this.#world.data.applicationId);
    this.#gateway.closeAll(4004);
    this.#world.changed();
    return this.#world.data.botToken;
  }

  #thread(threadId: Snowflake): Thread {
    const channel = this.#world.getChannel(threadId);
    if (!isThread(channel)) throw new Error(`${threadId} is no thread`);
    return channel;
  }

  #watch(interaction: Interaction): Invocation {
    return new Invocation(this.#world, interaction);
  }
}
