/** What agents' events say for the sidecar's metrics: durations, tokens, waits. */
import { findEngine } from "../../shared/agent/engines/engines.ts";
import type { EventOf, ThreadEvent } from "../../shared/agent/events.ts";
import { findAsk } from "../../shared/agent/fold-asks.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import type { ThreadId } from "../../shared/ids.ts";

/** What was measured, in seconds, tokens or calls. Values of labels come from engines and may be anything. */
export type Measure =
  | { metric: "chatSeconds" | "firstChunkSeconds"; value: number; labels: ChatLabels }
  | { metric: "tokens"; value: number; labels: ChatLabels & { gen_ai_token_type: "input" | "output" } }
  | { metric: "toolSeconds"; value: number; labels: { gen_ai_tool_name: string; error_type: string } }
  | { metric: "turnSeconds"; value: number; labels: { gen_ai_provider_name: string; error_type: string } }
  | { metric: "inferenceCalls" | "toolCalls"; value: number; labels: { gen_ai_provider_name: string } }
  | { metric: "waitSeconds"; value: number; labels: { kind: WaitKind } };

/** For what an agent waited: a person's answer, or a lock. */
export type WaitKind = "permission" | "question" | "plan" | "trust" | "limit" | "lock" | "place";

type ChatLabels = {
  gen_ai_request_model: string;
  gen_ai_provider_name: string;
  error_type: string;
};

export class AgentMeter {
  readonly #record: (measure: Measure) => void;
  /** Calls of the turn that runs, by thread; a turn whose beginning was not seen is not counted. */
  readonly #turns = new Map<string, { chats: number; tools: number }>();

  constructor(record: (measure: Measure) => void) {
    this.#record = record;
  }

  /** @param fold before the event */
  observe(threadId: ThreadId, fold: ThreadFold, event: ThreadEvent): void {
    switch (event.type) {
      case "turn_start":
        this.#turns.set(threadId, { chats: 0, tools: 0 });
        return;
      case "step_end":
        this.#endStep(threadId, fold, event);
        return;
      case "tool_call_update":
        this.#endCall(threadId, fold, event);
        return;
      case "permission_response":
      case "elicitation_response":
        this.#endWait(fold, event);
        return;
      case "turn_end":
        this.#endTurn(threadId, fold, event);
        return;
      default:
        return;
    }
  }

  #endStep(threadId: ThreadId, fold: ThreadFold, event: EventOf<"step_end">): void {
    const kind = fold.steps.find(({ stepId }) => stepId === event.stepId)?.kind;
    const value = event.durationMs / 1_000;
    if (kind === "lock" || kind === "place") this.#record({ metric: "waitSeconds", value, labels: { kind } });
    if (kind !== "chat") return;
    const turn = this.#turns.get(threadId);
    if (turn) turn.chats += 1;
    const labels = {
      gen_ai_request_model: event.model ?? fold.engine?.model ?? "",
      gen_ai_provider_name: providerOf(fold),
      error_type: event.status === "completed" ? "" : event.status,
    };
    this.#record({ metric: "chatSeconds", value, labels });
    if (event.ttftMs !== undefined)
      this.#record({ metric: "firstChunkSeconds", value: event.ttftMs / 1_000, labels });
    if (!event.usage) return;
    const { inputTokens, outputTokens } = event.usage;
    this.#record({ metric: "tokens", value: inputTokens, labels: { ...labels, gen_ai_token_type: "input" } });
    this.#record({
      metric: "tokens",
      value: outputTokens,
      labels: { ...labels, gen_ai_token_type: "output" },
    });
  }

  #endCall(threadId: ThreadId, fold: ThreadFold, event: EventOf<"tool_call_update">): void {
    const call = fold.toolCalls.find(({ toolCallId }) => toolCallId === event.toolCallId);
    if (!call || event.status === "in_progress") return;
    const turn = this.#turns.get(threadId);
    if (turn) turn.tools += 1;
    const value =
      event.durationMs === undefined ? secondsBetween(call.startedAt, event.ts) : event.durationMs / 1_000;
    const error_type = event.status === "failed" ? (event.reason ?? "failed") : "";
    this.#record({ metric: "toolSeconds", value, labels: { gen_ai_tool_name: call.name, error_type } });
  }

  #endWait(fold: ThreadFold, event: EventOf<"permission_response"> | EventOf<"elicitation_response">): void {
    const ask = findAsk(fold, event.requestId);
    if (!ask || event.reason === "replaced") return;
    const kind = ask.trust ? "trust" : ask.limit ? "limit" : ask.kind;
    this.#record({ metric: "waitSeconds", value: secondsBetween(ask.askedAt, event.ts), labels: { kind } });
  }

  #endTurn(threadId: ThreadId, fold: ThreadFold, event: EventOf<"turn_end">): void {
    const gen_ai_provider_name = providerOf(fold);
    const { stopReason, durationMs, output } = event;
    const value = durationMs === undefined ? undefined : durationMs / 1_000;
    const seconds = value ?? (fold.turn ? secondsBetween(fold.turn.startedAt, event.ts) : undefined);
    const isInvalid = output === "invalid_output";
    const error_type = stopReason !== "end_turn" ? stopReason : isInvalid ? output : "";
    if (seconds !== undefined)
      this.#record({ metric: "turnSeconds", value: seconds, labels: { gen_ai_provider_name, error_type } });
    const turn = this.#turns.get(threadId);
    this.#turns.delete(threadId);
    if (!turn) return;
    this.#record({ metric: "inferenceCalls", value: turn.chats, labels: { gen_ai_provider_name } });
    this.#record({ metric: "toolCalls", value: turn.tools, labels: { gen_ai_provider_name } });
  }
}

function providerOf({ engine }: ThreadFold): string {
  const name = engine?.engine ?? "";
  return findEngine(name)?.provider ?? name;
}

function secondsBetween(from: string, to: string): number {
  return Math.max(0, Date.parse(to) - Date.parse(from)) / 1_000;
}
