/** People in Discord, their roles, and the channels that the relay serves. The relay writes both at its start. */
import {
  channelsReplySchema,
  channelsRequestSchema,
  peopleReplySchema,
  peopleRequestSchema,
} from "../people-api.ts";
import { route } from "./route.ts";

export const people = {
  list: route({
    method: "get",
    path: "/people",
    summary: "Who has a role",
    status: 200,
    reply: peopleReplySchema,
    errors: [],
    access: "console",
    isRepeatable: true,
    example: {},
  }),
  put: route({
    method: "put",
    path: "/people",
    summary: "Say who has a role; nobody else has one from then on",
    body: peopleRequestSchema,
    status: 204,
    errors: [],
    access: "relay",
    isRepeatable: true,
    example: { body: { people: [{ id: "100000000000000001", role: "maker", handle: "ada" }] } },
  }),
  listChannels: route({
    method: "get",
    path: "/channels",
    summary: "The channels that the relay serves",
    status: 200,
    reply: channelsReplySchema,
    errors: [],
    isRepeatable: true,
    example: {},
  }),
  putChannels: route({
    method: "put",
    path: "/channels",
    summary: "Say which channels the relay serves, and how",
    body: channelsRequestSchema,
    status: 204,
    errors: [],
    access: "relay",
    isRepeatable: true,
    example: { body: { channels: [{ id: "100000000000000002", dir: ".", mode: "mention" }] } },
  }),
};
