/** A thread's files: raw bytes in and out. */
import type { IncomingMessage } from "node:http";
import { pipeline } from "node:stream/promises";
import { MAX_ATTACHMENT_BYTES } from "../../../shared/agent/attachments.ts";
import { AppError } from "../../../shared/errors.ts";
import { formatCount } from "../../../shared/format-count.ts";
import type { attachments as routes } from "../../../shared/protocol/attachments.ts";
import type { Attachments } from "../../agents/attachments.ts";
import { type Handlers, setHeaders } from "./handler.ts";

export function attachmentHandlers(attachments: Attachments): Handlers<typeof routes> {
  return {
    add: ({ params, query, request }) => {
      checkLength(request);
      return attachments.add(params.id, query.name, request);
    },
    list: async ({ params }) => ({ attachments: await attachments.list(params.id) }),
    get: async ({ params: { id, name }, response }) => {
      const { bytes, stream } = await attachments.open(id, name);
      // Never a document of our origin: a file may hold a script.
      setHeaders(response, {
        "content-type": "application/octet-stream",
        "content-length": String(bytes),
        "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(name)}`,
        "content-security-policy": "default-src 'none'; sandbox",
        "x-content-type-options": "nosniff",
      });
      if (bytes === 0) {
        stream.destroy();
        return void response.end();
      }
      await pipeline(stream, response).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ERR_STREAM_PREMATURE_CLOSE") throw error; // the caller went away: its right
      });
    },
    remove: ({ params }) => attachments.remove(params.id, params.name),
  };
}

function checkLength({ headers }: IncomingMessage): void {
  if (Number(headers["content-length"] ?? 0) <= MAX_ATTACHMENT_BYTES) return;
  throw new AppError(
    "too_large",
    `An attachment may have at most ${formatCount(MAX_ATTACHMENT_BYTES)} bytes.`,
  );
}
