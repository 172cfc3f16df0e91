/** What a line of the inbox comes to in the transcript: every line yields an event. Pure. */
import type { Capabilities } from "../../shared/agent/engines/declaration.ts";
import type { EventBody } from "../../shared/agent/events.ts";
import { findAsk } from "../../shared/agent/fold-asks.ts";
import type { OpenAsk, ThreadFold } from "../../shared/agent/fold-types.ts";
import { type InboxLine, parseInboxLine } from "../../shared/agent/inbox.ts";
import { MORE_OPTION } from "../../shared/agent/limits.ts";
import { errorText } from "../../shared/errors.ts";
import { boundedOutcome, gateResponse, noticesOf } from "./gate-events.ts";

type LineOf<T extends InboxLine["op"]> = Extract<InboxLine, { op: T }>;

/** @param whole gives the line's cut strings back */
export function inboxEvent(
  text: string,
  fold: ThreadFold,
  isSingle: boolean,
  whole: (line: InboxLine) => InboxLine,
): EventBody {
  let line: InboxLine;
  try {
    line = whole(parseInboxLine(text));
  } catch (error) {
    const description = `${errorText(error)}: ${text.slice(0, 200)}`;
    return warning("A line of the inbox can't be read; it is skipped", description);
  }
  return lineEvent(line, fold, isSingle);
}

/** A person who lets the thread go on has answered when it is to go on. These events come before the line's own. */
export function answeredBy(event: EventBody, fold: ThreadFold): EventBody[] {
  if (event.type !== "control" || event.op !== "resume") return [];
  const asked = fold.asks.filter(({ limit }) => limit?.name === "provider");
  return asked.map(({ requestId }) => ({
    type: "permission_response",
    requestId,
    outcome: "selected",
    optionId: MORE_OPTION,
    by: event.by,
  }));
}

function lineEvent(line: InboxLine, fold: ThreadFold, isSingle: boolean): EventBody {
  switch (line.op) {
    case "message":
      return messageEvent(line, fold, isSingle);
    case "edit": {
      const { messageId, content, by, plain } = line;
      const applied = isWaiting(fold, messageId);
      return { type: "message_edit", messageId, content, by, applied, ...(plain && { plain }) };
    }
    case "withdraw": {
      const { messageId, by } = line;
      return { type: "message_withdraw", messageId, by, applied: isWaiting(fold, messageId) };
    }
    case "permission":
      return permissionEvent(line, fold);
    case "elicitation":
      return elicitationEvent(line, fold);
    case "decide":
      return decisionEvent(line, fold);
    case "event":
      return line.event as EventBody; // its shape is checked when it is written
    default: {
      const { ts: _, blobs: __, ...op } = line;
      return { type: "control", ...op };
    }
  }
}

function messageEvent(line: LineOf<"message">, fold: ThreadFold, isSingle: boolean): EventBody {
  const isKnown = [...fold.messages, ...(fold.held ?? [])].some(
    ({ messageId }) => messageId === line.messageId,
  );
  if (isKnown) return warning("A message came twice; it counts once", line.messageId);
  if (isSingle && fold.deliveryIds.length + fold.messages.length > 0) {
    return warning("This thread takes no second message", line.messageId);
  }
  const { messageId, source, content, when, replyTo, plain, hops, causes, fromNumber, held } = line;
  const { handle, channelId } = line;
  return {
    type: "user_message",
    messageId,
    source,
    content,
    ...(when && { when }),
    ...(replyTo !== undefined && { replyTo }),
    ...(plain && { plain }),
    ...(hops !== undefined && { hops }),
    ...(causes && { causes }),
    ...(fromNumber !== undefined && { fromNumber }),
    ...(held && { held }),
    ...(handle !== undefined && { handle }),
    ...(channelId !== undefined && { channelId }),
  };
}

function isWaiting(fold: ThreadFold, id: string): boolean {
  return fold.messages.some(({ messageId }) => messageId === id);
}

function permissionEvent(line: LineOf<"permission">, fold: ThreadFold): EventBody {
  const ask = findAsk(fold, line.requestId);
  if (!ask || ask.kind === "question") return tooLate(line.requestId);
  if (!ask.options.some((option) => option.optionId === line.optionId)) {
    return warning("An answer names no option of its ask", `${line.optionId} of ${line.requestId}`);
  }
  const { by, message } = line;
  const optionId = fold.marked ? onceInPlaceOf(line.optionId, ask) : line.optionId;
  return {
    type: "permission_response",
    requestId: ask.requestId,
    outcome: "selected",
    optionId,
    by,
    ...(message !== undefined && { message }),
  };
}

/** In a thread that outside text has got into, nothing is allowed beyond the call that is asked about. */
function onceInPlaceOf(optionId: string, ask: OpenAsk): string {
  if (!isAboutCall(ask)) return optionId;
  const { options } = ask;
  const chosen = options.find((option) => option.optionId === optionId);
  if (chosen?.kind !== "allow_always") return optionId;
  return options.find(({ kind }) => kind === "allow_once")?.optionId ?? optionId;
}

/** Tells an engine's own ask about a call from the runner's questions. */
function isAboutCall({ limit, trust, heldMessageId, memoryWriteId }: OpenAsk): boolean {
  return !limit && !trust && heldMessageId === undefined && memoryWriteId === undefined;
}

function elicitationEvent(line: LineOf<"elicitation">, fold: ThreadFold): EventBody {
  const ask = findAsk(fold, line.requestId);
  if (ask?.kind !== "question") return tooLate(line.requestId);
  const { action, content, by } = line;
  return { type: "elicitation_response", requestId: ask.requestId, action, by, ...(content && { content }) };
}

/**
 * Makes the event of a directive's decision. A decision on another call, or a second one, becomes a warning instead.
 */
function decisionEvent(
  { requestId, callKey, outcome, text, by }: LineOf<"decide">,
  fold: ThreadFold,
): EventBody {
  const entry = fold.gates?.entries.find((one) => one.requestId === requestId);
  if (entry?.by !== "directive" || entry.outcome !== undefined || entry.callKey !== callKey)
    return warning("A decision came to a gate that is not open; it counts for nothing", requestId);
  return gateResponse(entry, boundedOutcome(fold, outcome), text, by);
}

/**
 * Makes the message by which the model hears why a person denied its call, for an engine whose denials have no place
 * for words. It comes after the answer's own event.
 */
export function toldOfReason(event: EventBody, fold: ThreadFold, { reasons }: Capabilities): EventBody[] {
  if (reasons || event.type !== "permission_response" || !event.message || event.by === undefined) return [];
  const ask = findAsk(fold, event.requestId);
  const chosen = ask?.options.find(({ optionId }) => optionId === event.optionId);
  if (!ask || ask.aside || ask.gate || !isAboutCall(ask) || !chosen?.kind.startsWith("reject")) return [];
  const text = `${ask.title}: denied. ${event.message}`;
  return [
    {
      type: "user_message",
      messageId: `reason-${ask.requestId}`,
      source: event.by,
      content: [{ type: "text", text }],
      plain: true,
    },
  ];
}

/** Makes the notices that show people a gate's decision against the agent. They come after the line's own event. */
export function shownOf(event: EventBody, fold: ThreadFold): EventBody[] {
  if (event.type !== "gate_response") return [];
  const entry = fold.gates?.entries.find(({ requestId }) => requestId === event.requestId);
  return entry ? noticesOf(entry, event) : [];
}

function tooLate(requestId: string): EventBody {
  return warning("An answer came to an ask that is not open; it counts for nothing", requestId);
}

function warning(title: string, description: string): EventBody {
  return { type: "notice", severity: "warning", title, description };
}
