/** Logs that threads follow: what is there, a thread for one, what it shows. */
import {
  followReplySchema,
  followRequestSchema,
  servicesQuerySchema,
  servicesReplySchema,
  viewReplySchema,
  viewRequestSchema,
} from "../follow-api.ts";
import { route } from "./route.ts";

export const logs = {
  listServices: route({
    method: "get",
    path: "/logs",
    right: "run",
    isOfAnyChannel: true,
    summary:
      "What can be followed from a directory on: files, containers, units; what is not found at once is left out",
    query: servicesQuerySchema,
    status: 200,
    reply: servicesReplySchema,
    errors: [],
    isRepeatable: true,
    example: { query: { dir: ".", prefix: "we" } },
  }),
  create: route({
    method: "post",
    path: "/logs/create",
    right: "run",
    summary: "Make a terminal that follows files, a container's log, or the journal",
    body: followRequestSchema,
    status: 201,
    reply: followReplySchema,
    errors: ["invalid_directory", "unsupported", "not_found", "thread_exists", "max_threads", "unavailable"],
    isRepeatable: false,
    example: { body: { threadId: "web-log", dir: ".", service: "web.log", lines: 20, grep: "GET" } },
  }),
  setView: route({
    method: "put",
    path: "/thread/:id/view",
    right: "press",
    summary: "Hold what a thread that follows logs shows, or show only lines that hold a text",
    body: viewRequestSchema,
    status: 200,
    reply: viewReplySchema,
    errors: ["not_found", "unsupported", "thread_ended", "unavailable"],
    isRepeatable: true,
    example: { path: { id: "web-log" }, body: { paused: true, grep: null } },
  }),
};
