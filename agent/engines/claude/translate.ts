/**
 * claude's lines as transcript events: a pure function of what is remembered and the line. The list of a line's
 * events depends on nothing else, so a runner that translates a line again gives each event the same id. What the
 * thread is besides (`context.fold`) only fills in fields.
 */
import type { EventBody } from "../../../shared/agent/events.ts";
import { findAsk } from "../../../shared/agent/fold-asks.ts";
import type { Line } from "../../../shared/agent/jsonl.ts";
import { ownValue, without } from "../../../shared/own-value.ts";
import type { HeldCall, OpenRequest, TranslateContext } from "../../engine.ts";
import { askEvents } from "./asks.ts";
import { AFTER_CALL, AFTER_CALLS, AFTER_COMPACTION, BEFORE_CALL, BEFORE_END } from "./control.ts";
import { type ClaudeLine, type ClaudeReply, type ClaudeRequest, parseClaudeLine } from "./lines.ts";
import type { ClaudeState } from "./state.ts";
import { asRecord, kindOf } from "./tools.ts";
import { assistantLine, streamLine } from "./translate-answer.ts";
import { replyLine } from "./translate-reply.ts";
import { resultLine } from "./translate-result.ts";
import { systemLine } from "./translate-system.ts";
import { toolResults } from "./translate-tools.ts";
import { startTurn, type Translated } from "./translate-turn.ts";

/** At most one delivery is on its way. */
const MAX_RECEIVED = 5;

/**
 * @throws Error if the line can't be read.
 */
export function translateClaude(state: ClaudeState, line: Line, context: TranslateContext): Translated {
  const parsed = parseClaudeLine(line.text);
  if (!parsed) return { state, events: [] };
  const translated = translateLine(state, parsed, line, context);
  const { turn, compacting, beginsWith } = translated.state;
  const isBusy = turn !== null || compacting !== null || beginsWith !== null;
  return { ...translated, state: { ...translated.state, isBusy } };
}

function translateLine(
  state: ClaudeState,
  parsed: ClaudeLine,
  line: Line,
  context: TranslateContext,
): Translated {
  switch (parsed.type) {
    case "system":
      return systemLine(state, parsed, line, context);
    case "assistant":
      return assistantLine(state, parsed, line, context);
    case "stream_event":
      return streamLine(state, parsed, context);
    case "user":
      return userLine(state, parsed, line, context);
    case "result":
      return resultLine(state, parsed, line, context);
    case "control_request":
      return requestLine(state, parsed, line, context);
    case "control_response":
      return answered(state, parsed) ?? replyLine(state, parsed, context);
    case "rate_limit_event": {
      const { status, resetsAt = null } = parsed.rate_limit_info ?? {};
      return { state: { ...state, resetsAt: status === "rejected" ? resetsAt : null }, events: [] };
    }
    case "command_lifecycle":
      return lifecycleLine(state, parsed, line, context);
    case "control_cancel_request":
      return withdrawn(state, parsed.request_id, context);
  }
}

function userLine(
  state: ClaudeState,
  parsed: Extract<ClaudeLine, { type: "user" }>,
  line: Line,
  context: TranslateContext,
): Translated {
  const deliveryId = parsed.uuid ?? "";
  if (!parsed.isReplay || !isDelivery(context, deliveryId)) return toolResults(state, parsed, context);
  return take(state, deliveryId, line, context);
}

/** A message that no person wrote has no echo if it begins a turn: that claude begins with it is its receipt. */
function lifecycleLine(
  state: ClaudeState,
  parsed: Extract<ClaudeLine, { type: "command_lifecycle" }>,
  line: Line,
  context: TranslateContext,
): Translated {
  const { command_uuid: id, state: what } = parsed;
  const next = begin(receive(state, id, what), parsed);
  const isReceipt = what === "started" && context.fold.foreignDeliveryIds?.includes(id);
  return isReceipt ? take(next, id, line, context) : { state: next, events: [] };
}

function take(state: ClaudeState, deliveryId: string, line: Line, context: TranslateContext): Translated {
  const started = startTurn(state, line, context);
  const next = { ...started.state, taken: [...new Set([...state.taken, deliveryId])] };
  return {
    state: next,
    events: [...started.events, { type: "delivery_update", deliveryId, status: "started" }],
  };
}

/** It holds the message: a runner that finds it in mid-turn must not send it again. */
function receive(state: ClaudeState, deliveryId: string, what: string): ClaudeState {
  const others = state.received.filter((id) => id !== deliveryId);
  const received = what === "cancelled" ? others : [...others, deliveryId].slice(-MAX_RECEIVED);
  return { ...state, received };
}

/** It may be some time between this word and the turn's first line. */
function begin(
  state: ClaudeState,
  { command_uuid: id, state: what }: Extract<ClaudeLine, { type: "command_lifecycle" }>,
): ClaudeState {
  if (what === "started" && state.turn === null) return { ...state, beginsWith: id };
  const isOver = (what === "completed" || what === "cancelled") && state.beginsWith === id;
  return isOver ? { ...state, beginsWith: null } : state;
}

