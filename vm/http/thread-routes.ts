/** The routes of threads as such: made, listed, described, named, seen, resized, ended. */
import type { Router } from "express";
import {
  createRequestSchema,
  deliverySchema,
  type KillReply,
  listQuerySchema,
  resizeRequestSchema,
  screenQuerySchema,
  titleRequestSchema,
} from "../../shared/api.ts";
import { branchRequestSchema } from "../../shared/branch-api.ts";
import { AppError } from "../../shared/errors.ts";
import { type KillRequest, killRequestSchema } from "../../shared/kill-api.ts";
import type { Branches } from "../agents/branches.ts";
import type { Threads } from "../threads/threads.ts";
import { answer, parse, threadRouter } from "./exchange.ts";

export interface ThreadRoutesOptions {
  threads: Threads;
  branches: Branches;
  /** As `killThread`. */
  kill: (threadId: string, request?: KillRequest) => Promise<KillReply>;
}

export function threadRoutes({ threads, branches, kill }: ThreadRoutesOptions): Router {
  const router = threadRouter();
  router.post("/thread/create", async (req, res) => {
    const { tmuxSession } = await branches.createKnowing(refuseChild(parse(createRequestSchema, req.body)));
    answer(res, { created: true, tmuxSession }, 201);
  });
  router.post("/thread/:id/branch", async (req, res) => {
    answer(res, await branches.branch(req.params.id, parse(branchRequestSchema, req.body)), 201);
  });
  router.get("/threads", (req, res) => {
    answer(res, { threads: threads.list(parse(listQuerySchema, req.query).status) });
  });
  router.get("/thread/:id", (req, res) => {
    answer(res, threads.get(req.params.id));
  });
  router.put("/thread/:id/title", (req, res) => {
    threads.setTitle(req.params.id, parse(titleRequestSchema, req.body).title);
    res.status(204).end();
  });
  router.put("/thread/:id/delivery", (req, res) => {
    threads.setDelivery(req.params.id, parse(deliverySchema, req.body));
    res.status(204).end();
  });
  router.get("/thread/:id/screen", async (req, res) => {
    answer(res, await threads.getScreen(req.params.id, parse(screenQuerySchema, req.query).format));
  });
  router.post("/thread/:id/resize", async (req, res) => {
    await threads.resize(req.params.id, parse(resizeRequestSchema, req.body));
    answer(res, { resized: true });
  });
  router.post("/thread/:id/kill", async (req, res) => {
    answer(res, await kill(req.params.id, parse(killRequestSchema, req.body)));
  });
  return router;
}

/** Children are made by their parents' tools alone: those look after whose rights they have. */
function refuseChild<T extends { agent?: { parentThreadId?: string | undefined } | undefined }>(
  request: T,
): T {
  if (request.agent?.parentThreadId === undefined) return request;
  throw new AppError(
    "unsupported",
    "agent.parentThreadId: an agent makes its children itself (spawn_thread).",
  );
}
