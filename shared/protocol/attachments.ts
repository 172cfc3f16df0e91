/** The files of an agent thread: raw bytes in and out. */
import { attachmentSchema, attachmentsReplySchema, uploadQuerySchema } from "../agent/attachments.ts";
import { HELPER } from "./example-threads.ts";
import { route } from "./route.ts";

const FILE = { ...HELPER, name: "notes.txt" };

export const attachments = {
  add: route({
    method: "post",
    path: "/thread/:id/attachments",
    right: "type",
    summary: "Keep a file for an agent's messages: raw bytes, at most 25 MiB",
    query: uploadQuerySchema,
    body: "application/octet-stream",
    status: 201,
    reply: attachmentSchema,
    errors: ["not_found", "thread_ended", "unavailable"],
    // The same bytes under the same name again are the same file.
    isRepeatable: true,
    example: { path: HELPER, query: { name: "notes.txt" }, body: "Some notes." },
  }),
  list: route({
    method: "get",
    path: "/thread/:id/attachments",
    right: "read",
    summary: "The files of an agent thread: those that people gave it, and those that it sent",
    status: 200,
    reply: attachmentsReplySchema,
    errors: ["not_found", "thread_ended"],
    isRepeatable: true,
    example: { path: HELPER },
  }),
  get: route({
    method: "get",
    path: "/thread/:id/attachments/:name",
    right: "read",
    summary: "Download a file of an agent thread",
    status: 200,
    reply: "application/octet-stream",
    errors: ["not_found", "thread_ended"],
    isRepeatable: true,
    example: { path: FILE },
  }),
  remove: route({
    method: "delete",
    path: "/thread/:id/attachments/:name",
    right: "type",
    summary: "Remove a file of an agent thread",
    status: 204,
    errors: ["not_found", "thread_ended"],
    isRepeatable: false,
    example: { path: FILE },
  }),
};
