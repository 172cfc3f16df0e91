/** The engines of agent threads. */
import { enginesReplySchema } from "../engines-api.ts";
import { route } from "./route.ts";

export const engines = {
  list: route({
    method: "get",
    path: "/engines",
    right: "read",
    isOfAnyChannel: true,
    summary: "Engines: what is installed and signed in, what each can, and what to type to get it",
    status: 200,
    reply: enginesReplySchema,
    errors: [],
    access: "console",
    isRepeatable: true,
    example: {},
  }),
};
