/** Which thread a message of the channel is about. */
import { AppError } from "../../shared/errors.ts";
import type { DiscordId } from "../../shared/ids.ts";
import type { DiscordApi } from "../discord/api.ts";
import { answered, createdThread } from "../discord/channel-message.ts";
import type { DiscordMessage } from "../discord/message-schema.ts";
import type { Thread } from "../sidecar/names.ts";
import type { Vm } from "../sidecar/vm.ts";
import type { Channel } from "./channel.ts";
import type { Threads } from "./threads.ts";

/** How many answers to answers are followed to the thread that they are about. */
const MAX_HOPS = 10;
/** How many of people's messages are remembered with the message that they answer, so that Discord need not be asked. */
const MAX_ANSWERS = 1_000;

export interface ChannelRoutesOptions {
  api: Pick<DiscordApi, "findMessage">;
  vm: Vm;
  threads: Pick<Threads, "has">;
  channel: Pick<Channel, "rows">;
  channelId: DiscordId;
  /** Whether a thread is being made of that message. */
  isBeginning: (messageId: DiscordId) => boolean;
}

export class ChannelRoutes {
  readonly #options: ChannelRoutesOptions;
  /** The message that each message answers. */
  readonly #answers = new Map<DiscordId, DiscordId | undefined>();

  constructor(options: ChannelRoutesOptions) {
    this.#options = options;
  }

  /** A person wrote it: many at once would otherwise be looked up in Discord one by one. */
  note(message: DiscordMessage): void {
    this.#answers.set(message.id, answered(message));
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > MAX_ANSWERS && oldest !== undefined) this.#answers.delete(oldest);
  }

  /** The thread that a message answers; undefined if it answers nothing, or what belongs to none. */
  async findAnswered(message: DiscordMessage): Promise<DiscordId | undefined> {
    const reference = answered(message);
    return reference === undefined ? undefined : this.resolve(reference);
  }

  /**
   * The thread that a message made, went into or tells of, or that of the message which it answers.
   * @throws AppError of the sidecar, or what Discord refuses with
   */
  async resolve(messageId: DiscordId): Promise<DiscordId | undefined> {
    const { threads, channel, isBeginning } = this.#options;
    const rows = await channel.rows();
    let id: DiscordId | undefined = messageId;
    for (let hops = 0; id !== undefined && hops < MAX_HOPS; hops++) {
      if (isBeginning(id) || threads.has(id)) return id;
      const passed = rows?.findPassed(id);
      if (passed !== undefined) return passed;
      if (await this.findThread(id)) return id;
      const next = await this.#next(id);
      if (next.created !== undefined) return next.created;
      id = next.answers;
    }
    return undefined;
  }

  async findThread(threadId: DiscordId): Promise<Thread | undefined> {
    try {
      return await this.#options.vm.thread(threadId).get();
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") return undefined;
      throw error;
    }
  }

  async #next(id: DiscordId): Promise<{ created?: DiscordId | undefined; answers?: DiscordId | undefined }> {
    if (this.#answers.has(id)) return { answers: this.#answers.get(id) };
    const message = await this.#options.api.findMessage(this.#options.channelId, id);
    return message ? { created: createdThread(message), answers: answered(message) } : {};
  }
}
