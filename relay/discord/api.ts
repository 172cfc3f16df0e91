/** Discord's REST API as the relay uses it: each call with a deadline of its own and typed refusals. */
import { type REST, Routes } from "discord.js";
import * as z from "zod";
import { type DiscordId, knownDiscordId } from "../../shared/ids.ts";
import type { Components } from "./buttons.ts";
import { type DiscordMessage, messageSchema } from "./message-schema.ts";
import { memberSchema } from "./permissions.ts";
import { findRefusal } from "./refusals.ts";
import type { RequestOptions, Requests } from "./requests.ts";

const AUTO_ARCHIVE_MINUTES = 1_440;
const SUPPRESS_NOTIFICATIONS = 4096;

const channelSchema = z.object({
  id: knownDiscordId,
  name: z.string().optional(),
  guild_id: z.string().optional(),
  parent_id: knownDiscordId.nullish(),
  owner_id: z.string().optional(),
  last_message_id: knownDiscordId.nullish(),
  thread_metadata: z
    .object({
      archived: z.boolean(),
      locked: z.boolean().optional(),
      auto_archive_duration: z.int().optional(),
      archive_timestamp: z.string().optional(),
    })
    .optional(),
});
const idSchema = z.object({ id: knownDiscordId });
const sentSchema = z.object({ id: z.string(), content: z.string() });

export interface ChannelInfo {
  id: DiscordId;
  name: string | undefined;
  guildId: string | undefined;
  parentId: DiscordId | undefined;
  ownerId: string | undefined;
  isArchived: boolean;
  isLocked: boolean;
  /** Archived long before its time was up: so a person did it. */
  isArchivedByPerson: boolean;
  lastMessageId: DiscordId | undefined;
}

export interface OutgoingMessage {
  content: string;
  /** At most 25 characters; for some minutes the same nonce gives the message that is there already. */
  nonce?: string;
  /** The only user whom this message may notify. */
  mention?: string;
  /** Discord notifies nobody who merely follows the thread. */
  isSilent?: boolean;
  replyTo?: string;
  components?: Components;
  file?: OutgoingFile;
}

export interface OutgoingFile {
  name: string;
  data: Buffer;
}

export class DiscordApi {
  readonly #rest: REST;
  readonly #requests: Requests;

  /** @param rest without tries and waits of its own: those would come at once, uncounted, or hold up the queue. */
  constructor(rest: REST, requests: Requests) {
    this.#rest = rest;
    this.#requests = requests;
  }

