/** The settings of the channel that somebody is in: shown, and set once the bot can serve it. */
import type { ChannelRequest, ChannelRow } from "../../shared/channel-api.ts";
import { AppError } from "../../shared/errors.ts";
import type { DiscordId } from "../../shared/ids.ts";
import type { Reply } from "../actions/frame/controls.ts";
import { hereReply } from "../content/lists/here.ts";
import type { Vm } from "../sidecar/vm.ts";
import type { Channels } from "./channels.ts";

export interface HereOptions {
  channels: Pick<Channels, "look">;
  /** Reads the channels' settings anew; resolves once they count. */
  refreshChannels: () => Promise<void>;
}

export class Here {
  readonly #options: HereOptions;

  constructor(options: HereOptions) {
    this.#options = options;
  }

  async show(channelId: DiscordId, vm: Vm): Promise<Reply> {
    const [row, { problem }] = await Promise.all([
      findRow(vm, channelId),
      this.#options.channels.look(channelId),
    ]);
    const dirs = row ? [] : await vm.listRepos("");
    return hereReply({ channelId, row, problem, dirs, mayChange: true });
  }

  /**
   * @param vm in the name of the person who sets it
   * @throws AppError `invalid_request` if the bot can't serve the channel, and what the sidecar refuses with
   */
  async set(channelId: DiscordId, request: ChannelRequest, vm: Vm): Promise<Reply> {
    const { problem } = await this.#options.channels.look(channelId);
    if (problem !== null)
      throw new AppError("invalid_request", `channel: I can't serve it. ${problem} Nothing was changed.`);
    await vm.setChannel(channelId, request);
    await this.#options.refreshChannels();
    return this.show(channelId, vm);
  }

  /** @throws AppError `not_found`, `channel_fixed` */
  async remove(channelId: DiscordId, vm: Vm): Promise<Reply> {
    await vm.removeChannel(channelId);
    await this.#options.refreshChannels();
    return { content: `📌 **<#${channelId}>** is not served any more. Its threads go on.`, buttons: [] };
  }
}

async function findRow(vm: Vm, channelId: DiscordId): Promise<ChannelRow | undefined> {
  const { channels } = await vm.listChannels();
  return channels.find(({ id }) => id === channelId);
}
