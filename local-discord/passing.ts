/** State that no restart keeps: ephemeral messages, who types, and whether the bot is online. */
import type { Message, Snowflake } from "./types.ts";

export class Passing {
  readonly #ephemerals = new Map<Snowflake, Message>();
  /** `channel user` → when they stop typing; in milliseconds since 1970. */
  readonly #typing = new Map<string, number>();
  #isBotOnline = false;

  /** Messages that one person sees; they are in no channel's history. */
  get ephemerals(): ReadonlyMap<Snowflake, Message> {
    return this.#ephemerals;
  }

  addEphemeral(message: Message): void {
    this.#ephemerals.set(message.id, message);
  }

  dropEphemeral(id: Snowflake): void {
    this.#ephemerals.delete(id);
  }

  /** A gateway session of the bot is connected. */
  get isBotOnline(): boolean {
    return this.#isBotOnline;
  }

  /** @returns whether it has changed */
  setBotOnline(isOnline: boolean): boolean {
    if (isOnline === this.#isBotOnline) return false;
    this.#isBotOnline = isOnline;
    return true;
  }

  startTyping(channelId: Snowflake, userId: Snowflake, until: number): void {
    this.#typing.set(`${channelId} ${userId}`, until);
  }

  stopTyping(channelId: Snowflake, userId: Snowflake): void {
    this.#typing.delete(`${channelId} ${userId}`);
  }

  /** The users who type in a channel now. */
  typists(channelId: Snowflake, now: number): Snowflake[] {
    for (const [key, until] of this.#typing) if (until <= now) this.#typing.delete(key);
    return [...this.#typing.keys()].flatMap((key) => {
      const [place, userId] = key.split(" ");
      return place === channelId && userId !== undefined ? [userId] : [];
    });
  }
}