/** Ours: noted before it was sent, so the transcript names it, whenever this line is translated. */
function isDelivery({ fold }: TranslateContext, id: string): boolean {
  return fold.deliveryIds.includes(id);
}

function requestLine(
  state: ClaudeState,
  parsed: ClaudeRequest,
  line: Line,
  { fold, config }: TranslateContext,
): Translated {
  const { request_id: requestId, request } = parsed;
  const toolCallId = request.tool_use_id ?? "";
  const kind: OpenRequest["kind"] = ownValue(KINDS, request.subtype) ?? "unknown";
  // A subagent's calls are saved elsewhere; killed, the call that began the subagent is what was cut off.
  const isSubagent = asRecord(request.input)["agent_id"] !== undefined;
  const isBeforeCall = request.callback_id === BEFORE_CALL && !isSubagent;
  const isAfterCalls = request.callback_id === AFTER_CALLS;
  const isBeforeEnd = request.callback_id === BEFORE_END;
  const isAfterCompaction = request.callback_id === AFTER_COMPACTION;
  const call = callOf(request);
  const place = {
    ...{ byte: line.byte, bytes: line.bytes },
    ...(call && { call }),
    ...(isBeforeEnd && { isBeforeEnd }),
    ...(isAfterCompaction && { isAfterCompaction }),
  };
  const open: OpenRequest = { requestId, kind, toolCallId, isBeforeCall, isAfterCalls, isSubagent, ...place };
  const next = { ...noteFolder(state, request), requests: { ...state.requests, [requestId]: open } };
  if (kind !== "ask") return { state: next, events: [] };
  const plan = ownValue(state.tools, toolCallId)?.plan;
  return { state: next, events: askEvents(parsed, fold, state.generation, config.dir, plan) };
}

/**
 * Keeps the directory in which a call would run, as the hook before it says. A command's `cd` changes it for later
 * calls.
 */
function noteFolder(
  state: ClaudeState,
  { callback_id, tool_use_id = "", input }: ClaudeRequest["request"],
): ClaudeState {
  const { cwd } = asRecord(input);
  const tool = state.tools[tool_use_id];
  if (callback_id !== BEFORE_CALL || typeof cwd !== "string" || !tool) return state;
  return { ...state, tools: { ...state.tools, [tool_use_id]: { ...tool, cwd } } };
}

/** What an ask, and the hooks around a call, say of it. */
function callOf({ subtype, callback_id, tool_name, input }: ClaudeRequest["request"]): OpenRequest["call"] {
  const isAsk = subtype === "can_use_tool";
  if (!isAsk && callback_id !== BEFORE_CALL && callback_id !== AFTER_CALL) return undefined;
  const side = isAsk ? "ask" : callback_id === BEFORE_CALL ? "before" : "after";
  const hook = asRecord(input);
  const name = isAsk ? tool_name : hook["tool_name"];
  const { file_path, notebook_path } = isAsk ? hook : asRecord(hook["tool_input"]);
  const path = [file_path, notebook_path].find((value) => typeof value === "string");
  const kind = kindOf(typeof name === "string" ? name : "");
  return { side, kind, ...(typeof path === "string" && { path }) };
}

/** Reads the call that a line of claude's asks about. @throws Error if it is no line of claude's */
export function heldCallOf(text: string): HeldCall | undefined {
  const parsed = parseClaudeLine(text);
  if (parsed?.type !== "control_request") return undefined;
  const { subtype, callback_id, tool_name, input } = parsed.request;
  const fields = asRecord(input);
  if (subtype === "can_use_tool") return { name: tool_name ?? "", input };
  if (callback_id === BEFORE_END)
    return { name: "End", input: { text: String(fields["last_assistant_message"] ?? "") } };
  const name = fields["tool_name"];
  return callback_id === BEFORE_CALL && typeof name === "string"
    ? { name, input: fields["tool_input"] }
    : undefined;
}

const KINDS: Record<string, "ask" | "hook"> = { can_use_tool: "ask", hook_callback: "hook" };

/** claude echoes our answers: only then it has them. */
function answered(state: ClaudeState, { response }: ClaudeReply): Translated | undefined {
  const request = ownValue(state.requests, response.request_id);
  if (!request) return undefined;
  const next = { ...state, requests: without(state.requests, response.request_id) };
  const events: EventBody[] =
    request.kind === "ask"
      ? [{ type: "tool_call_update", toolCallId: request.toolCallId, status: "in_progress" }]
      : [];
  return { state: next, events };
}

function withdrawn(state: ClaudeState, requestId: string, { fold }: TranslateContext): Translated {
  const request = ownValue(state.requests, requestId);
  const next = { ...state, requests: without(state.requests, requestId) };
  // One that a person has answered, or that was closed otherwise, has its end.
  if (request?.kind !== "ask" || !findAsk(fold, requestId)) return { state: next, events: [] };
  const isQuestion = fold.asks.some((ask) => ask.requestId === requestId && ask.kind === "question");
  return {
    state: next,
    events: [
      isQuestion
        ? { type: "elicitation_response", requestId, action: "cancel", reason: "withdrawn" }
        : { type: "permission_response", requestId, outcome: "cancelled", reason: "withdrawn" },
    ],
  };
}
