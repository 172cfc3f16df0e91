/**
 * Discord allows a server 1,000 threads that are not archived, in all channels together. The bot counts them, and
 * archives its idle ones before there are as many. Such a thread comes back with its next output or a person's next
 * message.
 */
import * as z from "zod";
import { type DiscordId, knownDiscordId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import {
  type ChannelInfo,
  compareIds,
  type DiscordApi,
  parseChannel,
  snowflakeTime,
} from "../discord/api.ts";
import type { Attended } from "../discord/attended.ts";
import type { Budget } from "../discord/budget.ts";
import { findRefusal } from "../discord/refusals.ts";
import type { Threads } from "./threads.ts";

/**
 * Most active threads before the bot archives idle ones. People's own threads may need the rest of the 1,000 at any
 * time.
 */
const MAX_ACTIVE = 900;
/**
 * Time without a message after which a thread is idle, in minutes. The bot sets it as the auto-archive time of a thread
 * that it archives, so that the thread does not look as if a person had archived it.
 */
const IDLE_MINUTES = 60;

export interface ActiveThreadsOptions {
  api: Pick<DiscordApi, "archiveIdle">;
  budget: Pick<Budget, "run">;
  attended: Pick<Attended, "has">;
  threads: Pick<Threads, "find" | "isBusy">;
  botId: string;
  now: () => number;
  log: Log;
}

export class ActiveThreads {
  readonly #options: ActiveThreadsOptions;
  readonly #active = new Map<DiscordId, ChannelInfo>();
  /** The threads that Discord does not let the bot archive. */
  readonly #refused = new Set<DiscordId>();
  #isMakingRoom = false;

  constructor(options: ActiveThreadsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#active.size;
  }

  /** Replaces the known threads by all that Discord lists; what it refused before may be allowed now. */
  reset(channels: readonly ChannelInfo[]): void {
    this.#active.clear();
    this.#refused.clear();
    for (const channel of channels) this.#active.set(channel.id, channel);
    this.#check();
  }

  /** Takes any event of the gateway. */
  hear(name: string | undefined, data: unknown): void {
    switch (name) {
      case "MESSAGE_CREATE":
        this.#noteMessage(parse(messageSchema, data));
        break;
      case "THREAD_CREATE":
      case "THREAD_UPDATE":
        this.#note([parseChannel(data)]);
        break;
      case "THREAD_LIST_SYNC":
        this.#note(parse(listSchema, data).threads.map(parseChannel));
        break;
      case "THREAD_DELETE":
        this.#active.delete(parse(idSchema, data).id);
        break;
      case "CHANNEL_DELETE":
        this.#noteDeleted(parse(idSchema, data).id);
        break;
      default: // other events change no thread
    }
  }

  #note(channels: readonly ChannelInfo[]): void {
    for (const channel of channels) {
      if (channel.isArchived) this.#active.delete(channel.id);
      else this.#active.set(channel.id, channel);
    }
    this.#check();
  }

  #noteMessage({ id, channel_id }: z.output<typeof messageSchema>): void {
    const known = this.#active.get(channel_id);
    if (known) this.#active.set(channel_id, { ...known, lastMessageId: id });
  }

  /** Forgets a deleted channel's threads, which Discord deletes with it. */
  #noteDeleted(channelId: DiscordId): void {
    for (const { id, parentId } of this.#active.values()) if (parentId === channelId) this.#active.delete(id);
  }

  #check(): void {
    if (this.#isMakingRoom || this.#active.size <= MAX_ACTIVE) return;
    this.#isMakingRoom = true;
    this.#makeRoom()
      .catch((error: unknown) => {
        this.#options.log.warn({ err: error, count: this.count }, "could not archive idle threads");
      })
      .finally(() => {
        this.#isMakingRoom = false;
      });
  }

  async #makeRoom(): Promise<void> {
    const { log } = this.#options;
    const idle = this.#listIdle();
    if (idle.length === 0)
      log.warn({ count: this.count }, "many threads are active, and none of mine is idle");
    for (const id of idle) {
      if (this.#active.size <= MAX_ACTIVE) return;
      // Somebody may have become active there in the meantime.
      if (this.#active.has(id) && this.#isIdle(id)) await this.#archive(id);
    }
  }

  /** Lists idle threads, those in which nothing runs first, and among equals those that were quiet for longest. */
  #listIdle(): DiscordId[] {
    const { threads } = this.#options;
    const runs = (id: DiscordId) => Number(threads.find(id)?.status === "running");
    const newest = ({ id, lastMessageId }: ChannelInfo) => lastMessageId ?? id;
    return [...this.#active.values()]
      .filter(({ id }) => this.#isIdle(id))
      .sort((a, b) => runs(a.id) - runs(b.id) || compareIds(newest(a), newest(b)))
      .map(({ id }) => id);
  }

  #isIdle(id: DiscordId): boolean {
    const { threads, attended, botId, now } = this.#options;
    const channel = this.#active.get(id);
    if (!channel || (channel.ownerId !== botId && !threads.find(id))) return false;
    if (this.#refused.has(id) || threads.isBusy(id) || attended.has(id)) return false;
    return now() - snowflakeTime(channel.lastMessageId ?? id) > IDLE_MINUTES * 60_000;
  }

  async #archive(id: DiscordId): Promise<void> {
    const { api, budget, botId, log } = this.#options;
    try {
      await budget.run(() => api.archiveIdle(id, IDLE_MINUTES), { owner: botId, threadId: id });
      this.#active.delete(id);
      log.info({ threadId: id, count: this.count }, "archived an idle thread, for others to have room");
    } catch (error) {
      const refusal = findRefusal(error);
      if (refusal === undefined) throw error;
      if (refusal === "unknown channel") this.#active.delete(id);
      else this.#refused.add(id);
      log.warn({ threadId: id, refusal }, "could not archive an idle thread");
    }
  }
}

const idSchema = z.object({ id: knownDiscordId });
const messageSchema = z.object({ id: knownDiscordId, channel_id: knownDiscordId });
const listSchema = z.object({ threads: z.array(z.unknown()) });

function parse<T>(schema: z.ZodType<T>, data: unknown): T {
  return schema.parse(data);
}
