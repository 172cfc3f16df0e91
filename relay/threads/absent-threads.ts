/**
 * Open threads whose Discord thread is not among the active ones: archived, deleted or out of sight. Each is looked up
 * by itself and for as long as it takes, so that Discord's trouble with one holds up no other.
 */
import type { DiscordId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { ChannelInfo, DiscordApi } from "../discord/api.ts";
import { findRefusal } from "../discord/refusals.ts";
import { untilItWorks } from "./until-it-works.ts";

/** How many hundreds of archived threads are listed; those that were archived before them are looked up one by one. */
const MAX_PAGES = 5;

export interface AbsentThreadsOptions {
  api: Pick<DiscordApi, "findChannel" | "listArchivedThreads">;
  log: Log;
}

/** One to look up. */
export interface Missing {
  threadId: DiscordId;
  /** The channels that it may be in. */
  channelIds: readonly DiscordId[];
}

/** What became of a Discord thread. */
export type Absent = ChannelInfo | "deleted" | "out of sight";

export class AbsentThreads {
  readonly #options: AbsentThreadsOptions;
  readonly #stop = new AbortController();
  /** The look-ups that are under way, by thread; each resolves once its thread has been taken care of. */
  readonly #inHand = new Map<DiscordId, Promise<void>>();

  constructor(options: AbsentThreadsOptions) {
    this.#options = options;
  }

  /** Resolves when it is known what became of the thread's Discord thread, at once if nobody looks it up. */
  async whenKnown(threadId: DiscordId): Promise<void> {
    await this.#inHand.get(threadId);
  }

  /**
   * Looks up threads, in the background. One that is being looked up already is not looked up again.
   * @param take deals with one; called again if it rejects.
   */
  lookUp(missing: readonly Missing[], take: (threadId: DiscordId, found: Absent) => Promise<void>): void {
    const news = missing.filter(({ threadId }) => !this.#inHand.has(threadId));
    const listing = this.#list(news);
    for (const { threadId: id } of news) {
      const taking = this.#take(id, listing, take).finally(() => this.#inHand.delete(id));
      this.#inHand.set(id, taking);
    }
  }

  /** Looks nothing up any more. Resolves when nothing is being taken care of. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#inHand.values());
  }

  async #take(
    threadId: DiscordId,
    listing: Promise<ReadonlyMap<DiscordId, ChannelInfo>>,
    take: (threadId: DiscordId, found: Absent) => Promise<void>,
  ): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#stop;
    const what = "look up a thread's Discord thread";
    const listed = (await listing).get(threadId);
    await untilItWorks({ what, log: log.child({ threadId }), signal }, async () => {
      const found = listed ?? (await this.#find(threadId));
      if (!signal.aborted) await take(threadId, found);
    });
  }

  async #find(threadId: DiscordId): Promise<Absent> {
    try {
      return (await this.#options.api.findChannel(threadId)) ?? "deleted";
    } catch (error) {
      if (findRefusal(error) === "forbidden") return "out of sight";
      throw error;
    }
  }

  /** Most are archived: a list of a channel's takes one request for a hundred. What it lacks is looked up by itself. */
  async #list(missing: readonly Missing[]): Promise<ReadonlyMap<DiscordId, ChannelInfo>> {
    const listed = new Map<DiscordId, ChannelInfo>();
    for (const channelId of new Set(missing.flatMap(({ channelIds }) => channelIds))) {
      const here = missing.filter(({ channelIds }) => channelIds.includes(channelId));
      const ids = here.map(({ threadId }) => threadId).filter((id) => !listed.has(id));
      if (ids.length > 1) await this.#listOf(channelId, ids, listed);
    }
    return listed;
  }

  async #listOf(
    channelId: DiscordId,
    threadIds: readonly DiscordId[],
    listed: Map<DiscordId, ChannelInfo>,
  ): Promise<void> {
    const { api, log } = this.#options;
    try {
      let before: string | undefined;
      for (let page = 0; page < MAX_PAGES && !this.#stop.signal.aborted; page++) {
        const { threads, next } = await api.listArchivedThreads(channelId, before);
        for (const thread of threads) listed.set(thread.id, thread);
        if (next === undefined || threadIds.every((id) => listed.has(id))) break;
        before = next;
      }
    } catch (error) {
      log.warn({ channelId, err: error }, "could not list archived threads; looking them up one by one");
    }
  }
}