  /** The text is what the message holds: with a nonce it may be of an earlier try. */
  async send(channelId: DiscordId, message: OutgoingMessage): Promise<{ id: string; content: string }> {
    const body = {
      content: message.content,
      allowed_mentions: { parse: [], ...(message.mention === undefined ? {} : { users: [message.mention] }) },
      ...(message.nonce === undefined ? {} : { nonce: message.nonce, enforce_nonce: true }),
      ...(message.replyTo === undefined
        ? {}
        : { message_reference: { message_id: message.replyTo, fail_if_not_exists: false } }),
      ...(message.components === undefined ? {} : { components: message.components }),
      ...(message.isSilent ? { flags: SUPPRESS_NOTIFICATIONS } : {}),
    };
    return this.#requests.call(sentSchema, (signal) =>
      this.#rest.post(Routes.channelMessages(channelId), {
        body,
        signal,
        ...(message.file && { files: [message.file] }),
      }),
    );
  }

  /** @param message without `content` the text stays, without `files` its files; otherwise it has these alone */
  async edit(
    channelId: DiscordId,
    messageId: string,
    {
      content,
      components = [],
      files,
    }: { content?: string; components?: Components; files?: OutgoingFile[] },
  ): Promise<void> {
    const text = content === undefined ? {} : { content };
    const attachments = files && { attachments: files.map(({ name }, id) => ({ id, filename: name })) };
    const body = { ...text, ...attachments, components, allowed_mentions: { parse: [] } };
    await this.#requests.call(idSchema, (signal) =>
      this.#rest.patch(Routes.channelMessage(channelId, messageId), {
        body,
        signal,
        ...(files && files.length > 0 && { files }),
      }),
    );
  }

  /** The roles of a member of the server; none if the user is no member. */
  async findRoles(guildId: string, userId: string): Promise<readonly string[]> {
    try {
      return (await this.read(memberSchema, Routes.guildMember(guildId, userId))).roles;
    } catch (error) {
      if (findRefusal(error) === undefined) throw error;
      return [];
    }
  }

  async deleteMessage(channelId: DiscordId, messageId: string): Promise<void> {
    await this.#requests.call(z.unknown(), (signal) =>
      this.#rest.delete(Routes.channelMessage(channelId, messageId), { signal }),
    );
  }

  /** Reads anything else, by its path. @throws what Discord refuses with */
  read<T>(schema: z.ZodType<T>, route: `/${string}`): Promise<T> {
    return this.#requests.call(schema, (signal) => this.#rest.get(route, { signal }));
  }

  /** Adds the bot's reaction; once it is there, again changes nothing. */
  async react(channelId: DiscordId, messageId: string, emoji: string): Promise<void> {
    await this.#requests.call(z.unknown(), (signal) =>
      this.#rest.put(Routes.channelMessageOwnReaction(channelId, messageId, encodeURIComponent(emoji)), {
        signal,
      }),
    );
  }

  /** Shows for some 10 s that the bot types. */
  async startTyping(channelId: DiscordId): Promise<void> {
    await this.#requests.call(z.unknown(), (signal) =>
      this.#rest.post(Routes.channelTyping(channelId), { signal }),
    );
  }

  /** Undefined where it does not exist any more. */
  async findMessage(channelId: DiscordId, messageId: string): Promise<DiscordMessage | undefined> {
    try {
      return await this.#requests.call(messageSchema, (signal) =>
        this.#rest.get(Routes.channelMessage(channelId, messageId), { signal }),
      );
    } catch (error) {
      if (findRefusal(error) === "unknown message") return undefined;
      throw error;
    }
  }

  /** All messages after `afterId`, oldest first. @param maxPages so many hundreds at most: the oldest */
  async listMessagesAfter(
    channelId: DiscordId,
    afterId: string,
    maxPages = Infinity,
  ): Promise<DiscordMessage[]> {
    const all: DiscordMessage[] = [];
    for (let after = afterId, pages = 1; ; pages++) {
      const query = new URLSearchParams({ limit: "100", after });
      const page = await this.#requests.call(z.array(messageSchema), (signal) =>
        this.#rest.get(Routes.channelMessages(channelId), { query, signal }),
      );
      page.sort((a, b) => compareIds(a.id, b.id));
      all.push(...page);
      const last = page.at(-1);
      if (page.length < 100 || !last || pages >= maxPages) return all;
      after = last.id;
    }
  }

  /** Undefined where it does not exist any more. */
  async findChannel(channelId: DiscordId): Promise<ChannelInfo | undefined> {
    try {
      const channel = await this.#requests.call(channelSchema, (signal) =>
        this.#rest.get(Routes.channel(channelId), { signal }),
      );
      return toInfo(channel);
    } catch (error) {
      if (findRefusal(error) === "unknown channel") return undefined;
      throw error;
    }
  }

  async listActiveThreads(guildId: string): Promise<ChannelInfo[]> {
    const { threads } = await this.#requests.call(z.object({ threads: z.array(channelSchema) }), (signal) =>
      this.#rest.get(Routes.guildActiveThreads(guildId), { signal }),
    );
    return threads.map(toInfo);
  }

  /**
   * At most a hundred public threads of a channel that are archived, those first that were archived last.
   * @param before what `next` was, for the ones after those.
   */
  async listArchivedThreads(
    channelId: DiscordId,
    before?: string,
  ): Promise<{ threads: ChannelInfo[]; next: string | undefined }> {
    const query = new URLSearchParams({ limit: "100", ...(before === undefined ? {} : { before }) });
    const schema = z.object({ threads: z.array(channelSchema), has_more: z.boolean() });
    const { threads, has_more } = await this.#requests.call(schema, (signal) =>
      this.#rest.get(Routes.channelThreads(channelId, "public"), { query, signal }),
    );
    const next = has_more ? threads.at(-1)?.thread_metadata?.archive_timestamp : undefined;
    return { threads: threads.map(toInfo), next };
  }

  /**
   * Makes a public thread. What failed half-way is not tried again, since it could leave a second thread; a refusal
   * for being too fast made nothing.
   * @param onWait as in {@link RequestOptions}.
   */
  async createThread(
    channelId: DiscordId,
    thread: { name: string; type: 10 | 11 },
    onWait?: RequestOptions["onWait"],
  ): Promise<{ id: DiscordId }> {
    const body = { ...thread, auto_archive_duration: AUTO_ARCHIVE_MINUTES };
    return this.#requests.call(
      idSchema,
      (signal) => this.#rest.post(Routes.threads(channelId), { body, signal }),
      { isRepeatable: false, ...(onWait ? { onWait } : {}) },
    );
  }

  /**
   * Makes a public thread of a message, which gives it its id: made before, it is there.
   * @param onWait as in {@link RequestOptions}.
   */
  async createThreadFrom(
    channelId: DiscordId,
    messageId: string,
    name: string,
    onWait?: RequestOptions["onWait"],
  ): Promise<void> {
    const body = { name, auto_archive_duration: AUTO_ARCHIVE_MINUTES };
    try {
      await this.#requests.call(
        idSchema,
        (signal) => this.#rest.post(Routes.threads(channelId, messageId), { body, signal }),
        onWait ? { onWait } : {},
      );
    } catch (error) {
      if (findRefusal(error) !== "has a thread") throw error;
    }
  }

  async addThreadMember(threadId: DiscordId, userId: string): Promise<void> {
    await this.#requests.call(z.unknown(), (signal) =>
      this.#rest.put(Routes.threadMembers(threadId, userId), { signal }),
    );
  }

  /** Raw, since discord.js queues an archive behind a rename that is rate limited, for up to 10 minutes. */
  async setArchived(threadId: DiscordId, archived: boolean): Promise<void> {
    await this.#requests.call(z.unknown(), (signal) =>
      this.#rest.patch(Routes.channel(threadId), { body: { archived }, signal }),
    );
  }

  /** Archives a thread that was idle for so many minutes, as Discord itself would after that time. */
  async archiveIdle(threadId: DiscordId, idleMinutes: 60 | 1440): Promise<void> {
    const body = { archived: true, auto_archive_duration: idleMinutes };
    await this.#requests.call(z.unknown(), (signal) =>
      this.#rest.patch(Routes.channel(threadId), { body, signal }),
    );
  }

  /** Discord lets a thread have two names in ten minutes: a third waits, and nothing else of the thread does. */
  async setName(threadId: DiscordId, name: string): Promise<void> {
    await this.#requests.call(z.unknown(), (signal) =>
      this.#rest.patch(Routes.channel(threadId), { body: { name }, signal }),
    );
  }

  async deleteChannel(channelId: DiscordId): Promise<void> {
    await this.#requests.call(z.unknown(), (signal) =>
      this.#rest.delete(Routes.channel(channelId), { signal }),
    );
  }
}

