/** The events of an ask. If a restart asks for a call again that a person has answered, the answer follows at once. Pure. */

import { callKeyOf } from "../../../shared/agent/call-key.ts";
import type { EventBody } from "../../../shared/agent/events.ts";
import type { ThreadFold } from "../../../shared/agent/fold-types.ts";
import { cutInput } from "../../core/cut-input.ts";
import { findEarlierAsk } from "../../core/repeated-ask.ts";
import type { Said } from "./protocol.ts";

export function askEvents(said: Said<"ask">, fold: ThreadFold, generation: number): EventBody[] {
  const { requestId, callId: toolCallId, name: toolName, title, input, options } = said;
  // An agent may tell no input: then its title is all that names the call.
  const callKey = callKeyOf(toolName, isEmpty(input) ? title : input);
  const old = findEarlierAsk(fold, callKey, generation);
  const ask: EventBody = {
    type: "permission_request",
    requestId,
    toolCallId,
    toolName,
    callKey,
    input: cutInput(isEmpty(input) ? { title } : input),
    options: options.map(({ optionId, name, kind }) => ({ optionId, name, kind })),
    title,
    ...(old && { replaces: old.requestId }),
  };
  const answer = old?.response?.kind === "permission" ? old.response : undefined;
  // The agent may offer other options by now: then a person is asked again.
  if (!answer || !options.some(({ optionId }) => optionId === answer.optionId)) return [ask];
  const { optionId, message, by } = answer;
  return [
    ask,
    {
      type: "permission_response",
      requestId,
      outcome: "selected",
      optionId,
      ...(by !== undefined && { by }),
      ...(message !== undefined && { message }),
    },
  ];
}

function isEmpty(input: unknown): boolean {
  if (input === undefined || input === null) return true;
  return typeof input === "object" && Object.keys(input).length === 0;
}
