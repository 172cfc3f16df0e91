/** The HTTP API: parses requests, calls the operations, answers; no decision is made here. */
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Response } from "express";
import {
  createRequestSchema,
  deliverySchema,
  type HealthReply,
  inputRequestSchema,
  type KillReply,
  listQuerySchema,
  logQuerySchema,
  MAX_BODY_BYTES,
  messageKeySchema,
  messageRequestSchema,
  outputQuerySchema,
  outputsRequestSchema,
  reposQuerySchema,
  resizeRequestSchema,
  screenQuerySchema,
  threadIdSchema,
  titleRequestSchema,
} from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import { createOpenApi } from "../../shared/openapi.ts";
import type { Agents } from "../agents/agents.ts";
import type { TokenCheck } from "../callers/token.ts";
import type { Console } from "../console/routes.ts";
import { diskFull } from "../streams/disk.ts";
import { plainText } from "../streams/plain-text.ts";
import type { Creation } from "../threads/creation.ts";
import type { Inputs } from "../threads/inputs.ts";
import type { Ledgers } from "../threads/ledgers.ts";
import type { Outputs } from "../threads/outputs.ts";
import { Repos } from "../threads/repos.ts";
import type { Threads } from "../threads/threads.ts";
import { agentRoutes } from "./agent-routes.ts";
import { answer, parse } from "./exchange.ts";
import { logRequests, requireToken, type WrongTokens } from "./guard.ts";
import type { Metrics } from "./metrics.ts";
import type { RefusalLog } from "./refusal-log.ts";

const LOG_CHUNK_BYTES = 256 * 1024;

export interface AppOptions {
  threads: Threads;
  creation: Creation;
  inputs: Inputs;
  outputs: Outputs;
  ledgers: Ledgers;
  agents: Agents;
  /** As `killThread`. */
  kill: (threadId: string) => Promise<KillReply>;
  checkToken: TokenCheck;
  wrongTokens: WrongTokens;
  refusalLog: RefusalLog;
  console: Console;
  reposDir: string;
  /** The environment of the threads' programs. */
  threadEnv: Record<string, string>;
  getHealth: () => HealthReply;
  metrics: Metrics;
  log: Log;
}

