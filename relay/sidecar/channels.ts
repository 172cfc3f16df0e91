/** Reads and changes channels at the sidecar, in the name of the person who asks. */
import type { ChannelPlace, ChannelRow } from "../../shared/channel-api.ts";
import type { SidecarClient } from "../../shared/client.ts";
import type { DiscordId } from "../../shared/ids.ts";
import { channels } from "../../shared/protocol/channels.ts";
import type { SentBody } from "../../shared/protocol/route.ts";

export class VmChannels {
  readonly #client: SidecarClient;

  constructor(client: SidecarClient) {
    this.#client = client;
  }

  /** The channels that are served, the first one first; and the sidecar's word for that state. */
  list(): Promise<{ channels: ChannelRow[]; state: string }> {
    return this.#client.call(channels.list, {});
  }

  /** @throws AppError `channel_fixed`, `invalid_directory`, `unsupported` */
  async set(channelId: DiscordId, request: SentBody<typeof channels.set>): Promise<ChannelRow> {
    return (await this.#client.call(channels.set, { channelId }, { body: request })).channel;
  }

  async remove(channelId: DiscordId): Promise<void> {
    await this.#client.call(channels.remove, { channelId });
  }

  async putPlace(channelId: DiscordId, place: ChannelPlace): Promise<void> {
    await this.#client.call(channels.putPlace, { channelId }, { body: place });
  }
}
