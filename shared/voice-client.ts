/** The client's calls for agents that speak with a tool. */
import type * as z from "zod";
import type { SidecarClient } from "./client.ts";
import { voice } from "./protocol/voice.ts";
import type {
  HandOverReply,
  MainStatus,
  mainReplySchema,
  SpokenNote,
  spokenReplySchema,
} from "./voice-api.ts";

export class VoiceClient {
  readonly #client: SidecarClient;

  constructor(client: SidecarClient) {
    this.#client = client;
  }

  /** The thread of the agent that hears a channel. @throws AppError `unsupported`, `thread_ended` */
  findMain(channelId: string): Promise<z.output<typeof mainReplySchema>> {
    return this.#client.call(voice.main, { channelId });
  }

  /** How the agent that hears a channel is; it is not made by that. @throws AppError `not_found`, `unsupported` */
  getMain(channelId: string): Promise<MainStatus> {
    return this.#client.call(voice.status, { channelId });
  }

  /**
   * Lets the agent that hears a channel go on in another directory.
   * @param dir below `REPOS_DIR`
   * @throws AppError `not_found`, `unsupported`, `thread_ended`, `invalid_directory`, `forbidden`
   */
  handOver(channelId: string, dir: string): Promise<HandOverReply> {
    return this.#client.call(voice.handOver, { channelId }, { body: { dir } });
  }

  /** Lists messages that are to be said, the oldest first. */
  listSpoken(): Promise<z.output<typeof spokenReplySchema>> {
    return this.#client.call(voice.list, {});
  }

  /** @throws AppError `not_found` */
  async noteSpoken(id: number, note: SpokenNote): Promise<void> {
    await this.#client.call(voice.note, { spokenId: `${id}` }, { body: note });
  }
}
