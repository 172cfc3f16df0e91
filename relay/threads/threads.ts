/** The threads that the relay serves now. */
import type { DiscordId, ThreadName } from "../../shared/ids.ts";
import { kindIn, type OwnKind } from "../../shared/kinds.ts";
import type { LedgerRow } from "../../shared/ledger-api.ts";
import { cleanTitle, isMadeTitle } from "../../shared/title.ts";
import type { ChannelInfo } from "../discord/api.ts";
import { findRefusal, type Refusal } from "../discord/refusals.ts";
import type { LiveThread, LiveThreadOptions, RelayKind } from "../kinds/kind.ts";
import { isInDiscord, type Thread } from "../sidecar/names.ts";
import type { Channels } from "./channels.ts";
import { Owners } from "./owners.ts";

export interface ThreadsOptions extends Omit<LiveThreadOptions, "thread" | "rows" | "ownerOf" | "onRefused"> {
  kinds: Readonly<Record<OwnKind, RelayKind>>;
  /** Where the bot says what it can't say in a thread. */
  channels: Pick<Channels, "say" | "poke" | "first" | "isGone" | "find">;
  /** Looks at the channels at Discord. Resolves once those that the bot can't serve are known and announced. */
  refreshChannels: () => Promise<void>;
}

export class Threads {
  readonly #options: ThreadsOptions;
  readonly #owners = new Owners();
  readonly #live = new Map<string, LiveThread>();
  /** The fields from which the names of threads are made that nobody has named. */
  readonly #made = new Map<string, Pick<Thread, "type" | "facts" | "dir" | "command">>();
  /** Discord threads that we are making or ending right now. */
  readonly #busy = new Set<string>();
  #onChanged: () => void = () => undefined;
  #onDeleted: (threadId: DiscordId) => Promise<void> = () => Promise.resolve();
  /** Channels of which it was said that the bot may not write in a thread of theirs. */
  readonly #reported = new Set<DiscordId>();

  constructor(options: ThreadsOptions) {
    this.#options = options;
  }

  /** @param listener is told when there is another thread to read. */
  onChanged(listener: () => void): void {
    this.#onChanged = listener;
  }

  /** @param listener is told that a Discord thread is gone. */
  onDeleted(listener: (threadId: DiscordId) => Promise<void>): void {
    this.#onDeleted = listener;
  }

  async close(): Promise<void> {
    await Promise.all(this.list().map(({ delivery }) => delivery.close()));
  }

  find(threadId: ThreadName): LiveThread | undefined {
    return this.#live.get(threadId);
  }

  has(threadId: ThreadName): boolean {
    return this.#live.has(threadId);
  }

