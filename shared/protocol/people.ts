/** People in Discord, and their roles. The relay writes both at its start. */
import { peopleReplySchema, peopleRequestSchema } from "../people-api.ts";
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
};
