/** Conversations that a person began by hand with the agent's program, and threads that go on from them. */
import {
  conversationsQuerySchema,
  conversationsReplySchema,
  takeReplySchema,
  takeRequestSchema,
} from "../conversation-api.ts";
import { route } from "./route.ts";

export const conversations = {
  list: route({
    method: "get",
    path: "/conversations",
    right: "run",
    isOfAnyChannel: true,
    summary: "Conversations that a person began by hand in a directory, the newest first",
    query: conversationsQuerySchema,
    status: 200,
    reply: conversationsReplySchema,
    errors: ["invalid_directory"],
    isRepeatable: true,
    example: { query: { dir: "shop" } },
  }),
  take: route({
    method: "post",
    path: "/conversations/take",
    right: "run",
    summary:
      "Make an agent that goes on from such a conversation, in a fork: the conversation stays as it is",
    body: takeRequestSchema,
    status: 201,
    reply: takeReplySchema,
    errors: [
      "invalid_directory",
      "unsupported",
      "not_found",
      "thread_exists",
      "conversation_open",
      "too_many_agents",
      "unavailable",
    ],
    isRepeatable: false,
  }),
};
