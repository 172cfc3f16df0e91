/** Inputs: what is typed into terminals and said to agents. */
import { amendRequestSchema, controlReplySchema } from "../agent/api.ts";
import { inputReplySchema, inputRequestSchema } from "../input-api.ts";
import { HELPER } from "./example-threads.ts";
import { route } from "./route.ts";

export const inputs = {
  send: route({
    method: "post",
    path: "/thread/:id/input",
    right: "type",
    summary: "Type text or press a key; give an agent its next message",
    body: inputRequestSchema,
    status: 200,
    reply: inputReplySchema,
    errors: [
      "not_found",
      "thread_paused",
      "thread_locked",
      "thread_single",
      "thread_ended",
      "rate_limited",
      "unavailable",
      "unknown_outcome",
    ],
    access: "console",
    // With an `inputId` it is: the same id a second time does nothing.
    isRepeatable: false,
    example: { path: HELPER, body: { text: "And goodbye.", inputId: "m1" } },
  }),
  amend: route({
    method: "put",
    path: "/thread/:id/input/:inputId",
    right: "type",
    summary: "Change an agent's message, or take it back, as long as the agent has not read it",
    body: amendRequestSchema,
    status: 200,
    reply: controlReplySchema,
    errors: ["not_found", "thread_ended", "unavailable"],
    isRepeatable: true,
    example: { path: { ...HELPER, inputId: "m1" }, body: { text: null } },
  }),
};
