/** Agents that speak with a tool: who hears a channel, and what is to be said there. */
import {
  handOverReplySchema,
  handOverRequestSchema,
  mainReplySchema,
  mainStatusSchema,
  spokenNoteSchema,
  spokenReplySchema,
} from "../voice-api.ts";
import { route } from "./route.ts";

export const voice = {
  main: route({
    method: "post",
    path: "/channel/:channelId/main",
    right: "type",
    summary: "The thread of the agent that hears a channel of mode main; it is made if it is not there",
    status: 200,
    reply: mainReplySchema,
    errors: [
      "not_found",
      "unsupported",
      "thread_ended",
      "max_threads",
      "too_many_agents",
      "invalid_directory",
      "unavailable",
    ],
    isRepeatable: true,
  }),
  status: route({
    method: "get",
    path: "/channel/:channelId/main",
    right: "read",
    summary: "How the agent that hears a channel of mode main is: what it does, costs, and has not answered",
    status: 200,
    reply: mainStatusSchema,
    errors: ["not_found", "unsupported"],
    isRepeatable: true,
  }),
  handOver: route({
    method: "post",
    path: "/channel/:channelId/main/hand-over",
    right: "settings",
    summary: "Let the agent that hears a channel of mode main go on in another directory",
    body: handOverRequestSchema,
    status: 200,
    reply: handOverReplySchema,
    errors: ["not_found", "unsupported", "thread_ended", "invalid_directory", "unavailable"],
    isRepeatable: false,
  }),
  list: route({
    method: "get",
    path: "/spoken",
    right: "none",
    summary:
      "What agents want said in channels, and was neither sent nor refused; where they are at work for a person",
    status: 200,
    reply: spokenReplySchema,
    errors: [],
    isRepeatable: true,
    example: {},
  }),
  note: route({
    method: "put",
    path: "/spoken/:spokenId",
    right: "none",
    summary: "Say what became of a message of an agent",
    body: spokenNoteSchema,
    status: 204,
    errors: ["not_found"],
    isRepeatable: true,
  }),
};