/** A channel or thread as REST and gateway give it. */
export function parseChannel(channel: unknown): ChannelInfo {
  return toInfo(channelSchema.parse(channel));
}

/** What archives by itself has been idle for all of its time; people archive sooner. */
function wasArchivedByPerson({
  id,
  last_message_id,
  thread_metadata,
}: z.infer<typeof channelSchema>): boolean {
  const { archived = false, archive_timestamp, auto_archive_duration } = thread_metadata ?? {};
  if (!archived || archive_timestamp === undefined || auto_archive_duration === undefined) return false;
  const idleMs = Date.parse(archive_timestamp) - snowflakeTime(last_message_id ?? id);
  return idleMs < auto_archive_duration * 60_000 * 0.9;
}

function toInfo(channel: z.infer<typeof channelSchema>): ChannelInfo {
  return {
    id: channel.id,
    name: channel.name,
    guildId: channel.guild_id,
    parentId: channel.parent_id ?? undefined,
    ownerId: channel.owner_id,
    isArchived: channel.thread_metadata?.archived ?? false,
    isLocked: channel.thread_metadata?.locked ?? false,
    isArchivedByPerson: wasArchivedByPerson(channel),
    lastMessageId: channel.last_message_id ?? undefined,
  };
}

/** Where somebody used a command, or pressed a button. */
export function placeOf({ channelId }: { readonly channelId: string | null }): DiscordId {
  return knownDiscordId.parse(channelId ?? "");
}

/** Snowflakes in order of time. */
export function compareIds(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

/** When a snowflake was made, in milliseconds since 1970. */
export function snowflakeTime(id: string): number {
  return Number((BigInt(id) >> 22n) + 1_420_070_400_000n);
}

/** The lowest snowflake of a moment, with a minute's room for a clock that differs from Discord's. */
export function snowflakeNow(now: number): DiscordId {
  return knownDiscordId.parse(String(BigInt(Math.max(0, now - 60_000 - 1_420_070_400_000)) << 22n));
}
