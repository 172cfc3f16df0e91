/** Output: news of one thread or of many, and a whole log as a file. */
import { createReadStream } from "node:fs";
import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { AppError } from "../../../shared/errors.ts";
import type { output as routes } from "../../../shared/protocol/output.ts";
import { plainText } from "../../streams/plain-text.ts";
import type { Homes } from "../../threads/homes.ts";
import type { Outputs } from "../../threads/outputs.ts";
import type { LogFile, Threads } from "../../threads/threads.ts";
import type { Metrics } from "../metrics.ts";
import { type Handlers, setHeaders, whileOpen } from "./handler.ts";

const LOG_CHUNK_BYTES = 256 * 1024;

export interface OutputServices {
  outputs: Outputs;
  threads: Threads;
  metrics: Pick<Metrics, "outputBytes">;
  homes: Homes;
}

export function outputHandlers({
  outputs,
  threads,
  metrics,
  homes,
}: OutputServices): Handlers<typeof routes> {
  return {
    read: async ({ params, query, response }) => {
      const reply = await outputs.read(params.id, query, whileOpen(response));
      metrics.outputBytes.inc(reply.offset - reply.start);
      return reply;
    },
    readMany: async ({ body, response }) => {
      const signal = whileOpen(response);
      const reply = await homes.translated(body, (own) => outputs.readMany(own, signal));
      for (const { start, offset } of Object.values(reply.threads)) metrics.outputBytes.inc(offset - start);
      return reply;
    },
    getLog: ({ params, query, response }) =>
      sendLog(response, { name: params.id, format: query.format, log: threads.getLog(params.id) }),
  };
}

/** The length is fixed when the log is found: what is printed meanwhile is for the next download. */
async function sendLog(
  response: ServerResponse,
  { name, format, log }: { name: string; format: "raw" | "text"; log: LogFile },
): Promise<void> {
  const { file, start, end, firstOffset } = log;
  setHeaders(response, {
    "content-type": format === "raw" ? "application/octet-stream" : "text/plain; charset=utf-8",
    "content-disposition": `attachment; filename="${name}.${format === "raw" ? "log" : "txt"}"`,
    "x-first-offset": String(firstOffset),
    ...(format === "raw" ? { "content-length": String(end - start) } : {}),
  });
  if (end === start) return void response.end();
  const bytes = createReadStream(file, { start, end: end - 1, highWaterMark: LOG_CHUNK_BYTES });
  const whole = (chunks: AsyncIterable<Buffer>) => whileStillThere(chunks, log);
  try {
    await (format === "raw" ? pipeline(bytes, whole, response) : pipeline(bytes, whole, plainText, response));
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
