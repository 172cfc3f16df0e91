/** The part of the fold that knows asks: open, parked, answered, asked again. */
import { findEngine } from "./engines/engines.ts";
import type { EventOf, ThreadEvent } from "./events.ts";
import { decideAside, putAside, useAllowed } from "./fold-aside.ts";
import { answerGate } from "./fold-gates.ts";
import { LET_IN_OPTION, settleHeld } from "./fold-held.ts";
import type { AskAnswer, OpenAsk, ThreadFold } from "./fold-types.ts";
import { answerLimit } from "./limits.ts";
import { grantRule } from "./rules.ts";
import { TRUST_OPTION } from "./trust.ts";

const MAX_HEARD = 20;

export function foldAsk(fold: ThreadFold, event: ThreadEvent): ThreadFold {
  switch (event.type) {
    case "permission_request":
      return open(fold, event, {
        kind: event.plan === undefined ? "permission" : "plan",
        toolName: event.toolName,
        title: event.title,
        options: event.options,
        ...(event.trust && { trust: event.trust }),
        ...(event.limit && { limit: event.limit }),
        ...(event.heldMessageId !== undefined && { heldMessageId: event.heldMessageId }),
        ...(event.memoryWriteId !== undefined && { memoryWriteId: event.memoryWriteId }),
        ...(event.gate && { gate: event.gate }),
      });
    case "elicitation_request":
      return open(fold, event, {
        kind: "question",
        toolName: findEngine(fold.engine?.engine)?.capabilities.questions[0] ?? "Question",
        title: event.message,
        options: [],
      });
    case "user_message":
      return answeredByPeople(fold);
    case "permission_response": {
      const heard = event.by === undefined ? fold : answeredByPeople(fold);
      const used = event.decidedOn === undefined ? heard : useAllowed(heard, event.decidedOn);
      return close(used, event, permissionAnswer(event));
    }
    case "ask_aside":
      return putAside(fold, event);
    case "elicitation_response":
      return close(event.by === undefined ? fold : answeredByPeople(fold), event, elicitationAnswer(event));
    case "tool_call_update":
      return endsAnswers(event) ? hearAnswers(fold, event.toolCallId) : fold;
    case "turn_end":
      return endsAnswers(event) ? { ...fold, recordedAnswers: [], heardAnswers: undefined } : fold;
    default:
      return fold;
  }
}

/**
 * Whether answers hold no longer: the call's, or all of a turn. Until then an engine that dies asks for the same call
 * again, and is given the answer that is recorded.
 */
export function endsAnswers(event: EventOf<"tool_call_update"> | EventOf<"turn_end">): boolean {
  // Cut off before the engine had the answer, the call did not run. Otherwise it may have run from here on.
  if (event.type === "tool_call_update") return event.reason !== "interrupted";
  return event.stopReason !== "interrupted";
}

/** The open ask that an answer to `requestId` means: itself, or the one that stands for it now. */
export function findAsk(fold: ThreadFold, requestId: string): OpenAsk | undefined {
  return fold.asks.find((ask) => ask.requestId === requestId || ask.replaces.includes(requestId));
}

/** Most asks that are open in a thread at a time: nobody decides on more. */
export const MAX_OPEN_ASKS = 100;
/** Most asks, one after the other, on which nobody decides: an engine may take back what it asks, and ask again. */
export const MAX_UNANSWERED_ASKS = 200;

/** The sentence by which an engine's next ask is refused; undefined if people are to be asked. */
export function whyNoAsk({ asks, unanswered = 0 }: ThreadFold): string | undefined {
  if (asks.length >= MAX_OPEN_ASKS)
    return `${MAX_OPEN_ASKS} questions wait for people already; ask again when they are answered.`;
  if (unanswered >= MAX_UNANSWERED_ASKS)
    return `Nobody has answered the last ${MAX_UNANSWERED_ASKS} questions; people are asked again once somebody has written or decided.`;
  return undefined;
}

function answeredByPeople(fold: ThreadFold): ThreadFold {
  if (fold.unanswered === undefined) return fold;
  const { unanswered: _, ...rest } = fold;
  return rest;
}

/** Asked by a process that is gone: an answer starts the engine again. */
export function isParked(fold: ThreadFold, ask: OpenAsk): boolean {
  return !(fold.engine?.isUp && fold.engine.generation === ask.generation);
}

