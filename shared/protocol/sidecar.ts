/** The sidecar itself and its machine: events of all threads, health, metrics, this description, repositories. */
import { eventsQuerySchema } from "../hub-events.ts";
import { healthReplySchema, reposQuerySchema, reposReplySchema } from "../machine-api.ts";
import { route } from "./route.ts";

export const sidecar = {
  followEvents: route({
    method: "get",
    path: "/events",
    right: "none",
    summary:
      "What happens over all threads, as Server-Sent Events; the header Last-Event-ID goes before since",
    query: eventsQuerySchema,
    status: 200,
    reply: "text/event-stream",
    errors: ["rate_limited"],
    isRepeatable: true,
    example: { query: { since: 0, type: "turn_end", tag: "ci" } },
  }),
  listRepos: route({
    method: "get",
    path: "/repos",
    right: "read",
    isOfAnyChannel: true,
    summary: "Directories below REPOS_DIR that start with a prefix",
    query: reposQuerySchema,
    status: 200,
    reply: reposReplySchema,
    errors: [],
    access: "console",
    isRepeatable: true,
    example: { query: { prefix: "" } },
  }),
  getHealth: route({
    method: "get",
    path: "/healthz",
    right: "none",
    summary: "Whether the sidecar can work; 503 with the same body if it can't",
    status: 200,
    reply: healthReplySchema,
    errors: [],
    access: "anybody",
    isRepeatable: true,
    example: {},
  }),
  getMetrics: route({
    method: "get",
    path: "/metrics",
    right: "none",
    summary: "Prometheus metrics",
    status: 200,
    reply: "text/plain",
    errors: [],
    isRepeatable: true,
    example: {},
  }),
  getOpenApi: route({
    method: "get",
    path: "/openapi.json",
    right: "none",
    summary: "This description",
    status: 200,
    reply: "application/json",
    errors: [],
    isRepeatable: true,
    example: {},
  }),
};
