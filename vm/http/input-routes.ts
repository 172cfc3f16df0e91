/** The route of inputs. */
import type { Router } from "express";
import { inputRequestSchema } from "../../shared/api.ts";
import type { Inputs } from "../threads/inputs.ts";
import { answer, parse, threadRouter } from "./exchange.ts";
import type { Metrics } from "./metrics.ts";

export function inputRoutes(inputs: Inputs, metrics: Metrics): Router {
  const router = threadRouter();
  router.post("/thread/:id/input", async (req, res) => {
    const input = parse(inputRequestSchema, req.body);
    const endTimer = metrics.inputSeconds.startTimer();
    const { isDuplicate } = await inputs.send(req.params.id, input);
    endTimer();
    metrics.inputBytes.inc("text" in input ? Buffer.byteLength(input.text) : 1);
    answer(res, isDuplicate ? { sent: true, duplicate: true } : { sent: true });
  });
  return router;
}
