/** Sends people's messages in a channel that one agent hears to that agent, with the channel as their place. */
import { AppError } from "../../shared/errors.ts";
import type { DiscordId } from "../../shared/ids.ts";
import type { DiscordMessage } from "../discord/message-schema.ts";
import type { LiveThread } from "../kinds/kind.ts";
import type { Vm } from "../sidecar/vm.ts";
import type { Channel } from "./channel.ts";
import type { Inputs } from "./inputs.ts";
import type { Threads } from "./threads.ts";

export interface MainMessagesOptions {
  vm: Vm;
  threads: Pick<Threads, "find">;
  inputs: Pick<Inputs, "typeInto">;
  channel: Pick<Channel, "rows">;
  channelId: DiscordId;
}

export class MainMessages {
  readonly #options: MainMessagesOptions;

  constructor(options: MainMessagesOptions) {
    this.#options = options;
  }

  /**
   * The agent that hears the channel.
   * @param userId who wrote first, if it is to be made
   * @param answered the thread that their message answers
   * @returns undefined if there is none, and the message goes to another thread that is served
   * @throws AppError `unavailable` while its Discord thread is made, and what the sidecar refuses with
   */
  async find(userId: string, answered: DiscordId | undefined): Promise<LiveThread | undefined> {
    try {
      return await this.#find(userId);
    } catch (error) {
      const hasReader = answered !== undefined && this.#options.threads.find(answered) !== undefined;
      if (hasReader && error instanceof AppError) return undefined;
      throw error;
    }
  }

  async #find(userId: string): Promise<LiveThread> {
    const { vm, threads, channelId } = this.#options;
    const { threadId } = await vm.as(userId).voice.findMain(channelId);
    const thread = await vm.thread(threadId).get();
    const live = threads.find(thread.threadId);
    if (!live)
      throw new AppError("unavailable", "The thread of the agent that hears this channel is being made.");
    return live;
  }

  /** @returns what of it did not go in, for its writer */
  async take(live: LiveThread, message: DiscordMessage): Promise<string | undefined> {
    const { inputs, channel, channelId } = this.#options;
    const rest = await inputs.typeInto(live, message, { channelId });
    await (await channel.rows())?.notePassed(message.id, live.threadId);
    return rest;
  }
}
