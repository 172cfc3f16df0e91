/** Directives: agents with a name, as files. */
import { directivesQuerySchema, directivesReplySchema } from "../directive-api.ts";
import { route } from "./route.ts";

export const directives = {
  list: route({
    method: "get",
    path: "/directives",
    right: "read",
    isOfAnyChannel: true,
    summary:
      "Directives that a thread in a directory may be made by: its own once a person has trusted it, and the person's",
    query: directivesQuerySchema,
    status: 200,
    reply: directivesReplySchema,
    errors: ["invalid_directory"],
    access: "console",
    isRepeatable: true,
    example: { query: { dir: "shop" } },
  }),
};
