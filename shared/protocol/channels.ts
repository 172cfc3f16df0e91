/** The channels that the relay serves, and their settings. */
import {
  channelPlaceRequestSchema,
  channelReplySchema,
  channelRequestSchema,
  channelsReplySchema,
  channelsRequestSchema,
} from "../channel-api.ts";
import { route } from "./route.ts";

const SHOP = { channelId: "100000000000000003" };

export const channels = {
  list: route({
    method: "get",
    path: "/channels",
    right: "read",
    isOfAnyChannel: true,
    summary: "The channels that the relay serves, the first one first",
    status: 200,
    reply: channelsReplySchema,
    errors: [],
    access: "console",
    isRepeatable: true,
    example: {},
  }),
  putFixed: route({
    method: "put",
    path: "/channels",
    right: "none",
    summary: "Say which channels the relay's own settings name; nothing else changes those",
    body: channelsRequestSchema,
    status: 204,
    errors: [],
    isRepeatable: true,
    example: { body: { channels: [{ id: "100000000000000002", dir: ".", mode: "mention" }] } },
  }),
  set: route({
    method: "put",
    path: "/channel/:channelId",
    right: "settings",
    summary: "Serve a channel, or change its settings; what is not named stays as it is",
    body: channelRequestSchema,
    status: 200,
    reply: channelReplySchema,
    errors: ["invalid_directory", "unsupported", "channel_fixed", "not_found"],
    isRepeatable: true,
    example: { path: SHOP, body: { dir: "shop", mode: "threads", limits: { turns: 20 } } },
  }),
  putPlace: route({
    method: "put",
    path: "/channel/:channelId/place",
    right: "none",
    summary: "Say what a channel is called at Discord, and why it can't be served",
    body: channelPlaceRequestSchema,
    status: 204,
    errors: ["not_found"],
    isRepeatable: true,
    example: { path: SHOP, body: { name: "shop", problem: null } },
  }),
  remove: route({
    method: "delete",
    path: "/channel/:channelId",
    right: "settings",
    summary: "Serve a channel no more; its threads go on",
    status: 204,
    errors: ["not_found", "channel_fixed"],
    isRepeatable: false,
    example: { path: SHOP },
  }),
};
