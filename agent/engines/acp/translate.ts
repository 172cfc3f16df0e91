/** Our program's lines as transcript events: a pure function of what is remembered and the line. */
import type { EventBody } from "../../../shared/agent/events.ts";
import { findAsk } from "../../../shared/agent/fold-asks.ts";
import type { Line } from "../../../shared/agent/jsonl.ts";
import { turnIdOf } from "../../../shared/agent/turn-id.ts";
import { ownValue, without } from "../../../shared/own-value.ts";
import type { TranslateContext } from "../../engine.ts";
import { askEvents } from "./ask-events.ts";
import type { FromAdapter, Said } from "./protocol.ts";
import type { AcpState, Translated } from "./state.ts";

/** At most one delivery is on its way. */
const MAX_RECEIVED = 5;
/** Calls whose ends are waited for; the oldest is forgotten before another one is begun. */
const MAX_CALLS = 256;

export function translateAcp(
  state: AcpState,
  said: FromAdapter,
  line: Line,
  context: TranslateContext,
): Translated {
  const messageId = `m${state.generation}-${line.byte}`;
  switch (said.type) {
    case "ready":
      return ready(state, said, context);
    case "gone": {
      const title = "The agent can't go on with its conversation";
      return same(state, { type: "notice", severity: "warning", title, description: said.message });
    }
    case "failed":
      return same(state, { type: "failure", code: said.code, message: said.message });
    case "turn":
      return beginTurn(state, said, line, context);
    case "taken": {
      const received = [...state.received, said.id].slice(-MAX_RECEIVED);
      return {
        state: { ...state, received },
        events: [{ type: "delivery_update", deliveryId: said.id, status: "started" }],
      };
    }
    case "live": {
      const text = { messageId, text: said.text, thought: said.isThought };
      return { state: { ...state, live: { text } }, events: [] };
    }
    case "text": {
      const type = said.isThought ? "agent_thought" : "agent_message";
      return {
        state: { ...state, live: {} },
        events: [{ type, messageId, at: messageId, text: said.text }],
      };
    }
    case "call":
      return call(state, said, messageId, context);
    case "call_update":
      return callUpdate(state, said, context);
    case "ask":
      return ask(state, said, line, context);
    case "answered":
      return answered(state, said);
    case "withdrawn":
      return withdrawn(state, said.requestId, context);
    case "plan":
      return same(state, { type: "plan", entries: said.entries });
    case "usage": {
      const { used, size, costUsd } = said;
      const cost = costUsd === undefined ? undefined : { amount: costUsd, currency: "USD" as const };
      const next = costUsd === undefined ? state : { ...state, costUsd: { ...state.costUsd, now: costUsd } };
      return same(next, { type: "usage_update", used, size, ...(cost && { cost }) });
    }
    case "mode":
      return mode(state, said, context);
    case "title":
      return same(state, { type: "session_info_update", title: said.title });
    case "compaction":
      return same(state, { type: "compaction_update", status: said.status });
    case "notice": {
      const { severity, title, description } = said;
      return same(state, {
        type: "notice",
        severity,
        title,
        ...(description !== undefined && { description }),
      });
    }
    case "end":
      return end(state, said);
  }
}

function same(state: AcpState, event: EventBody): Translated {
  return { state, events: [event] };
}

function ready(state: AcpState, said: Said<"ready">, { config, launch }: TranslateContext): Translated {
  const { name, version, sessionId, isResumed, modeId, capabilities, lost } = said;
  const goesOn = launch.takesUp && launch.taken.every((id) => lost.includes(id)) && launch.taken.length > 0;
  return {
    // It has none of what the turn was about: that begins anew.
    state: { ...state, isOpen: true, ...((goesOn || !launch.takesUp) && { takesUpNothing: true }) },
    events: [
      {
        type: "engine_start",
        generation: state.generation,
        engine: config.agent.engine,
        version,
        sessionId,
        model: name,
        modeId,
        resumed: isResumed,
        ...(launch.reseeded && { reseeded: true }),
        capabilities,
      },
      ...lost.map((deliveryId): EventBody => ({ type: "delivery_update", deliveryId, status: "queued" })),
    ],
  };
}

