/** The routes about the sidecar itself and its machine: health, metrics, the API's description, repositories. */
import { type RequestHandler, Router } from "express";
import { type HealthReply, reposQuerySchema } from "../../shared/machine-api.ts";
import { createOpenApi } from "../../shared/openapi.ts";
import type { Repos } from "../threads/repos.ts";
import { doWhatIsLeft } from "./afterwards.ts";
import { answer, parse, whileOpen } from "./exchange.ts";
import type { Metrics } from "./metrics.ts";

/** Anybody may ask it, without the token: it says nothing about threads. */
export function healthRoute(getHealth: () => HealthReply): RequestHandler {
  return (_req, res) => {
    const health = getHealth();
    answer(res, health, health.ok ? 200 : 503);
  };
}

export function sidecarRoutes({ repos, metrics }: { repos: Repos; metrics: Metrics }): Router {
  const router = Router();
  router.get("/repos", async (req, res) => {
    const { prefix } = parse(reposQuerySchema, req.query);
    answer(res, { repos: await repos.list(prefix, whileOpen(res)) });
  });
  router.get("/metrics", async (_req, res) => {
    doWhatIsLeft(); // the figures of answers that were given just now
    res.set("content-type", metrics.registry.contentType).send(await metrics.registry.metrics());
  });
  const openApi = createOpenApi();
  router.get("/openapi.json", (_req, res) => {
    answer(res, openApi);
  });
  return router;
}
