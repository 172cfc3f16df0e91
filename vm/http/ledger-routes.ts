/** The routes of the relay's ledgers. */
import type { Router } from "express";
import { listQuerySchema } from "../../shared/api.ts";
import { homeRequestSchema } from "../../shared/home-api.ts";
import { messageKeySchema, messageRequestSchema, snowflakeSchema } from "../../shared/ledger-api.ts";
import type { Homes } from "../threads/homes.ts";
import type { Ledgers } from "../threads/ledgers.ts";
import { answer, parse, threadRouter } from "./exchange.ts";

export function ledgerRoutes({ ledgers, homes }: { ledgers: Ledgers; homes: Homes }): Router {
  const router = threadRouter();
  router.put("/thread/:id/home", (req, res) => {
    homes.put(req.params.id, parse(homeRequestSchema, req.body));
    res.status(204).end();
  });
  router.put("/thread/:id/messages/:key", (req, res) => {
    const key = parse(messageKeySchema, req.params.key, "key");
    ledgers.put(req.params.id, key, parse(messageRequestSchema, req.body));
    res.status(204).end();
  });
  router.get("/thread/:id/messages", (req, res) => {
    answer(res, { messages: ledgers.listKept(req.params.id) });
  });
  router.get("/threads/messages", (req, res) => {
    answer(res, { threads: ledgers.list(parse(listQuerySchema, req.query).status) });
  });
  router.put("/channel/:id/messages/:key", (req, res) => {
    const channelId = parse(snowflakeSchema, req.params.id, "id");
    const key = parse(messageKeySchema, req.params.key, "key");
    ledgers.putOfChannel(channelId, key, parse(messageRequestSchema, req.body));
    res.status(204).end();
  });
  router.get("/channel/:id/messages", (req, res) => {
    answer(res, { messages: ledgers.listOfChannel(parse(snowflakeSchema, req.params.id, "id")) });
  });
  return router;
}
