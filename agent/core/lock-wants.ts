/** Which calls are about to write a file, and which may hold one. Pure. */
import { LOCK_STEP } from "../../shared/agent/fold-turns.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import type { OpenRequest } from "../engine.ts";
import type { Running } from "./decide.ts";

/** The system takes no longer one, so no call can write it. */
const MAX_PATH = 4_096;

/** A call that may go on as soon as it has the file. */
export interface LockWant {
  request: OpenRequest;
  path: string;
}

/** Before its hook is let go on, and again before a person's yes reaches it. */
export function lockWants(fold: ThreadFold, { state, sent, held }: Running): LockWant[] {
  return Object.values(state.requests).flatMap((request): LockWant[] => {
    const { requestId, call } = request;
    if (call?.kind !== "edit" || call.path === undefined || call.path.length > MAX_PATH) return [];
    if (sent.has(`answer ${requestId}`) || held.has(requestId)) return [];
    const isDue = call.side === "before" || (call.side === "ask" && isAllowed(fold, requestId));
    return isDue ? [{ request, path: call.path }] : [];
  });
}

function isAllowed(fold: ThreadFold, requestId: string): boolean {
  const response = fold.recordedAnswers.find((answer) => answer.requestId === requestId)?.response;
  return response?.kind === "permission" && response.optionId !== "no";
}

/**
 * Whether a call may hold its file: until it has ended, and not while a person is asked about it.
 * @param isUnseen no event has told of the call: then it is over with its round
 */
export function mayHold(
  toolCallId: string,
  fold: ThreadFold,
  { state }: Pick<Running, "state">,
  isUnseen: boolean,
): boolean {
  if (fold.turn === null || fold.asks.some((ask) => ask.toolCallId === toolCallId)) return false;
  if (!isUnseen) return fold.toolCalls.some((call) => call.toolCallId === toolCallId);
  return !Object.values(state.requests).some(({ isAfterCalls }) => isAfterCalls);
}

export const lockStepId = (toolCallId: string) => `${LOCK_STEP}${toolCallId}`;
