/** Output: news of one thread or of many, and a whole log as a file. */
import {
  logQuerySchema,
  outputQuerySchema,
  outputReplySchema,
  outputsReplySchema,
  outputsRequestSchema,
} from "../api.ts";
import { DEMO } from "./example-threads.ts";
import { route } from "./route.ts";

export const output = {
  read: route({
    method: "get",
    path: "/thread/:id/output",
    right: "read",
    summary: "Read raw output from an offset, waiting for it if asked to",
    query: outputQuerySchema,
    status: 200,
    reply: outputReplySchema,
    errors: ["not_found", "range", "unavailable"],
    isRepeatable: true,
    example: { path: DEMO, query: { since: 0, limit: 65_536 } },
  }),
  readMany: route({
    method: "post",
    path: "/threads/output",
    right: "read",
    summary: "Read the output of many threads at once",
    body: outputsRequestSchema,
    status: 200,
    reply: outputsReplySchema,
    errors: ["range", "unavailable"],
    isRepeatable: true,
    example: { body: { since: { demo: 0 }, transcripts: { helper: 0 } } },
  }),
  getLog: route({
    method: "get",
    path: "/thread/:id/log",
    right: "read",
    summary: "Download the log from its first offset, raw or as plain text",
    query: logQuerySchema,
    status: 200,
    reply: "application/octet-stream",
    otherType: "text/plain",
    errors: ["not_found"],
    isRepeatable: true,
    example: { path: DEMO, query: { format: "raw" } },
  }),
};