export function createApp({
  threads,
  creation,
  inputs,
  outputs,
  ledgers,
  agents,
  kill,
  checkToken,
  wrongTokens,
  refusalLog,
  console,
  reposDir,
  threadEnv,
  getHealth,
  metrics,
  log,
}: AppOptions): Express {
  const app = express();
  app.disable("x-powered-by");
  app.set("etag", false);

  app.use(metrics.measureRequests(), logRequests(log, refusalLog));
  app.get("/healthz", (_req, res) => {
    const health = getHealth();
    answer(res, health, health.ok ? 200 : 503);
  });

  app.use(console.pages);
  app.use(requireToken({ checkToken, mayPass: console.mayPass, wrongTokens }));
  app.use(requireJson, express.json({ limit: MAX_BODY_BYTES, type: () => true }));
  app.use(console.account);
  app.param("id", (_req, _res, next, id) => {
    parse(threadIdSchema, id, "threadId");
    next();
  });

  app.post("/thread/create", async (req, res) => {
    const { tmuxSession } = await creation.create(parse(createRequestSchema, req.body));
    answer(res, { created: true, tmuxSession }, 201);
  });
  app.post("/thread/:id/input", async (req, res) => {
    const input = parse(inputRequestSchema, req.body);
    const endTimer = metrics.inputSeconds.startTimer();
    const { isDuplicate } = await inputs.send(req.params.id, input);
    endTimer();
    metrics.inputBytes.inc("text" in input ? Buffer.byteLength(input.text) : 1);
    answer(res, isDuplicate ? { sent: true, duplicate: true } : { sent: true });
  });
  app.get("/thread/:id/output", async (req, res) => {
    const query = parse(outputQuerySchema, req.query);
    const reply = await outputs.read(req.params.id, query, whileOpen(res));
    metrics.outputBytes.inc(reply.offset - reply.start);
    answer(res, reply);
  });
  app.get("/thread/:id/log", async (req, res) => {
    const { format } = parse(logQuerySchema, req.query);
    // The length is fixed now: what is printed meanwhile is for the next download.
    const { file, start, end, firstOffset, isStillThere } = threads.getLog(req.params.id);
    res.set({
      "content-type": format === "raw" ? "application/octet-stream" : "text/plain; charset=utf-8",
      "content-disposition": `attachment; filename="${req.params.id}.${format === "raw" ? "log" : "txt"}"`,
      "x-first-offset": String(firstOffset),
      ...(format === "raw" ? { "content-length": String(end - start) } : {}),
    });
    if (end === start) return void res.end();
    try {
      const bytes = createReadStream(file, { start, end: end - 1, highWaterMark: LOG_CHUNK_BYTES });
      const whole = async function* (chunks: AsyncIterable<Buffer>) {
        let position = start;
        for await (const chunk of chunks) {
          // A log that grows fast may lose its start under a slow reader: better cut off than wrong.
          if (!isStillThere(position)) throw new AppError("range", "What was to come next is gone.");
          position += chunk.length;
          yield chunk;
        }
      };
      await (format === "raw" ? pipeline(bytes, whole, res) : pipeline(bytes, whole, plainText, res));
    } catch (error) {
      // The caller went away in the middle: its right.
      if ((error as NodeJS.ErrnoException).code !== "ERR_STREAM_PREMATURE_CLOSE") throw error;
    }
  });
  app.post("/threads/output", async (req, res) => {
    const request = parse(outputsRequestSchema, req.body);
    const reply = await outputs.readMany(request, whileOpen(res));
    for (const { start, offset } of Object.values(reply.threads)) metrics.outputBytes.inc(offset - start);
    answer(res, reply);
  });
  app.put("/thread/:id/title", (req, res) => {
    threads.setTitle(req.params.id, parse(titleRequestSchema, req.body).title);
    res.status(204).end();
  });
  app.put("/thread/:id/delivery", (req, res) => {
    threads.setDelivery(req.params.id, parse(deliverySchema, req.body));
    res.status(204).end();
  });
  app.put("/thread/:id/messages/:key", (req, res) => {
    const key = parse(messageKeySchema, req.params.key, "key");
    ledgers.put(req.params.id, key, parse(messageRequestSchema, req.body));
    res.status(204).end();
  });
  app.get("/threads/messages", (req, res) => {
    answer(res, { threads: ledgers.list(parse(listQuerySchema, req.query).status) });
  });
  app.get("/thread/:id/screen", async (req, res) => {
    answer(res, await threads.getScreen(req.params.id, parse(screenQuerySchema, req.query).format));
  });
  app.post("/thread/:id/resize", async (req, res) => {
    await threads.resize(req.params.id, parse(resizeRequestSchema, req.body));
    answer(res, { resized: true });
  });
  app.post("/thread/:id/kill", async (req, res) => {
    answer(res, await kill(req.params.id));
  });
  app.get("/threads", (req, res) => {
    const { status } = parse(listQuerySchema, req.query);
    answer(res, { threads: threads.list(status) });
  });
  app.get("/thread/:id", (req, res) => {
    answer(res, threads.get(req.params.id));
  });
  app.use(agentRoutes(agents));
  const repos = new Repos(reposDir, threadEnv);
  app.get("/repos", async (req, res) => {
    const { prefix } = parse(reposQuerySchema, req.query);
    answer(res, { repos: await repos.list(prefix, whileOpen(res)) });
  });

  app.get("/metrics", async (_req, res) => {
    res.set("content-type", metrics.registry.contentType).send(await metrics.registry.metrics());
  });
  const openApi = createOpenApi();
  app.get("/openapi.json", (_req, res) => {
    answer(res, openApi);
  });

  app.use((req) => {
    throw new AppError("not_found", `There is no ${req.method} ${req.path} in this API.`);
  });
  app.use(answerError(log));
  return app;
}

/** Fires when the caller has gone away or has its answer. */
function whileOpen(res: Response): AbortSignal {
  const controller = new AbortController();
  // With a reason of its own: the usual one is an error with a stack, made anew for every request.
  res.on("close", () => controller.abort("the response is closed"));
  return controller.signal;
}

const requireJson: RequestHandler = (req, _res, next) => {
  const hasBody =
    req.headers["transfer-encoding"] !== undefined || Number(req.headers["content-length"] ?? 0) > 0;
  if (hasBody && !req.is("application/json")) {
    throw new AppError("invalid_request", "The body must be JSON, with content-type: application/json.");
  }
  next();
};

function answerError(log: Log): ErrorRequestHandler {
  return (error: unknown, req, res, _next) => {
    const appError = toAppError(error);
    if (appError.code === "internal")
      log.error({ err: error, method: req.method, path: req.path }, "request failed");
    if (res.headersSent) return void res.destroy();
    answer(res, { error: appError.message, code: appError.code }, appError.status);
  };
}

/** Express and body-parser throw errors with a status of their own; anything else that is not ours is a bug. */
function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const { type, status, code } = error as { type?: string; status?: number; code?: string };
  if (code === "SQLITE_FULL" || code === "ENOSPC") {
    return diskFull(error);
  }
  if (type === "entity.too.large") {
    return new AppError(
      "too_large",
      `The body may have at most ${MAX_BODY_BYTES.toLocaleString("en")} bytes.`,
    );
  }
  if (type === "entity.parse.failed") return new AppError("invalid_request", "The body is not valid JSON.");
  if (status !== undefined && status >= 400 && status < 500) {
    return new AppError("invalid_request", `The request can't be read: ${(error as Error).message}.`);
  }
  return new AppError("internal", "Something went wrong in the sidecar; its log says what.", {
    cause: error,
  });
}
