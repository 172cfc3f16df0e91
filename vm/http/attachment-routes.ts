/** The routes of a thread's files: raw bytes in and out. */
import { pipeline } from "node:stream/promises";
import type { Request, Router } from "express";
import {
  attachmentNameSchema,
  MAX_ATTACHMENT_BYTES,
  uploadQuerySchema,
} from "../../shared/agent/attachments.ts";
import { AppError } from "../../shared/errors.ts";
import { formatCount } from "../../shared/format-count.ts";
import type { Attachments } from "../agents/attachments.ts";
import { answer, parse, threadRouter } from "./exchange.ts";

const BYTES = "application/octet-stream";

/** Before the routes whose bodies are JSON. */
export function attachmentRoutes(attachments: Attachments): Router {
  const router = threadRouter();
  router.post("/thread/:id/attachments", async (req, res) => {
    const { name } = parse(uploadQuerySchema, req.query);
    checkUpload(req);
    answer(res, await attachments.add(req.params.id, name, req), 201);
  });
  router.get("/thread/:id/attachments", async (req, res) => {
    answer(res, { attachments: await attachments.list(req.params.id) });
  });
  router.get("/thread/:id/attachments/:name", async (req, res) => {
    const name = parse(attachmentNameSchema, req.params.name, "name");
    const { bytes, stream } = await attachments.open(req.params.id, name);
    // Never a document of our origin: a file may hold a script.
    res.set({
      "content-type": BYTES,
      "content-length": String(bytes),
      "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(name)}`,
      "content-security-policy": "default-src 'none'; sandbox",
      "x-content-type-options": "nosniff",
    });
    if (bytes === 0) {
      stream.destroy();
      return void res.end();
    }
    await pipeline(stream, res).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ERR_STREAM_PREMATURE_CLOSE") throw error; // the caller went away: its right
    });
  });
  router.delete("/thread/:id/attachments/:name", async (req, res) => {
    const name = parse(attachmentNameSchema, req.params.name, "name");
    await attachments.remove(req.params.id, name);
    res.status(204).end();
  });
  return router;
}

/** A page of another origin can't send this content type without being asked whether it may. */
function checkUpload(req: Request): void {
  if (!req.is(BYTES)) {
    throw new AppError("invalid_request", `The body must be the file's bytes, with content-type: ${BYTES}.`);
  }
  if (Number(req.headers["content-length"] ?? 0) > MAX_ATTACHMENT_BYTES) {
    const limit = formatCount(MAX_ATTACHMENT_BYTES);
    throw new AppError("too_large", `An attachment may have at most ${limit} bytes.`);
  }
}
