/** The routes of agent threads. */
import type { Router } from "express";
import {
  answerRequestSchema,
  controlRequestSchema,
  stepsQuerySchema,
  transcriptQuerySchema,
} from "../../shared/agent/api.ts";
import type { Agents } from "../agents/agents.ts";
import { answer, parse, threadRouter } from "./exchange.ts";

const CONTROLS = ["interrupt", "pause", "resume", "compact", "mode", "model"] as const;

export function agentRoutes(agents: Agents): Router {
  const router = threadRouter();
  router.get("/thread/:id/transcript", async (req, res) => {
    answer(res, await agents.readTranscript(req.params.id, parse(transcriptQuerySchema, req.query)));
  });
  router.get("/thread/:id/steps", (req, res) => {
    answer(res, { steps: agents.listSteps(req.params.id, parse(stepsQuerySchema, req.query)) });
  });
  router.get("/asks", (_req, res) => {
    answer(res, { asks: agents.listAsks() });
  });
  router.get("/thread/:id/asks", (req, res) => {
    answer(res, { asks: agents.listAsks(req.params.id) });
  });
  router.post("/thread/:id/asks/:requestId", async (req, res) => {
    const { id, requestId } = req.params;
    await agents.answer(id, requestId, parse(answerRequestSchema, req.body));
    answer(res, { answered: true });
  });
  for (const control of CONTROLS) {
    router.post(`/thread/:id/${control}`, async (req, res) => {
      const body: unknown = req.body;
      const request = { ...(typeof body === "object" ? body : {}), control };
      await agents.control(String(req.params["id"]), parse(controlRequestSchema, request));
      answer(res, { accepted: true });
    });
  }
  return router;
}
