/** The settings of the channel that somebody is in: shown, and set once the bot can serve it. */
import type { ChannelRequest, ChannelRow } from "../../shared/channel-api.ts";
import { AppError } from "../../shared/errors.ts";
import type { DiscordId } from "../../shared/ids.ts";
import type { PersonRow, RoleRequest } from "../../shared/people-api.ts";
import type { Reply } from "../actions/frame/controls.ts";
import { hereReply } from "../content/lists/here.ts";
import type { Vm } from "../sidecar/vm.ts";
import type { Access } from "./access.ts";
import type { Channels } from "./channels.ts";
import type { ServerRoles } from "./server-roles.ts";

export interface HereOptions {
  channels: Pick<Channels, "look">;
  access: Pick<Access, "may" | "whoCould">;
  serverRoles: Pick<ServerRoles, "has" | "tell">;
  /** Reads the channels' settings anew; resolves once they count. */
  refreshChannels: () => Promise<void>;
}

export class Here {
  readonly #options: HereOptions;

  constructor(options: HereOptions) {
    this.#options = options;
  }

  /** @param userId the person who asks; the reply says what they may change */
  async show(channelId: DiscordId, vm: Vm, userId: string): Promise<Reply> {
    const { channels, access, serverRoles } = this.#options;
    const [row, { problem }, people] = await Promise.all([
      findRow(vm, channelId),
      channels.look(channelId),
      vm.people.list(),
    ]);
    const mayChange = access.may(userId, "settings", channelId);
    const dirs = row || !mayChange ? [] : await vm.listRepos("");
    const here = people.filter((one) => one.channelId === null || one.channelId === channelId);
    // A wrong id gives nobody anything, and nothing else says so.
    const isMissing = ({ kind, id }: PersonRow) => kind === "role" && serverRoles.has(id) === false;
    const missingRoles = [...new Set(here.filter(isMissing).map(({ id }) => id))];
    const mayGiveRoles = access.may(userId, "roles", channelId);
    const whoCould = `It is not yours to change. ${access.whoCould("settings", channelId)}`;
    const rights = { mayChange, mayGiveRoles, whoCould };
    return hereReply({ channelId, row, problem, dirs, people: here, missingRoles, ...rights });
  }

  /** @throws AppError `channel_fixed`, `not_found`, `forbidden`, `invalid_request` */
  async setRole(channelId: DiscordId, request: RoleRequest, vm: Vm, userId: string): Promise<Reply> {
    // The role may be a moment old.
    if (request.kind === "role") await this.#options.serverRoles.tell();
    await vm.people.setRole(request);
    await this.#options.refreshChannels();
    const { content, ...shown } = await this.show(channelId, vm, userId);
    return { ...shown, content: `${givenText(request)}\n${content}` };
  }

  /**
   * @param vm in the name of the person who sets it
   * @throws AppError `invalid_request` if the bot can't serve the channel, and what the sidecar refuses with
   */
  async set(channelId: DiscordId, request: ChannelRequest, vm: Vm, userId: string): Promise<Reply> {
    const { problem } = await this.#options.channels.look(channelId);
    if (problem !== null)
      throw new AppError("invalid_request", `channel: I can't serve it. ${problem} Nothing was changed.`);
    await vm.channels.set(channelId, request);
    await this.#options.refreshChannels();
    return this.show(channelId, vm, userId);
  }

  /** @throws AppError `not_found`, `channel_fixed` */
  async remove(channelId: DiscordId, vm: Vm): Promise<Reply> {
    await vm.channels.remove(channelId);
    await this.#options.refreshChannels();
    return { content: `📌 **<#${channelId}>** is not served any more. Its threads go on.`, buttons: [] };
  }
}

function givenText({ kind, id, role }: RoleRequest): string {
  const who = kind === "user" ? `<@${id}>` : `<@&${id}>`;
  return role === null
    ? `👤 ${who} has no role of their own in this channel any more.`
    : `👤 ${who} has the role ${role} in this channel now.`;
}

async function findRow(vm: Vm, channelId: DiscordId): Promise<ChannelRow | undefined> {
  const { channels } = await vm.channels.list();
  return channels.find(({ id }) => id === channelId);
}
