/** The route of inputs. */
import type { Router } from "express";
import { type InputReply, inputRequestSchema } from "../../shared/api.ts";
import type { Inputs } from "../threads/inputs.ts";
import { answer, parse, threadRouter } from "./exchange.ts";
import type { Metrics } from "./metrics.ts";

/** Where the route stands, as Express writes it. */
export const INPUT_ROUTE = "/thread/:id/input";

/** Gives a thread the input that a request's body holds. @throws AppError */
export type TakeInput = (threadId: string, body: unknown) => Promise<InputReply>;

export function createTakeInput(
  inputs: Inputs,
  { inputSeconds, inputBytes }: Pick<Metrics, "inputSeconds" | "inputBytes">,
): TakeInput {
  return async (threadId, body) => {
    const input = parse(inputRequestSchema, body);
    const endTimer = inputSeconds.startTimer();
    const { isDuplicate, isHidden } = await inputs.send(threadId, input);
    endTimer();
    inputBytes.inc("text" in input ? Buffer.byteLength(input.text) : 1);
    return { sent: true, ...(isDuplicate && { duplicate: true }), ...(isHidden && { hidden: true }) };
  };
}

export function inputRoutes(takeInput: TakeInput): Router {
  const router = threadRouter();
  router.post(INPUT_ROUTE, async (req, res) => answer(res, await takeInput(req.params.id, req.body)));
  return router;
}
