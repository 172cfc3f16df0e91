/** Makes Discord threads, and leaves none behind when Discord does not say whether it has made one. */
import { AppError } from "../../shared/errors.ts";
import type { DiscordId } from "../../shared/ids.ts";
import { pause } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { formatDuration } from "../content/texts.ts";
import { type ChannelInfo, compareIds, type DiscordApi, snowflakeNow } from "./api.ts";
import { findRefusalSentence, isTransient } from "./refusals.ts";

/** A person's command can be answered for 15 minutes: whoever would have to wait longer is told to come back. */
const MAX_WAIT_MS = 10 * 60_000;
/** When Discord's list is looked at after a request without an answer, in milliseconds since the look before. */
const LOOKS_MS = [0, 1_000, 3_000];

const PUBLIC_THREAD = 11;
/** The one type that a channel of announcements takes. */
const ANNOUNCEMENT_THREAD = 10;

export interface ThreadMakerOptions {
  api: DiscordApi;
  /** Whether threads are made in that channel. */
  isServed: (channelId: DiscordId) => boolean;
  /** Whether that channel is one of announcements. */
  isAnnouncement: (channelId: DiscordId) => boolean;
  guildId: string;
  botId: string;
  signal: AbortSignal;
  log: Log;
  now: () => number;
}

/** A thread that is to be made. */
interface Asked {
  channelId: DiscordId;
  name: string;
}

/** How long a thread that Discord may still make is looked out for. */
const LATE_MS = 10 * 60_000;
/** How many of the threads made last are remembered as ours; a second process of the bot makes others. */
const MAX_CLAIMED = 100;

export class ThreadMaker {
  readonly #options: ThreadMakerOptions;
  #underWay = 0;
  /** While creations are under way: threads of ours that the gateway told of and that nobody has taken, by id. */
  readonly #told = new Map<DiscordId, Asked>();
  /** The threads that were made last. */
  readonly #claimed = new Set<DiscordId>();
  /** Threads that were given up while Discord might still make them, and until when. */
  readonly #givenUp = new Map<string, number>();

  constructor(options: ThreadMakerOptions) {
    this.#options = options;
  }

  /**
   * Makes a public thread in a channel. A request that stays without an answer is followed up: if Discord made
   * the thread it is used, and if Discord makes it later it is removed then.
   * @param onWait is told how long Discord makes us wait, each time that it does.
   * @returns the thread's id.
   * @throws AppError `rate_limited`, or `unavailable` in Discord's own words.
   */
  async make(asked: Asked, onWait: (ms: number) => void = () => undefined): Promise<DiscordId> {
    const { api, isAnnouncement, now } = this.#options;
    const { channelId, name } = asked;
    const type = isAnnouncement(channelId) ? ANNOUNCEMENT_THREAD : PUBLIC_THREAD;
    const since = snowflakeNow(now());
    this.#underWay += 1;
    try {
      const { id } = await api.createThread(channelId, { name, type }, (ms) => {
        refuseLongWait(ms);
        onWait(ms);
      });
      return this.#claim(id);
    } catch (error) {
      const sentence = findRefusalSentence(error, "create threads");
      if (sentence !== undefined) throw new AppError("unavailable", sentence, { cause: error });
      if (!isTransient(error)) throw error;
      const found = await this.#find(asked, since);
      if (found !== undefined) return this.#claim(found);
      this.#givenUp.set(keyOf(asked), now() + LATE_MS);
      throw new AppError("unavailable", "Discord did not answer, so nothing was started; try again.", {
        cause: error,
      });
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#told.clear();
    }
  }

  /** As {@link make}, of a message of that channel, whose id the thread gets: the same again is the same thread. */
  async makeFrom(
    messageId: DiscordId,
    { channelId, name }: Asked,
    onWait: (ms: number) => void = () => undefined,
  ): Promise<void> {
    const { api } = this.#options;
    this.#claim(messageId);
    try {
      await api.createThreadFrom(channelId, messageId, name, (ms) => {
        refuseLongWait(ms);
        onWait(ms);
      });
    } catch (error) {
      const sentence = findRefusalSentence(error, "create threads");
      if (sentence === undefined) throw error;
      throw new AppError("invalid_request", sentence, { cause: error });
    }
  }

  /** The gateway told of a new thread. One of ours that was given up is removed; another bot process' is left. */
  async noteCreated({ id, name = "", parentId, ownerId }: ChannelInfo): Promise<void> {
    const { api, isServed, botId, log, now } = this.#options;
    if (ownerId !== botId || parentId === undefined || !isServed(parentId) || this.#claimed.has(id)) return;
    const made = { channelId: parentId, name };
    const until = this.#givenUp.get(keyOf(made));
    if (until === undefined) {
      if (this.#underWay > 0) this.#told.set(id, made);
      return;
    }
    this.#givenUp.delete(keyOf(made));
    if (now() > until) return;
    log.warn({ threadId: id }, "Discord made a thread late, which nobody waits for any more; removing it");
    await api.deleteChannel(id).catch((error: unknown) => {
      // The next start closes it, since the sidecar knows no thread of that id.
      log.warn({ threadId: id, err: error }, "could not remove a thread");
    });
  }

  #claim(id: DiscordId): DiscordId {
    this.#told.delete(id);
    this.#claimed.add(id);
    const [oldest] = this.#claimed;
    if (this.#claimed.size > MAX_CLAIMED && oldest !== undefined) this.#claimed.delete(oldest);
    return id;
  }

  /** Looks for a thread of that name in that channel, made since, that nobody has taken: told by the gateway, or listed. */
  async #find(asked: Asked, since: string): Promise<DiscordId | undefined> {
    const { signal } = this.#options;
    for (const waitMs of LOOKS_MS) {
      await pause(waitMs, signal);
      if (signal.aborted) return undefined;
      const told = [...this.#told].find(([, other]) => keyOf(other) === keyOf(asked));
      const found = told?.[0] ?? (await this.#findListed(asked, since));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Undefined also if Discord gives no list: whatever it has made is still removed when the gateway tells of it. */
  async #findListed({ channelId, name }: Asked, since: string): Promise<DiscordId | undefined> {
    const { api, guildId, botId, log } = this.#options;
    try {
      const listed = (await api.listActiveThreads(guildId)).find(
        (thread) =>
          thread.name === name &&
          thread.ownerId === botId &&
          thread.parentId === channelId &&
          compareIds(thread.id, since) >= 0 &&
          !this.#claimed.has(thread.id),
      );
      return listed?.id;
    } catch (error) {
      log.warn({ err: error }, "could not look for a thread whose creation was not answered");
      return undefined;
    }
  }
}

function keyOf({ channelId, name }: Asked): string {
  return `${channelId} ${name}`;
}

function refuseLongWait(ms: number): void {
  if (ms <= MAX_WAIT_MS) return;
  const wait = formatDuration(ms / 1_000);
  throw new AppError("rate_limited", `Discord allows no new thread here for ${wait}; try again then.`);
}
