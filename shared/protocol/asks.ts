/** Asks: what agents wait for people to decide, and what people allowed for good. */
import { answerReplySchema, answerRequestSchema, asksReplySchema, rulesReplySchema } from "../agent/api.ts";
import { HELPER } from "./example-threads.ts";
import { route } from "./route.ts";

export const asks = {
  listAll: route({
    method: "get",
    path: "/asks",
    right: "read",
    isOfAnyChannel: true,
    summary: "What agents wait for people to decide, the oldest first",
    status: 200,
    reply: asksReplySchema,
    errors: [],
    isRepeatable: true,
    example: {},
  }),
  list: route({
    method: "get",
    path: "/thread/:id/asks",
    right: "read",
    summary: "What one agent waits for people to decide",
    status: 200,
    reply: asksReplySchema,
    errors: ["not_found"],
    access: "console",
    isRepeatable: true,
    example: { path: HELPER },
  }),
  answer: route({
    method: "post",
    path: "/thread/:id/asks/:requestId",
    right: "decide",
    summary: "Answer an ask; the first answer counts",
    body: answerRequestSchema,
    status: 200,
    reply: answerReplySchema,
    errors: ["not_found", "already_answered", "ask_ended", "thread_ended"],
    access: "console",
    isRepeatable: false,
  }),
  listRules: route({
    method: "get",
    path: "/thread/:id/rules",
    right: "read",
    summary: "What people allowed an agent for as long as its thread goes on",
    status: 200,
    reply: rulesReplySchema,
    errors: ["not_found"],
    isRepeatable: true,
    example: { path: HELPER },
  }),
};
