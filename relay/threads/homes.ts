/**
 * Discord threads for threads that Discord did not begin. What is about to be made is noted before it is made, one at a
 * time, so that a restart finds the one that was made and not noted: the bot's only newer thread that no row knows.
 */
import { AppError } from "../../shared/errors.ts";
import { type DiscordId, knownDiscordId, type ThreadId, type ThreadName } from "../../shared/ids.ts";
import { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { findDiscordId } from "../../shared/principal.ts";
import { retry } from "../../shared/retry.ts";
import { homeText, linkText, threadTitle } from "../content/texts.ts";
import { type ChannelInfo, compareIds, type DiscordApi } from "../discord/api.ts";
import type { ThreadMaker } from "../discord/thread-maker.ts";
import { channelIdOf, discordIdOf, type Thread } from "../sidecar/names.ts";
import type { Vm } from "../sidecar/vm.ts";
import type { Channels } from "./channels.ts";
import type { Threads } from "./threads.ts";

/** Before all of Discord's ids. */
const NONE = knownDiscordId.parse("0");
const FIRST_WAIT_MS = 2_000;
const LONGEST_WAIT_MS = 60_000;

export interface HomesOptions {
  vm: Vm;
  threads: Threads;
  threadMaker: ThreadMaker;
  api: DiscordApi;
  channels: Pick<Channels, "choose" | "find" | "first">;
  guildId: string;
  botId: string;
  signal: AbortSignal;
  log: Log;
}

export class Homes {
  readonly #options: HomesOptions;
  readonly #queue = new KeyedQueue();
  /** Those that wait for their turn, or for Discord. */
  readonly #inHand = new Set<ThreadId>();

  constructor(options: HomesOptions) {
    this.#options = options;
  }

  /** Threads that want a Discord thread, as far as they are known here. */
  get known(): ThreadId[] {
    return [...this.#inHand];
  }

  /** The sidecar told of threads that want one. */
  note(threadIds: readonly ThreadId[]): void {
    for (const threadId of threadIds) {
      if (this.#inHand.has(threadId)) continue;
      this.#inHand.add(threadId);
      void this.#makeUntilItWorks(threadId).finally(() => this.#inHand.delete(threadId));
    }
  }

  /**
   * Finds Discord threads that were made and not noted. To be called before those that nobody knows are closed.
   * @param active the bot's and others', of the whole server
   * @returns whether any was found
   */
  async recover(open: readonly Thread[], active: readonly ChannelInfo[]): Promise<boolean> {
    let isFound = false;
    for (const thread of open) {
      if (!thread.home?.after || thread.home.channelId !== null) continue;
      isFound = (await this.#queue.run("make", () => this.#findMade(thread, active))) || isFound;
    }
    return isFound;
  }

  /** What a Discord thread that was made here begins with, and the link to it. Said once, however often it is asked. */
  async begin(thread: Thread): Promise<void> {
    const { threads } = this.#options;
    const { threadId, origin, parentId } = thread;
    const from = parentId ? await this.#findHome(parentId) : undefined;
    await threads.find(threadId)?.delivery.say("opening", { text: homeText(thread, from), buttons: [] });
    if (from === undefined) return;
    const link = { text: linkText(thread, origin ? "branch" : "child"), buttons: [], isSilent: true };
    await threads.find(from)?.delivery.say(`home.${threadId}`, link);
  }

  async #makeUntilItWorks(threadId: ThreadId): Promise<void> {
    const { signal, log } = this.#options;
    const how = { firstMs: FIRST_WAIT_MS, longestMs: LONGEST_WAIT_MS, signal };
    const make = () => this.#queue.run("make", () => this.#make(threadId)).catch(ifGone);
    await retry(how, make, (error) => {
      log.warn({ threadId, err: error }, "could not make a thread's Discord thread; trying again");
    });
  }

  async #make(ownId: ThreadId): Promise<void> {
    const { vm, threads, threadMaker, api, channels, guildId, signal, log } = this.#options;
    const thread = await vm.thread(ownId).get();
    if (!thread.home || thread.home.channelId !== null || signal.aborted) return;
    const active = await api.listActiveThreads(guildId);
    if (thread.home.after !== null && (await this.#findMade(thread, active))) return this.#serve(ownId);
    const newest =
      active
        .map(({ id }) => id)
        .sort(compareIds)
        .at(-1) ?? NONE;
    const wanted = thread.home.parentId ?? (await this.#findChannel(thread));
    const parentId = channels.choose(thread.dir, wanted);
    await vm.thread(ownId).putHome({ after: newest, parentId });
    const channelId = await threadMaker.make({ channelId: parentId, name: threadTitle(thread) });
    threads.setBusy(channelId, true);
    try {
      await vm.thread(ownId).putHome({ channelId });
      await this.#serve(ownId);
    } finally {
      threads.setBusy(channelId, false);
    }
    const starter = findDiscordId(thread.createdBy);
    if (starter === undefined) return;
    await api.addThreadMember(channelId, starter).catch((error: unknown) => {
      log.warn({ threadId: channelId, err: error }, "could not add the person to their thread");
    });
  }

  /** The channel of the thread that it comes from. */
  async #findChannel({ parentId, origin }: Thread): Promise<DiscordId | undefined> {
    const from = parentId ?? origin?.threadId;
    if (!from) return undefined;
    return this.#ofThread(from, channelIdOf);
  }

  /** Streams it, from its start. */
  async #serve(ownId: ThreadId): Promise<void> {
    const { vm, threads } = this.#options;
    const thread = await vm.thread(ownId).get();
    if (!threads.has(thread.threadId)) threads.add(thread, []);
    await this.begin(thread);
  }

  /** Notes the Discord thread that was made for it, if there is one. */
  async #findMade(thread: Thread, active: readonly ChannelInfo[]): Promise<boolean> {
    const { vm, channels, botId, log } = this.#options;
    const { threadId: ownId, home } = thread;
    const channelId = home?.parentId ?? channels.first;
    const after = home?.after;
    if (!after) return false;
    const newer = active.filter(
      ({ id, ownerId, parentId }) => ownerId === botId && parentId === channelId && compareIds(id, after) > 0,
    );
    const known = await Promise.all(newer.map(({ id }) => this.#isKnown(id)));
    const unknown = newer.filter((_, at) => !known[at]);
    // Another one may be of a command that was cut off: that is not called so.
    const made = unknown.find(({ name }) => name === threadTitle(thread)) ?? unknown[0];
    if (!made) return false;
    log.info({ threadId: ownId, channelId: made.id }, "found the Discord thread that was made for a thread");
    await vm.thread(ownId).putHome({ channelId: made.id, parentId: channelId });
    return true;
  }

  #findHome(threadId: ThreadName): Promise<DiscordId | undefined> {
    return this.#ofThread(threadId, discordIdOf);
  }

  /** Undefined also if there is no such thread any more. */
  async #ofThread<T>(threadId: ThreadName, find: (thread: Thread) => T): Promise<T | undefined> {
    try {
      return find(await this.#options.vm.thread(threadId).get());
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") return undefined;
      throw error;
    }
  }

  async #isKnown(id: DiscordId): Promise<boolean> {
    const { vm, threads } = this.#options;
    if (threads.isBusy(id)) return true;
    try {
      await vm.thread(id).get();
      return true;
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") return false;
      throw error;
    }
  }
}

/** The thread is gone, and wants no Discord thread any more. */
function ifGone(error: unknown): void {
  if (!(error instanceof AppError && error.code === "not_found")) throw error;
}
