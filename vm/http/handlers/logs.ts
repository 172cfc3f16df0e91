/** Logs that threads follow. */
import type { logs as routes } from "../../../shared/protocol/logs.ts";
import type { Follows } from "../../follow/follows.ts";
import type { Handlers } from "./handler.ts";

export interface LogServices {
  follows: Follows;
}

export function logHandlers({ follows }: LogServices): Handlers<typeof routes> {
  return {
    listServices: async ({ query }) => ({ services: await follows.list(query.dir, query.prefix) }),
    create: async ({ body, by }) => ({ created: body.dryRun !== true, ...(await follows.create(body, by)) }),
    setView: ({ params, body }) => follows.setView(params.id, body),
  };
}
