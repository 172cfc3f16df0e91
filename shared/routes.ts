/** Every route of the API with its schemas: what `GET /openapi.json` is made from. */
import type { z } from "zod";
import {
  createReplySchema,
  createRequestSchema,
  deliverySchema,
  healthReplySchema,
  inputReplySchema,
  inputRequestSchema,
  killReplySchema,
  ledgersReplySchema,
  listQuerySchema,
  listReplySchema,
  logQuerySchema,
  messageRequestSchema,
  outputQuerySchema,
  outputReplySchema,
  outputsReplySchema,
  outputsRequestSchema,
  reposQuerySchema,
  reposReplySchema,
  resizeReplySchema,
  resizeRequestSchema,
  screenQuerySchema,
  screenReplySchema,
  threadSchema,
  titleRequestSchema,
} from "./api.ts";
import type { ErrorCode } from "./errors.ts";

export interface Route {
  method: "get" | "post" | "put";
  /** As Express writes it. */
  path: string;
  summary: string;
  query?: z.ZodType;
  body?: z.ZodType;
  status: number;
  /** JSON; a content type where it is something else; undefined where there is no body. */
  reply?: z.ZodType | string;
  /** Besides `unauthorized`, `invalid_request`, `too_large` and `internal`, which every route can answer. */
  errors: readonly ErrorCode[];
  isPublic?: boolean;
}

export const ROUTES: readonly Route[] = [
  {
    method: "post",
    path: "/thread/create",
    summary: "Make a thread: a terminal's command, or an agent's first turn",
    body: createRequestSchema,
    status: 201,
    reply: createReplySchema,
    errors: ["invalid_directory", "thread_exists", "max_threads", "unavailable"],
  },
  {
    method: "post",
    path: "/thread/:id/input",
    summary: "Type text or press a key; give an agent its next message",
    body: inputRequestSchema,
    status: 200,
    reply: inputReplySchema,
    errors: ["not_found", "thread_ended", "rate_limited", "unavailable"],
  },
  {
    method: "get",
    path: "/thread/:id/output",
    summary: "Read raw output from an offset, waiting for it if asked to",
    query: outputQuerySchema,
    status: 200,
    reply: outputReplySchema,
    errors: ["not_found", "range", "unavailable"],
  },
  {
    method: "post",
    path: "/threads/output",
    summary: "Read the output of many threads at once",
    body: outputsRequestSchema,
    status: 200,
    reply: outputsReplySchema,
    errors: ["range", "unavailable"],
  },
  {
    method: "get",
    path: "/thread/:id/screen",
    summary: "What the terminal shows now",
    query: screenQuerySchema,
    status: 200,
    reply: screenReplySchema,
    errors: ["not_found", "thread_ended", "unavailable"],
  },
  {
    method: "get",
    path: "/thread/:id/log",
    summary: "Download the log from its first offset, raw or as plain text",
    query: logQuerySchema,
    status: 200,
    reply: "application/octet-stream",
    errors: ["not_found"],
  },
  {
    method: "post",
    path: "/thread/:id/resize",
    summary: "Give the terminal another size",
    body: resizeRequestSchema,
    status: 200,
    reply: resizeReplySchema,
    errors: ["not_found", "thread_ended", "unavailable"],
  },
  {
    method: "put",
    path: "/thread/:id/title",
    summary: "Give the thread another name",
    body: titleRequestSchema,
    status: 204,
    errors: ["not_found"],
  },
  {
    method: "put",
    path: "/thread/:id/delivery",
    summary: "Keep the relay's mark; it comes back with the thread",
    body: deliverySchema,
    status: 204,
    errors: ["not_found"],
  },
  {
    method: "put",
    path: "/thread/:id/messages/:key",
    summary: "Note in the relay's ledger that a message is about to be sent, or its id",
    body: messageRequestSchema,
    status: 204,
    errors: ["not_found"],
  },
  {
    method: "get",
    path: "/threads/messages",
    summary: "The relay's ledgers of many threads at once",
    query: listQuerySchema,
    status: 200,
    reply: ledgersReplySchema,
    errors: [],
  },
  {
    method: "post",
    path: "/thread/:id/kill",
    summary: "End the whole process tree and the thread",
    status: 200,
    reply: killReplySchema,
    errors: ["not_found", "thread_ended"],
  },
  {
    method: "get",
    path: "/threads",
    summary: "List threads",
    query: listQuerySchema,
    status: 200,
    reply: listReplySchema,
    errors: [],
  },
  {
    method: "get",
    path: "/thread/:id",
    summary: "One thread",
    status: 200,
    reply: threadSchema,
    errors: ["not_found"],
  },
  {
    method: "get",
    path: "/repos",
    summary: "Directories below REPOS_DIR that start with a prefix",
    query: reposQuerySchema,
    status: 200,
    reply: reposReplySchema,
    errors: [],
  },
  {
    method: "get",
    path: "/healthz",
    summary: "Whether the sidecar can work; 503 with the same body where it can't",
    status: 200,
    reply: healthReplySchema,
    errors: [],
    isPublic: true,
  },
  {
    method: "get",
    path: "/metrics",
    summary: "Prometheus metrics",
    status: 200,
    reply: "text/plain",
    errors: [],
  },
  {
    method: "get",
    path: "/openapi.json",
    summary: "This description",
    status: 200,
    reply: "application/json",
    errors: [],
  },
];