  list(): LiveThread[] {
    return [...this.#live.values()];
  }

  isBusy(threadId: ThreadName): boolean {
    return this.#busy.has(threadId);
  }

  setBusy(threadId: ThreadName, isBusy: boolean): void {
    if (isBusy) this.#busy.add(threadId);
    else this.#busy.delete(threadId);
  }

  /** Begins to stream a thread. */
  add(thread: Thread, rows: readonly LedgerRow[], paused?: string): LiveThread {
    const { threadId } = thread;
    if (!isInDiscord(thread)) throw new Error(`${threadId} has no Discord thread`);
    this.#owners.note(thread.ownId, thread.createdBy);
    const live = kindIn(this.#options.kinds, thread.type).open({
      ...this.#options,
      thread,
      rows,
      ownerOf: (createdBy) => this.#owners.of(createdBy),
      onRefused: (refusal) => {
        this.#onRefused(live, refusal).catch((error: unknown) => {
          this.#options.log.error({ threadId, err: error }, "could not let go of a thread");
        });
      },
    });
    live.paused = paused;
    this.#live.set(threadId, live);
    this.#made.set(live.threadId, thread);
    if (paused === undefined) live.delivery.resume();
    this.#onChanged();
    return live;
  }

  /** Ends the streaming. */
  async drop(threadId: ThreadName): Promise<void> {
    const live = this.#live.get(threadId);
    this.#live.delete(threadId);
    if (live) this.#made.delete(live.threadId);
    await live?.delivery.close();
    this.#options.channels.poke();
  }

  /** A Discord thread was archived, locked, or came back. */
  onDiscordThreadChanged(channel: ChannelInfo): void {
    const live = this.#live.get(channel.id);
    if (!live || this.#busy.has(channel.id)) return;
    this.noteName(channel);
    const wasPaused = live.paused !== undefined;
    live.paused = findPause(channel);
    if (live.paused !== undefined || !wasPaused) return;
    live.delivery.resume();
    this.#onChanged();
  }

  /** Resumes the threads of channels in which the bot may write again. */
  onChannelsBack(channelIds: readonly DiscordId[]): void {
    for (const id of channelIds) this.#reported.delete(id);
    const paused = this.list().filter((live) => live.paused === FORBIDDEN);
    const back = paused.filter(({ channelId }) => channelId !== undefined && channelIds.includes(channelId));
    for (const live of back) {
      live.paused = undefined;
      live.delivery.resume();
    }
    if (back.length > 0) this.#onChanged();
  }

  /** Takes over the title that a thread's engine has given it. A title that a person has given stays. */
  noteTitle(live: LiveThread, title: string): void {
    if (title === "" || title === live.title || !this.#isMade(live, live.title)) return;
    live.title = title;
    this.#rename(live);
  }

  /** Takes over the name that a person gave the Discord thread, here and at the sidecar. */
  noteName({ id, name }: ChannelInfo): void {
    const live = this.#live.get(id);
    const title = cleanTitle(name ?? "");
    if (!live || title === "" || title === live.title) return;
    // The thread got its title while the relay was away, so Discord still shows the made one.
    if (this.#isMade(live, title) && !this.#isMade(live, live.title)) {
      this.#rename(live);
      return;
    }
    live.title = title;
    live.vm.setTitle(title).catch((error: unknown) => {
      this.#options.log.warn({ threadId: id, err: error }, "could not pass on a thread's new name");
    });
  }

  #isMade({ threadId }: LiveThread, title: string): boolean {
    const made = this.#made.get(threadId);
    return made !== undefined && isMadeTitle(title, made);
  }

  #rename({ threadId, title }: LiveThread): void {
    this.#options.api.setName(threadId, title).catch((error: unknown) => {
      this.#options.log.warn({ threadId, err: error }, "could not rename a Discord thread");
    });
  }

  async #onRefused(live: LiveThread, refusal: Refusal): Promise<void> {
    const { log } = this.#options;
    const { threadId } = live;
    if (this.#live.get(threadId) !== live) return;
    log.warn({ threadId, refusal }, "a Discord thread takes nothing");
    switch (refusal) {
      case "unknown channel":
        return this.#onUnknown(live);
      case "archived":
      case "locked":
        live.paused = `the thread is ${refusal}`;
        return;
      case "forbidden":
        live.paused = FORBIDDEN;
        return this.#reportForbidden(live);
      case "unknown message":
      case "has a thread":
        return; // whoever asked deals with these
      default:
        refusal satisfies never;
    }
  }

  /** A channel that is deleted takes its Discord threads along: what runs in them was ended by nobody, and goes on. */
  async #onUnknown(live: LiveThread): Promise<void> {
    const { channels } = this.#options;
    const { threadId, channelId } = live;
    if (channelId === undefined || !(await channels.isGone(channelId))) return this.#onDeleted(threadId);
    live.paused = "its channel is gone";
  }

  async #reportForbidden({ threadId, channelId }: LiveThread): Promise<void> {
    const { channels, refreshChannels, log } = this.#options;
    const place = channelId ?? channels.first;
    if (this.#reported.has(place)) return;
    this.#reported.add(place);
    // The bot mostly lacks permissions in the whole channel. The refresh then announces them in another channel, if
    // there is one.
    await refreshChannels();
    if (channels.find(channelId)?.problem != null && channels.first !== place) return;
    const content = `⚠️ I may not write in <#${threadId}> any more, so nothing is shown there. Give me back View Channel, Send Messages in Threads and Read Message History, and I go on.`;
    try {
      await channels.say(place, `forbidden.${threadId}`, { text: content });
    } catch (error) {
      if (findRefusal(error) === undefined) throw error;
      log.warn({ err: error }, "could not report lost permissions");
    }
  }
}

const FORBIDDEN = "the bot may not write there";

/** Why a thread is not streamed; undefined where it can be, also by bringing it back. */
export function findPause(channel: ChannelInfo): string | undefined {
  if (channel.isLocked) return "the thread is locked";
  return channel.isArchivedByPerson ? "the thread was archived by hand" : undefined;
}