function open(
  fold: ThreadFold,
  event: EventOf<"permission_request"> | EventOf<"elicitation_request">,
  what: Pick<
    OpenAsk,
    "kind" | "toolName" | "title" | "options" | "trust" | "limit" | "heldMessageId" | "memoryWriteId" | "gate"
  >,
): ThreadFold {
  const replaced = event.replaces === undefined ? undefined : findAsk(fold, event.replaces);
  const ask: OpenAsk = {
    ...what,
    requestId: event.requestId,
    toolCallId: event.toolCallId,
    callKey: event.callKey,
    input: event.input,
    generation: fold.engine?.generation ?? 0,
    askedAt: event.ts,
    seq: event.seq,
    // Older names of an ask that is asked again and again: the last few, so that it stays small.
    replaces: [...(replaced?.replaces ?? []), ...(event.replaces ? [event.replaces] : [])].slice(-20),
  };
  if (replaced?.aside) ask.aside = replaced.aside;
  const { usageLimit, ...rest } = fold;
  const isAsked = what.limit?.name === "provider" || usageLimit === undefined;
  const unanswered = (fold.unanswered ?? 0) + (replaced ? 0 : 1);
  const asks = [...fold.asks.filter((other) => other !== replaced), ask];
  return { ...(isAsked ? rest : fold), asks, unanswered };
}

function close(
  fold: ThreadFold,
  { requestId, ts, seq }: Pick<ThreadEvent & { requestId: string }, "requestId" | "ts" | "seq">,
  answer: AskAnswer | undefined,
): ThreadFold {
  const ask = findAsk(fold, requestId);
  if (!ask) return fold;
  const asks = fold.asks.filter((other) => other !== ask);
  const option = answer?.kind === "permission" && ask.options.find((o) => o.optionId === answer.optionId);
  const rule = option && option.kind === "allow_always" ? option.rule : undefined;
  if (ask.heldMessageId !== undefined) {
    const isLetIn = answer?.kind === "permission" && answer.optionId === LET_IN_OPTION;
    return settleHeld({ ...fold, asks }, ask.heldMessageId, isLetIn);
  }
  if (ask.gate)
    return answerGate({ ...fold, asks }, ask.requestId, answer?.kind === "permission" ? answer : undefined);
  if (!answer || ask.memoryWriteId !== undefined) return { ...fold, asks };
  if (ask.limit)
    return answerLimit(
      { ...fold, asks },
      ask,
      answer.kind === "permission" ? answer.optionId : undefined,
      ts,
    );
  if (ask.trust) {
    const isTrusted = answer.kind === "permission" && answer.optionId === TRUST_OPTION;
    return { ...fold, asks, trust: { key: ask.callKey, isTrusted } };
  }
  if (ask.aside) {
    const told = decideAside({ ...fold, asks }, ask, answer, ts);
    return rule === undefined ? told : grantRule(told, rule, seq);
  }
  const { toolCallId, callKey, toolName, input, generation } = ask;
  const recorded = {
    requestId: ask.requestId,
    toolCallId,
    callKey,
    toolName,
    input,
    generation,
    response: answer,
    ...(rule !== undefined && { rule }),
  };
  // If the same call was answered before the engine died, this answer takes the place of that one.
  const others = fold.recordedAnswers.filter((other) => !ask.replaces.includes(other.requestId));
  const next = { ...fold, asks, recordedAnswers: [...others, recorded].slice(-100) };
  return rule === undefined ? next : grantRule(next, rule, seq);
}

function hearAnswers(fold: ThreadFold, toolCallId: string): ThreadFold {
  const heard = fold.recordedAnswers.filter((answer) => answer.toolCallId === toolCallId);
  if (heard.length === 0) return fold;
  const questions = heard.filter(({ response }) => response.kind === "elicitation");
  return {
    ...fold,
    recordedAnswers: fold.recordedAnswers.filter((answer) => answer.toolCallId !== toolCallId),
    ...(questions.length > 0 && {
      heardAnswers: [...(fold.heardAnswers ?? []), ...questions].slice(-MAX_HEARD),
    }),
  };
}

function permissionAnswer(event: EventOf<"permission_response">): AskAnswer | undefined {
  if (event.outcome === "cancelled" || event.optionId === undefined) return undefined;
  return {
    kind: "permission",
    optionId: event.optionId,
    ...(event.message !== undefined && { message: event.message }),
    ...(event.by !== undefined && { by: event.by }),
  };
}

function elicitationAnswer(event: EventOf<"elicitation_response">): AskAnswer | undefined {
  if (event.action === "cancel") return undefined;
  return {
    kind: "elicitation",
    action: event.action,
    ...(event.content && { content: event.content }),
    ...(event.by !== undefined && { by: event.by }),
  };
}
