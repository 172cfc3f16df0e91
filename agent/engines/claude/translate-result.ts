/** The end of a turn of claude's. */
import type { EventBody, EventOf } from "../../../shared/agent/events.ts";
import type { Line } from "../../../shared/agent/jsonl.ts";
import type { TranslateContext } from "../../engine.ts";
import type { ClaudeResult } from "./lines.ts";
import { type ClaudeState, costSince } from "./state.ts";
import { endChat, endCompaction } from "./translate-system.ts";
import { startTurn, type Translated } from "./translate-turn.ts";
import { usageOf } from "./usage.ts";
import { findUsageLimit } from "./usage-limit.ts";

type StopReason = EventOf<"turn_end">["stopReason"];

/**
 * Ends what is open: the call of the model, tool calls, the turn, and the deliveries that it took. A result without a
 * turn (of `/compact`) ends none.
 */
export function resultLine(
  state: ClaudeState,
  result: ClaudeResult,
  line: Line,
  context: TranslateContext,
): Translated {
  if (state.compacting) {
    const error = result.result ?? "it ended without a result";
    const ended = endCompaction(state, { status: "failed", error }, [], context);
    return finish(ended.state, result, line, context, ended.events);
  }
  return finish(state, result, line, context, []);
}

function finish(
  state: ClaudeState,
  result: ClaudeResult,
  line: Line,
  context: TranslateContext,
  before: readonly EventBody[],
): Translated {
  const costUsd = result.total_cost_usd ?? state.costUsd;
  const rest = { ...state, costUsd, turn: null, taken: [], tools: {}, live: {} };
  if (!state.turn && state.taken.length === 0 && !result.is_error)
    return { state: rest, events: [...before] };
  // Before it has begun, it refuses the conversation, not a turn: it ends, and its last words say why.
  if (!state.turn && !state.isStarted) return { state: rest, events: [...before] };
  // A failure may be printed without a turn: then it is one of its own.
  const started = startTurn(state, line, context);
  // It is taken up again where it was: the conversation keeps all but the refusal.
  const usageLimit = findUsageLimit(result, state.resetsAt, context.nowMs);
  const stopReason = usageLimit ? "interrupted" : stopReasonOf(result);
  const stepStatus =
    stopReason === "cancelled"
      ? "cancelled"
      : ["error", "interrupted"].includes(stopReason)
        ? "failed"
        : "completed";
  const chat = endChat(started.state, stepStatus, context);
  const turnId = started.state.turn?.turnId ?? "";
  const spent = costSince(state, costUsd);
  const windows = Object.values(result.modelUsage ?? {}).map((usage) => usage.contextWindow ?? 0);
  const size = Math.trunc(Math.max(0, ...windows));
  const events: EventBody[] = [
    ...before,
    ...started.events,
    ...chat.events,
    ...Object.keys(state.tools).map(cutOff),
    {
      type: "turn_end",
      turnId,
      stopReason,
      ...((stopReason === "error" || usageLimit || isWithoutOutput(result)) && { error: errorOf(result) }),
      ...(usageLimit && { usageLimit }),
      ...(result.duration_ms !== undefined && { durationMs: Math.trunc(result.duration_ms) }),
      ...(result.usage && { usage: usageOf(result.usage) }),
      cost: { amount: spent, currency: "USD" },
      ...outputOf(result),
    },
    ...(usageLimit ? [] : state.taken).map(
      (deliveryId): EventBody => ({ type: "delivery_update", deliveryId, status: "completed" }),
    ),
  ];
  if (size > 0 && state.usedTokens > 0) events.push({ type: "usage_update", used: state.usedTokens, size });
  return { state: { ...rest, chat: null, beginsWith: null, takesUp: false }, events };
}

function cutOff(toolCallId: string): EventBody {
  return { type: "tool_call_update", toolCallId, status: "failed", reason: "interrupted" };
}

/** The model gave no result that fits, as often as it was asked. */
function isWithoutOutput({ subtype }: ClaudeResult): boolean {
  return subtype === "error_max_structured_output_retries";
}

/** The result of a thread with a schema. */
function outputOf(result: ClaudeResult): Pick<EventOf<"turn_end">, "result" | "output"> {
  const { structured_output } = result;
  return {
    ...(structured_output !== undefined && { result: structured_output }),
    ...(isWithoutOutput(result) && { output: "invalid_output" }),
  };
}

function stopReasonOf(result: ClaudeResult): StopReason {
  const { subtype, is_error, terminal_reason, stop_reason } = result;
  if (terminal_reason?.startsWith("aborted")) return "cancelled";
  if (subtype === "error_max_turns" || terminal_reason === "max_turns") return "max_turn_requests";
  // It came to its end: what fails is its result.
  if (isWithoutOutput(result)) return "end_turn";
  if (is_error) return "error";
  if (stop_reason === "max_tokens" || stop_reason === "refusal") return stop_reason;
  return "end_turn";
}

/** In the engine's own words. */
function errorOf({ result, errors, subtype }: ClaudeResult): string {
  return result || errors?.join("; ") || subtype;
}
