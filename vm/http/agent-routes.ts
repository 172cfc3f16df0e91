/** The routes of agent threads. */
import type { Router } from "express";
import {
  amendRequestSchema,
  answerRequestSchema,
  blobNameSchema,
  blobQuerySchema,
  controlRequestSchema,
  diffQuerySchema,
  inboxQuerySchema,
  stepsQuerySchema,
  transcriptQuerySchema,
} from "../../shared/agent/api.ts";
import { CONTROLS } from "../../shared/agent/controls.ts";
import { removeWorktreeRequestSchema } from "../../shared/worktree-api.ts";
import type { Agents } from "../agents/agents.ts";
import type { Outputs } from "../threads/outputs.ts";
import { answer, parse, threadRouter, whileOpen } from "./exchange.ts";

export interface AgentRoutesOptions {
  agents: Agents;
  outputs: Outputs;
}

export function agentRoutes({ agents, outputs }: AgentRoutesOptions): Router {
  const router = threadRouter();
  router.get("/thread/:id/transcript", async (req, res) => {
    const query = parse(transcriptQuerySchema, req.query);
    answer(res, await outputs.readTranscript(req.params.id, query, whileOpen(res)));
  });
  router.get("/thread/:id/blobs/:sha256", async (req, res) => {
    const sha256 = parse(blobNameSchema, req.params.sha256, "sha256");
    answer(res, await agents.readBlob(req.params.id, sha256, parse(blobQuerySchema, req.query)));
  });
  router.get("/thread/:id/steps", (req, res) => {
    answer(res, { steps: agents.listSteps(req.params.id, parse(stepsQuerySchema, req.query)) });
  });
  router.get("/thread/:id/diff", async (req, res) => {
    answer(res, await agents.readDiff(req.params.id, parse(diffQuerySchema, req.query)));
  });
  router.get("/thread/:id/worktree", async (req, res) => {
    answer(res, await agents.getWorktree(req.params.id));
  });
  router.post("/thread/:id/worktree/remove", async (req, res) => {
    const { force } = parse(removeWorktreeRequestSchema, req.body ?? {});
    answer(res, { removed: true, ...(await agents.removeWorktree(req.params.id, force)) });
  });
  router.get("/inbox", (req, res) => {
    answer(res, { items: agents.listInbox(parse(inboxQuerySchema, req.query)) });
  });
  router.get("/asks", (_req, res) => {
    answer(res, { asks: agents.listAsks() });
  });
  router.get("/thread/:id/asks", (req, res) => {
    answer(res, { asks: agents.listAsks(req.params.id) });
  });
  router.get("/thread/:id/rules", (req, res) => {
    answer(res, { rules: agents.listRules(req.params.id) });
  });
  router.post("/thread/:id/asks/:requestId", async (req, res) => {
    const { id, requestId } = req.params;
    await agents.answer(id, requestId, parse(answerRequestSchema, req.body));
    answer(res, { answered: true });
  });
  router.put("/thread/:id/input/:inputId", async (req, res) => {
    const { id, inputId } = req.params;
    await agents.amend(id, inputId, parse(amendRequestSchema, req.body).text);
    answer(res, { accepted: true });
  });
  for (const control of CONTROLS) {
    router.post(`/thread/:id/${control}`, async (req, res) => {
      const body: unknown = req.body;
      const request = { ...(typeof body === "object" ? body : {}), control };
      const outcome = await agents.control(String(req.params["id"]), parse(controlRequestSchema, request));
      answer(res, { accepted: true, ...(outcome !== undefined && { outcome }) });
    });
  }
  return router;
}
