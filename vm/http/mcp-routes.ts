/** `POST /mcp`: the tools of agents. The sidecar's own token opens nothing here, a thread's token nothing else. */
import { json, Router } from "express";
import { MAX_BODY_BYTES } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { knownThreadId } from "../../shared/ids.ts";
import { threadPrincipal } from "../../shared/principal.ts";
import type { McpFiles } from "../agents/mcp-files.ts";
import { markKnown } from "../callers/known.ts";
import { inNameOf } from "../callers/person.ts";
import type { McpServer } from "../mcp/server.ts";

import type { WrongTokens } from "./guard.ts";
import { whileOpen } from "./handlers/handler.ts";

export interface McpRoutesOptions {
  mcp: McpServer;
  mcpFiles: McpFiles;
  wrongTokens: WrongTokens;
}

/** Before the routes that want the sidecar's token. */
export function mcpRoutes({ mcp, mcpFiles, wrongTokens }: McpRoutesOptions): Router {
  const router = Router();
  router.post("/mcp", async (req, res, next) => {
    const threadId = mcpFiles.findThread(req.headers.authorization);
    if (threadId === undefined) {
      if (!(await wrongTokens.mayAnswer(req.socket.remoteAddress))) return void req.socket.destroy();
      throw new AppError("unauthorized", "A thread's own token is needed.");
    }
    markKnown(req);
    inNameOf(threadPrincipal(threadId), req.headers);
    res.locals["mcpThread"] = threadId;
    next();
  });
  router.post("/mcp", json({ limit: MAX_BODY_BYTES }), async (req, res) => {
    const threadId = knownThreadId.parse(res.locals["mcpThread"]);
    await mcp.handle({ threadId, request: req, response: res, body: req.body, signal: whileOpen(res) });
  });
  return router;
}
