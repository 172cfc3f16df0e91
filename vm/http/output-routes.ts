/** The routes of output: news of one thread or of many, and a whole log as a file. */
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import type { Response, Router } from "express";
import { logQuerySchema, outputQuerySchema, outputsRequestSchema } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { plainText } from "../streams/plain-text.ts";
import type { Homes } from "../threads/homes.ts";
import type { Outputs } from "../threads/outputs.ts";
import type { LogFile, Threads } from "../threads/threads.ts";
import { answer, parse, threadRouter, whileOpen } from "./exchange.ts";
import type { Metrics } from "./metrics.ts";

const LOG_CHUNK_BYTES = 256 * 1024;

export interface OutputRoutesOptions {
  outputs: Outputs;
  threads: Threads;
  metrics: Metrics;
  homes: Homes;
}

export function outputRoutes({ outputs, threads, metrics, homes }: OutputRoutesOptions): Router {
  const router = threadRouter();
  router.get("/thread/:id/output", async (req, res) => {
    const query = parse(outputQuerySchema, req.query);
    const reply = await outputs.read(req.params.id, query, whileOpen(res));
    metrics.outputBytes.inc(reply.offset - reply.start);
    answer(res, reply);
  });
  router.post("/threads/output", async (req, res) => {
    const request = parse(outputsRequestSchema, req.body);
    const signal = whileOpen(res);
    const reply = await homes.translated(request, (own) => outputs.readMany(own, signal));
    for (const { start, offset } of Object.values(reply.threads)) metrics.outputBytes.inc(offset - start);
    answer(res, reply);
  });
  router.get("/thread/:id/log", async (req, res) => {
    const { format } = parse(logQuerySchema, req.query);
    await sendLog(res, { name: req.params.id, format, log: threads.getLog(req.params.id) });
  });
  return router;
}

/** The length is fixed when the log is found: what is printed meanwhile is for the next download. */
async function sendLog(
  res: Response,
  { name, format, log }: { name: string; format: "raw" | "text"; log: LogFile },
): Promise<void> {
  const { file, start, end, firstOffset } = log;
  res.set({
    "content-type": format === "raw" ? "application/octet-stream" : "text/plain; charset=utf-8",
    "content-disposition": `attachment; filename="${name}.${format === "raw" ? "log" : "txt"}"`,
    "x-first-offset": String(firstOffset),
    ...(format === "raw" ? { "content-length": String(end - start) } : {}),
  });
  if (end === start) return void res.end();
  const bytes = createReadStream(file, { start, end: end - 1, highWaterMark: LOG_CHUNK_BYTES });
  const whole = (chunks: AsyncIterable<Buffer>) => whileStillThere(chunks, log);
  try {
    await (format === "raw" ? pipeline(bytes, whole, res) : pipeline(bytes, whole, plainText, res));
  } catch (error) {
    // The caller went away in the middle: its right.
    if ((error as NodeJS.ErrnoException).code !== "ERR_STREAM_PREMATURE_CLOSE") throw error;
  }
}

/** A log that grows fast may lose its start under a slow reader: its download is cut off, never wrong. */
async function* whileStillThere(
  chunks: AsyncIterable<Buffer>,
  { start, isStillThere }: LogFile,
): AsyncGenerator<Buffer> {
  let position = start;
  for await (const chunk of chunks) {
    if (!isStillThere(position)) throw new AppError("range", "What was to come next is gone.");
    position += chunk.length;
    yield chunk;
  }
}
