/** The channels that the relay serves: the sidecar's rows, what was seen of each at Discord, and what stands in them. */
import type { ChannelRow, FixedChannel } from "../../shared/channel-api.ts";
import type { DiscordId } from "../../shared/ids.ts";
import { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import type { Post } from "../delivery/outgoing.ts";
import type { DiscordApi } from "../discord/api.ts";
import { ChannelLooks, type Seen } from "../discord/channel-look.ts";
import { findRefusal } from "../discord/refusals.ts";
import type { Vm } from "../sidecar/vm.ts";
import { Channel, type ChannelOptions } from "./channel.ts";

export interface ChannelsOptions extends Omit<ChannelOptions, "channelId" | "isMine"> {
  api: DiscordApi;
  vm: Vm;
  guildId: string;
  botId: string;
  /** As the relay's own settings have it: served before the sidecar has said which others there are. */
  fixed: FixedChannel;
  log: Log;
}

/** A channel that is lost, back and lost again within this time is announced once; in milliseconds. */
const HOUR_MS = 3_600_000;

/** One that is served. */
export interface ServedChannel {
  readonly id: DiscordId;
  /** What people set of it. */
  readonly row: ChannelRow;
  readonly channel: Channel;
  /** Why it can't be served now. */
  readonly problem: string | null;
  /** Its Discord threads can't be looked up either: it is gone, or out of the bot's sight. */
  readonly isLost: boolean;
  readonly isGone: boolean;
}

/** The changes that the sidecar's rows and Discord have brought. */
export interface Refreshed {
  /** Channels in which a message does something from now on, and did nothing before. */
  on: readonly ServedChannel[];
  /** Channels that can be served again. */
  back: readonly ServedChannel[];
}

/** Told before a channel's settings count. @param before undefined if it was not served */
export type BeforeSettings = (now: ServedChannel, before: ServedChannel | undefined) => Promise<void>;

export class Channels {
  readonly #options: ChannelsOptions;
  #served = new Map<string, ServedChannel>();
  readonly #queue = new KeyedQueue();
  #isStarted = false;
  /** The sidecar's word for the rows that are served. */
  #state = "";

  constructor(options: ChannelsOptions) {
    this.#options = options;
    const row = { ...options.fixed, isFixed: true, name: null, problem: null };
    const seen = { problem: null, isLost: false, isGone: false };
    this.#served.set(options.fixed.id, { id: row.id, row, ...seen, channel: this.#open(row.id) });
  }

  /** The state of the sidecar's rows when they were read last. */
  get state(): string {
    return this.#state;
  }

  /** The first one first. */
  list(): ServedChannel[] {
    return [...this.#served.values()];
  }

  find(channelId: string | undefined): ServedChannel | undefined {
    return channelId === undefined ? undefined : this.#served.get(channelId);
  }

  /** Where what belongs to no other is; the first that can be served. */
  get first(): DiscordId {
    const { fixed } = this.#options;
    return this.list().find(({ problem }) => problem === null)?.id ?? fixed.id;
  }

  /**
   * The channel in which a thread belongs that nobody asked for in Discord.
   * @param parentId the channel of the thread that it comes from
   */
  choose(dir: string, parentId: DiscordId | undefined): DiscordId {
    const usable = this.list().filter(({ problem }) => problem === null);
    if (usable.some(({ id }) => id === parentId) && parentId !== undefined) return parentId;
    const depth = (row: ChannelRow) => (row.dir === "." ? 0 : row.dir.length);
    const [nearest] = usable
      .filter(({ row }) => isBelow(row.dir, dir))
      .sort((a, b) => depth(b.row) - depth(a.row));
    return nearest && nearest.row.dir !== "." ? nearest.id : this.first;
  }

  /** Asks Discord about a channel, served or not. @throws the error that Discord fails with */
  look(channelId: DiscordId): Promise<Seen> {
    return new ChannelLooks(this.#options).look(channelId);
  }

  /** Whether what is in `channelId`, or in none that is known, is told in the channel `mine`. */
  #isTold(mine: DiscordId, channelId: DiscordId | undefined): boolean {
    const owner = this.find(channelId);
    return (owner === undefined || owner.problem !== null ? this.first : owner.id) === mine;
  }

  /** Reads the rows, looks at the channels at Discord, and serves those. */
  refresh(beforeSettings: BeforeSettings): Promise<Refreshed> {
    return this.#queue.run("refresh", () => this.#refresh(beforeSettings));
  }

  async #refresh(beforeSettings: BeforeSettings): Promise<Refreshed> {
    const { vm, log } = this.#options;
    const { channels: rows, state } = await vm.channels.list();
    const looks = new ChannelLooks(this.#options);
    const before = this.#served;
    const served = new Map<string, ServedChannel>();
    const places: (() => Promise<void>)[] = [];
    for (const row of rows) {
      const seen = await looks.look(row.id);
      const known = before.get(row.id);
      const channel = known?.channel ?? this.#open(row.id);
      const { problem, isLost, isGone } = seen;
      const now = { id: row.id, row, channel, problem, isLost, isGone };
      await this.#tellSettings(now, known, beforeSettings);
      served.set(row.id, now);
      if (this.#isStarted && !known) channel.start();
      places.push(() => this.#note(row, seen));
    }
    this.#served = served;
    this.#state = state;
    for (const { id, channel } of [...before.values()].filter((one) => !served.has(one.id))) {
      log.info({ channelId: id }, "a channel is not served any more");
      await channel.close();
    }
    // The loss is noted after it was announced. A relay that dies in between announces it again under the same name,
    // which is posted once.
    await this.#tellLost(rows);
    for (const note of places) await note();
    const isOn = (one: ServedChannel | undefined) => one?.problem === null && one.row.mode !== "off";
    const now = [...served.values()];
    const couldNot = ({ id }: ServedChannel) => (before.get(id)?.problem ?? null) !== null;
    return {
      on: now.filter((one) => isOn(one) && !isOn(before.get(one.id))),
      back: now.filter((one) => one.problem === null && couldNot(one)),
    };
  }

  start(): void {
    this.#isStarted = true;
    for (const { channel } of this.list()) channel.start();
  }

  /** Something has happened in a thread: it may need somebody, or not any more. */
  poke(): void {
    for (const { channel } of this.list()) channel.poke();
  }

  /**
   * Says something in a channel, or, if it takes nothing, in the first one that does.
   * @throws what Discord refuses with
   */
  async say(channelId: DiscordId, name: string, post: Pick<Post, "text"> & Partial<Post>): Promise<void> {
    const others = this.list().filter(({ id, problem }) => id !== channelId && problem === null);
    const own = this.find(channelId);
    const places = own ? [own, ...others] : others;
    for (const [at, { channel }] of places.entries()) {
      try {
        return await channel.say(name, post);
      } catch (error) {
        if (findRefusal(error) === undefined || at === places.length - 1) throw error;
      }
    }
  }

  /** Whether a channel is gone from Discord: then its threads are too, and nobody has ended them. */
  async isGone(channelId: DiscordId): Promise<boolean> {
    if (this.find(channelId)?.isGone) return true;
    return (await this.#options.api.findChannel(channelId)) === undefined;
  }

  async close(): Promise<void> {
    await Promise.all(this.list().map(({ channel }) => channel.close()));
  }

  #open(channelId: DiscordId): Channel {
    const isMine = (other: DiscordId | undefined) => this.#isTold(channelId, other);
    return new Channel({ ...this.#options, channelId, isMine });
  }

  async #tellSettings(now: ServedChannel, before: ServedChannel | undefined, tell: BeforeSettings) {
    try {
      await tell(now, before);
    } catch (error) {
      if (findRefusal(error) === undefined) throw error;
      this.#options.log.warn({ channelId: now.id, err: error }, "could not look at a channel's messages");
    }
  }

  async #note(row: ChannelRow, { name, problem }: Seen): Promise<void> {
    const place = { name: name ?? row.name, problem };
    if (place.name === row.name && place.problem === row.problem) return;
    await this.#options.vm.channels.putPlace(row.id, place);
  }

  /** One that is lost stays as a row; people read it once, where they can. */
  async #tellLost(rows: readonly ChannelRow[]): Promise<void> {
    for (const row of rows) {
      const { problem } = this.#served.get(row.id) ?? { problem: null };
      if (problem === null || row.problem !== null) continue;
      this.#options.log.warn({ channelId: row.id, problem }, "a channel can't be served");
      const other = this.first;
      if (other === row.id) continue;
      const called = row.name === null ? row.id : `#${row.name}`;
      const text = `⚠️ I can't serve ${called}: ${problem} What runs in its threads goes on, and its settings stay; \`/here\` or \`threadmux channel list\` shows them.`;
      const hour = Math.floor(this.#options.now() / HOUR_MS);
      await this.say(other, `lost.${row.id}.${hour}`, { text }).catch((error: unknown) => {
        if (findRefusal(error) === undefined) throw error;
        this.#options.log.warn({ channelId: row.id, err: error }, "could not say that a channel is lost");
      });
    }
  }
}

function isBelow(parent: string, dir: string): boolean {
  return parent === "." || dir === parent || dir.startsWith(`${parent}/`);
}
