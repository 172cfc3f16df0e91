/** People in Discord, and their roles. */
import {
  peopleReplySchema,
  peopleRequestSchema,
  roleRequestSchema,
  serverRolesRequestSchema,
} from "../people-api.ts";
import { route } from "./route.ts";

export const people = {
  list: route({
    method: "get",
    path: "/people",
    right: "read",
    isOfAnyChannel: true,
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
    right: "none",
    summary: "Say who has a role by the relay's own settings; nobody else has one by them from then on",
    body: peopleRequestSchema,
    status: 204,
    errors: [],
    isRepeatable: true,
    example: { body: { people: [{ id: "100000000000000001", role: "maker", handle: "ada" }] } },
  }),
  putServerRoles: route({
    method: "put",
    path: "/people/server-roles",
    right: "none",
    summary: "Say which roles the relay's server has at Discord; no other is given a role here from then on",
    body: serverRolesRequestSchema,
    status: 204,
    errors: [],
    isRepeatable: true,
    example: { body: { roles: [{ id: "100000000000000005", handle: "developers" }] } },
  }),
  setRole: route({
    method: "put",
    path: "/people/role",
    right: "roles",
    summary:
      "Give a user, or whoever has a role at Discord, a role here: in one channel or in all; null takes it back",
    body: roleRequestSchema,
    status: 200,
    reply: peopleReplySchema,
    errors: ["channel_fixed", "not_found"],
    isRepeatable: true,
    example: { body: { id: "100000000000000005", role: "viewer", channelId: "100000000000000003" } },
  }),
};
