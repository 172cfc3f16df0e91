/** The channels that the relay serves, and their settings. */
import type { channels as routes } from "../../../shared/protocol/channels.ts";
import type { Channels } from "../../agents/channels.ts";
import type { Handlers } from "./handler.ts";

export interface ChannelServices {
  channels: Channels;
}

export function channelHandlers({ channels }: ChannelServices): Handlers<typeof routes> {
  return {
    list: () => channels.listAll(),
    putFixed: ({ body }) => channels.replaceFixed(body.channels),
    set: async ({ params, body, by }) => ({ channel: await channels.set(params.channelId, body, by) }),
    putPlace: ({ params, body }) => channels.putPlace(params.channelId, body),
    remove: ({ params }) => channels.remove(params.channelId),
  };
}
