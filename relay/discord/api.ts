/** Discord's REST API as the relay uses it: each call with a deadline of its own and typed refusals. */
import { DiscordAPIError, HTTPError, type REST, Routes } from "discord.js";
import { z } from "zod";
import { pause, withTimeout } from "../../shared/lifecycle.ts";
import type { Components } from "./buttons.ts";

/** discord.js' own timer ends with the headers; a body that stalls would hang for minutes. */
const DEADLINE_MS = 10_000;
const RETRIES = 4;
const AUTO_ARCHIVE_MINUTES = 1_440;
const PUBLIC_THREAD = 11;

const channelSchema = z.object({
  id: z.string(),
  guild_id: z.string().optional(),
  parent_id: z.string().nullish(),
  owner_id: z.string().optional(),
  last_message_id: z.string().nullish(),
  thread_metadata: z
    .object({
      archived: z.boolean(),
      locked: z.boolean().optional(),
      auto_archive_duration: z.int().optional(),
      archive_timestamp: z.string().optional(),
    })
    .optional(),
});
/** A message as REST and gateway give it, as far as the relay reads it. */
export const messageSchema = z.object({
  id: z.string(),
  channel_id: z.string(),
  content: z.string(),
  author: z.object({ id: z.string(), bot: z.boolean().optional() }),
  type: z.int(),
  webhook_id: z.string().optional(),
  components: z.array(z.unknown()).default([]),
  attachments: z
    .array(
      z.object({ filename: z.string(), size: z.int(), url: z.string(), content_type: z.string().optional() }),
    )
    .default([]),
});
const idSchema = z.object({ id: z.string() });
const sentSchema = z.object({ id: z.string(), content: z.string() });

export interface ChannelInfo {
  id: string;
  guildId: string | undefined;
  parentId: string | undefined;
  ownerId: string | undefined;
  isArchived: boolean;
  isLocked: boolean;
  /** Archived long before its time was up: so a person did it. */
  isArchivedByPerson: boolean;
  lastMessageId: string | undefined;
}

export type DiscordMessage = z.infer<typeof messageSchema>;

export interface OutgoingMessage {
  content: string;
  /** At most 25 characters; for some minutes the same nonce gives the message that is there already. */
  nonce?: string;
  /** The only user whom this message may notify. */
  mention?: string;
  replyTo?: string;
  components?: Components;
}

/** What a refusal means for the caller; anything else stays the error that it was. */
export type Refusal = "unknown channel" | "unknown message" | "archived" | "locked" | "forbidden";

const REFUSALS: Record<number, Refusal> = {
  10003: "unknown channel",
  10008: "unknown message",
  50083: "archived",
  160005: "locked",
  50001: "forbidden",
  50013: "forbidden",
};

export function findRefusal(error: unknown): Refusal | undefined {
  return error instanceof DiscordAPIError ? REFUSALS[Number(error.code)] : undefined;
}

export class DiscordApi {
  readonly #rest: REST;
  readonly #signal: AbortSignal;
  readonly #gate: () => Promise<void>;

  /**
   * @param rest without tries of its own: those would come at once and uncounted.
   * @param signal ends every call and every wait between tries.
   * @param gate is passed before every request, also before one that is tried again.
   */
  constructor(rest: REST, signal: AbortSignal, gate: () => Promise<void> = () => Promise.resolve()) {
    this.#rest = rest;
    this.#signal = signal;
    this.#gate = gate;
  }

