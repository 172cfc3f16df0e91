/** The HTTP API, put together: what stands before the routes, the routes by noun, what stands behind them. */
import type { RequestListener } from "node:http";
import express, { type RequestHandler } from "express";
import { MAX_BODY_BYTES } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { HealthReply } from "../../shared/machine-api.ts";
import type { Agents } from "../agents/agents.ts";
import type { Attachments } from "../agents/attachments.ts";
import type { TokenCheck } from "../callers/token.ts";
import type { Console } from "../console/routes.ts";
import type { EventHub } from "../events/hub.ts";
import type { Homes } from "../threads/homes.ts";
import type { Inputs } from "../threads/inputs.ts";
import type { Ledgers } from "../threads/ledgers.ts";
import type { Repos } from "../threads/repos.ts";
import { agentRoutes } from "./agent-routes.ts";
import { attachmentRoutes } from "./attachment-routes.ts";
import { eventRoutes } from "./event-routes.ts";
import { answerError } from "./failures.ts";
import { RequestLog, requireToken, type WrongTokens } from "./guard.ts";
import { inputDoor } from "./input-door.ts";
import { createTakeInput, inputRoutes } from "./input-routes.ts";
import { ledgerRoutes } from "./ledger-routes.ts";
import { type McpRoutesOptions, mcpRoutes } from "./mcp-routes.ts";
import { type OutputRoutesOptions, outputRoutes } from "./output-routes.ts";
import type { RefusalLog } from "./refusal-log.ts";
import { healthRoute, sidecarRoutes } from "./sidecar-routes.ts";
import { type ThreadRoutesOptions, threadRoutes } from "./thread-routes.ts";

export interface AppOptions extends ThreadRoutesOptions, OutputRoutesOptions, McpRoutesOptions {
  inputs: Inputs;
  ledgers: Ledgers;
  agents: Agents;
  attachments: Attachments;
  events: EventHub;
  repos: Repos;
  checkToken: TokenCheck;
  wrongTokens: WrongTokens;
  refusalLog: RefusalLog;
  console: Console;
  getHealth: () => HealthReply;
  log: Log;
}

/** Parses requests, calls the operations, answers; no decision is made here. */
export function createApp(options: AppOptions): RequestListener {
  const { console, metrics, checkToken, wrongTokens, refusalLog, log } = options;
  const requestLog = new RequestLog(log, refusalLog);
  const takeInput = createTakeInput(options.inputs, metrics);
  // What stands before the routes here holds for an input too, whose short way does not come past: see inputDoor.
  const app = express();
  app.disable("x-powered-by");
  app.set("etag", false);

  app.use(metrics.measureRequests(), requestLog.handler());
  app.get("/healthz", healthRoute(options.getHealth));
  app.use(console.pages);
  app.use(mcpRoutes(options));
  app.use(requireToken({ checkToken, mayPass: console.mayPass, wrongTokens }));
  app.use(byHome(options.homes));
  app.use(attachmentRoutes(options.attachments));
  app.use(requireJson, express.json({ limit: MAX_BODY_BYTES, type: () => true }));
  app.use(console.account);

  // The routes that are asked most often stand first.
  app.use(inputRoutes(takeInput));
  app.use(outputRoutes(options));
  app.use(threadRoutes(options));
  app.use(ledgerRoutes(options));
  app.use(agentRoutes(options));
  app.use(eventRoutes(options.events));
  app.use(sidecarRoutes(options));

  app.use((req) => {
    throw new AppError("not_found", `There is no ${req.method} ${req.path} in this API.`);
  });
  app.use(answerError(log));
  return inputDoor({ ...options, takeInput, requestLog }, app);
}

/** A thread may be called by its Discord thread's id, whatever its own is. */
const byHome =
  (homes: Homes): RequestHandler =>
  (req, _res, next) => {
    req.url = req.url.replace(/^(\/thread\/)(\d{1,20})(?=[/?]|$)/, (_, path, id) => path + homes.resolve(id));
    next();
  };

const requireJson: RequestHandler = (req, _res, next) => {
  const hasBody =
    req.headers["transfer-encoding"] !== undefined || Number(req.headers["content-length"] ?? 0) > 0;
  if (hasBody && !req.is("application/json")) {
    throw new AppError("invalid_request", "The body must be JSON, with content-type: application/json.");
  }
  next();
};
