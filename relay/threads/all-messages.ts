/** What people write in the channels, each of which has a {@link ChannelMessages} of its own. */
import type { DiscordId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { findRefusal } from "../discord/refusals.ts";
import { ChannelMessages, type ChannelMessagesOptions } from "./channel-messages.ts";
import type { Channels, ServedChannel } from "./channels.ts";

export interface AllMessagesOptions
  extends Omit<ChannelMessagesOptions, "channel" | "channelId" | "getSettings"> {
  channels: Channels;
  log: Log;
}

export class AllMessages {
  readonly #options: AllMessagesOptions;
  readonly #known = new Map<DiscordId, ChannelMessages>();

  constructor(options: AllMessagesOptions) {
    this.#options = options;
  }

  /** Undefined if the channel is not served. */
  find(channelId: string): ChannelMessages | undefined {
    const served = this.#options.channels.find(channelId);
    return served && this.#of(served);
  }

  /** Looks up in each channel what was written while nobody listened. */
  async look(): Promise<void> {
    for (const served of this.#options.channels.list()) await this.#look(served);
  }

  /** Whether a message that was not taken care of yet will make a thread of this id. */
  isAwaited(threadId: DiscordId): boolean {
    return [...this.#known.values()].some((messages) => messages.isAwaited(threadId));
  }

  /** Takes what {@link look} has found. */
  takeMissed(): void {
    for (const messages of this.#known.values()) messages.takeMissed();
  }

  /** To be told before a channel's settings count: what was written in mode `off` begins nothing. */
  async beforeSettings(now: ServedChannel, before: ServedChannel | undefined): Promise<void> {
    const wasOff = before !== undefined && before.row.mode === "off";
    if (wasOff && now.row.mode !== "off" && now.problem === null) await this.#of(now).skipOld();
  }

  /** Takes what was written in channels while they could not be served. */
  async catchUp(channels: readonly ServedChannel[]): Promise<void> {
    for (const served of channels) {
      await this.#look(served);
      this.#of(served).takeMissed();
    }
  }

  async #look(served: ServedChannel): Promise<void> {
    if (served.problem !== null) return;
    try {
      await this.#of(served).look();
    } catch (error) {
      if (findRefusal(error) === undefined) throw error;
      this.#options.log.warn({ channelId: served.id, err: error }, "could not look at a channel's messages");
    }
  }

  #of({ id, channel }: ServedChannel): ChannelMessages {
    const known = this.#known.get(id);
    // Served again after it was not: what it had in mind is of then.
    if (known && known.channel === channel) return known;
    const { channels } = this.#options;
    const getSettings = () => {
      const now = channels.find(id);
      return now?.problem === null ? now.row : undefined;
    };
    const made = new ChannelMessages({ ...this.#options, channel, channelId: id, getSettings });
    this.#known.set(id, made);
    return made;
  }
}