function beginTurn(
  state: AcpState,
  said: Said<"turn">,
  line: Line,
  { launch }: TranslateContext,
): Translated {
  const turnId = turnIdOf(launch, line.byte);
  const { cause, ids: deliveryIds } = said;
  const costUsd = { ...state.costUsd, before: state.costUsd.now };
  return {
    state: { ...state, isBusy: true, turn: { turnId }, takesUpNothing: false, costUsd },
    events: [{ type: "turn_start", turnId, cause, deliveryIds }],
  };
}

function call(
  state: AcpState,
  { id, name, title, kind, input, locations }: Said<"call">,
  at: string,
  { nowMs }: TranslateContext,
): Translated {
  const calls = Object.fromEntries([...Object.entries(state.calls).slice(1 - MAX_CALLS), [id, nowMs]]);
  const place = locations && {
    locations: locations.map(({ path, line }) => ({ path, ...(line !== undefined && { line }) })),
  };
  return {
    state: { ...state, calls, live: {} },
    events: [{ type: "tool_call", toolCallId: id, at, name, title, kind, rawInput: input ?? null, ...place }],
  };
}

function callUpdate(
  state: AcpState,
  { id: toolCallId, status, content = [] }: Said<"call_update">,
  { nowMs }: TranslateContext,
): Translated {
  const startedMs = ownValue(state.calls, toolCallId);
  if (status === "in_progress") return same(state, { type: "tool_call_update", toolCallId, status });
  return {
    state: { ...state, calls: without(state.calls, toolCallId) },
    events: [
      {
        type: "tool_call_update",
        toolCallId,
        status,
        ...(startedMs !== undefined && { durationMs: Math.max(0, nowMs - startedMs) }),
        ...(content.length > 0 && { content }),
      },
    ],
  };
}

function ask(state: AcpState, said: Said<"ask">, line: Line, { fold }: TranslateContext): Translated {
  const { requestId, callId, kind, path } = said;
  const request = {
    requestId,
    kind: "ask" as const,
    toolCallId: callId,
    isBeforeCall: false,
    call: { side: "ask" as const, kind, ...(path !== undefined && { path }) },
    byte: line.byte,
    bytes: line.bytes,
  };
  return {
    state: { ...state, requests: { ...state.requests, [requestId]: request } },
    events: askEvents(said, fold, state.generation),
  };
}

function answered(state: AcpState, { requestId }: Said<"answered">): Translated {
  const request = ownValue(state.requests, requestId);
  if (!request) return { state, events: [] };
  const { toolCallId } = request;
  return {
    state: { ...state, requests: without(state.requests, requestId) },
    events: [{ type: "tool_call_update", toolCallId, status: "in_progress" }],
  };
}

function withdrawn(state: AcpState, requestId: string, { fold }: TranslateContext): Translated {
  const isOpen = findAsk(fold, requestId) !== undefined;
  return {
    state: { ...state, requests: without(state.requests, requestId) },
    events: isOpen
      ? [{ type: "permission_response", requestId, outcome: "cancelled", reason: "withdrawn" }]
      : [],
  };
}

/** The order that it follows may have been refused: then the mode is as it was, and the order is done. */
function mode(state: AcpState, { modeId, seq }: Said<"mode">, { fold }: TranslateContext): Translated {
  const order = fold.pending.mode?.seq === seq ? fold.pending.mode : null;
  return same(state, { type: "current_mode_update", modeId, ...(order && { by: order.by }) });
}

function end(state: AcpState, said: Said<"end">): Translated {
  const { ids, stopReason, error, durationMs, usage } = said;
  const completed = ids.map(
    (deliveryId): EventBody => ({ type: "delivery_update", deliveryId, status: "completed" }),
  );
  // Messages that went into a turn which has ended since.
  if (!state.turn) return { state, events: completed };
  const { before, now } = state.costUsd;
  const amount = now >= before ? now - before : now;
  return {
    state: { ...state, isBusy: false, turn: null, calls: {}, live: {}, requests: {} },
    events: [
      ...Object.keys(state.calls).map(
        (toolCallId): EventBody => ({
          type: "tool_call_update",
          toolCallId,
          status: "failed",
          reason: "interrupted",
        }),
      ),
      {
        type: "turn_end",
        turnId: state.turn.turnId,
        stopReason,
        ...(error !== undefined && { error }),
        durationMs,
        ...(usage && { usage }),
        ...(amount > 0 && { cost: { amount, currency: "USD" as const } }),
      },
      ...completed,
    ],
  };
}