  /** The text is what the message holds: with a nonce it may be of an earlier try. */
  async send(channelId: string, message: OutgoingMessage): Promise<{ id: string; content: string }> {
    const body = {
      content: message.content,
      allowed_mentions: { parse: [], ...(message.mention === undefined ? {} : { users: [message.mention] }) },
      ...(message.nonce === undefined ? {} : { nonce: message.nonce, enforce_nonce: true }),
      ...(message.replyTo === undefined
        ? {}
        : { message_reference: { message_id: message.replyTo, fail_if_not_exists: false } }),
      ...(message.components === undefined ? {} : { components: message.components }),
    };
    return this.#call(sentSchema, (signal) =>
      this.#rest.post(Routes.channelMessages(channelId), { body, signal }),
    );
  }

  async edit(
    channelId: string,
    messageId: string,
    { content, components = [] }: { content: string; components?: Components },
  ): Promise<void> {
    const body = { content, components, allowed_mentions: { parse: [] } };
    await this.#call(idSchema, (signal) =>
      this.#rest.patch(Routes.channelMessage(channelId, messageId), { body, signal }),
    );
  }

  async deleteMessage(channelId: string, messageId: string): Promise<void> {
    await this.#call(z.unknown(), (signal) =>
      this.#rest.delete(Routes.channelMessage(channelId, messageId), { signal }),
    );
  }

  /** Undefined where it does not exist any more. */
  async findMessage(channelId: string, messageId: string): Promise<DiscordMessage | undefined> {
    try {
      return await this.#call(messageSchema, (signal) =>
        this.#rest.get(Routes.channelMessage(channelId, messageId), { signal }),
      );
    } catch (error) {
      if (findRefusal(error) === "unknown message") return undefined;
      throw error;
    }
  }

  /** All messages after `afterId`, oldest first. */
  async listMessagesAfter(channelId: string, afterId: string): Promise<DiscordMessage[]> {
    const all: DiscordMessage[] = [];
    for (let after = afterId; ; ) {
      const query = new URLSearchParams({ limit: "100", after });
      const page = await this.#call(z.array(messageSchema), (signal) =>
        this.#rest.get(Routes.channelMessages(channelId), { query, signal }),
      );
      page.sort((a, b) => compareIds(a.id, b.id));
      all.push(...page);
      const last = page.at(-1);
      if (page.length < 100 || !last) return all;
      after = last.id;
    }
  }

  /** Undefined where it does not exist any more. */
  async findChannel(channelId: string): Promise<ChannelInfo | undefined> {
    try {
      const channel = await this.#call(channelSchema, (signal) =>
        this.#rest.get(Routes.channel(channelId), { signal }),
      );
      return toInfo(channel);
    } catch (error) {
      if (findRefusal(error) === "unknown channel") return undefined;
      throw error;
    }
  }

  async listActiveThreads(guildId: string): Promise<ChannelInfo[]> {
    const { threads } = await this.#call(z.object({ threads: z.array(channelSchema) }), (signal) =>
      this.#rest.get(Routes.guildActiveThreads(guildId), { signal }),
    );
    return threads.map(toInfo);
  }

  async createThread(channelId: string, name: string): Promise<{ id: string }> {
    // Not tried again: what failed half-way could leave a second thread.
    const body = { name, type: PUBLIC_THREAD, auto_archive_duration: AUTO_ARCHIVE_MINUTES };
    await this.#gate();
    const made = await withTimeout(DEADLINE_MS, [this.#signal], (signal) =>
      this.#rest.post(Routes.threads(channelId), { body, signal }),
    );
    return idSchema.parse(made);
  }

  async addThreadMember(threadId: string, userId: string): Promise<void> {
    await this.#call(z.unknown(), (signal) =>
      this.#rest.put(Routes.threadMembers(threadId, userId), { signal }),
    );
  }

  /** Raw, since discord.js queues an archive behind a rename that is rate limited, for up to 10 minutes. */
  async setArchived(threadId: string, archived: boolean): Promise<void> {
    await this.#call(z.unknown(), (signal) =>
      this.#rest.patch(Routes.channel(threadId), { body: { archived }, signal }),
    );
  }

  async deleteChannel(channelId: string): Promise<void> {
    await this.#call(z.unknown(), (signal) => this.#rest.delete(Routes.channel(channelId), { signal }));
  }

  /** Tries again after 5xx, timeouts and broken connections: discord.js does so at once or not at all. */
  async #call<S extends z.ZodType>(
    schema: S,
    request: (signal: AbortSignal) => Promise<unknown>,
  ): Promise<z.output<S>> {
    for (let attempt = 0; ; attempt++) {
      await this.#gate();
      try {
        return schema.parse(await withTimeout(DEADLINE_MS, [this.#signal], request));
      } catch (error) {
        if (this.#signal.aborted || attempt >= RETRIES || !isTransient(error)) throw error;
        await pause(250 * 2 ** attempt, this.#signal);
      }
    }
  }
}

function isTransient(error: unknown): boolean {
  if (error instanceof DiscordAPIError || error instanceof z.ZodError) return false;
  if (error instanceof HTTPError) return error.status >= 500;
  return error instanceof Error; // the connection: refused, reset, closed, too slow
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
    guildId: channel.guild_id,
    parentId: channel.parent_id ?? undefined,
    ownerId: channel.owner_id,
    isArchived: channel.thread_metadata?.archived ?? false,
    isLocked: channel.thread_metadata?.locked ?? false,
    isArchivedByPerson: wasArchivedByPerson(channel),
    lastMessageId: channel.last_message_id ?? undefined,
  };
}

/** Snowflakes in order of time. */
export function compareIds(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

/** When a snowflake was made, in milliseconds since 1970. */
export function snowflakeTime(id: string): number {
  return Number((BigInt(id) >> 22n) + 1_420_070_400_000n);
}
