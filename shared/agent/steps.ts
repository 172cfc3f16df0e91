/** Events as rows of a table of steps: for /status, SQLite and metrics. */
import type { ThreadEvent } from "./events.ts";
import type { Usage } from "./values.ts";

export type StepKind =
  | "turn"
  | "chat"
  | "tool"
  | "lock"
  | "place"
  | "compact"
  | "setup"
  | "permission"
  | "elicitation";
export type StepStatus = "running" | "completed" | "failed" | "cancelled";

/** Begins a row, or changes it: what is not named stays. Rows are keyed by kind and id. */
export interface StepChange {
  kind: StepKind;
  stepId: string;
  status: StepStatus;
  /** Set when it begins. */
  startedAt?: string;
  title?: string;
  /** Set when it ends. */
  endedAt?: string;
  durationMs?: number;
  ttftMs?: number;
  usage?: Usage;
  model?: string;
  /** Why, or how, it ended. */
  reason?: string;
}

/** The step that an event begins or ends; undefined if it does neither. */
export function stepOf(event: ThreadEvent): StepChange | undefined {
  switch (event.type) {
    case "turn_start":
      return begin("turn", event.turnId, event.ts, event.cause);
    case "turn_end":
      return {
        kind: "turn",
        stepId: event.turnId,
        status: statusOfTurn(event.stopReason),
        endedAt: event.ts,
        reason: event.stopReason,
        ...(event.durationMs !== undefined && { durationMs: event.durationMs }),
        ...(event.usage && { usage: event.usage }),
      };
    case "step_start":
      return begin(event.kind, event.stepId, event.ts, event.title);
    case "step_end":
      // Its kind is told by the row that its start made: a step's id is its own over all kinds.
      return {
        kind:
          (["lock", "place", "compact", "setup"] as const).find((kind) =>
            event.stepId.startsWith(`${kind}-`),
          ) ?? "chat",
        stepId: event.stepId,
        status: event.status,
        endedAt: event.ts,
        durationMs: event.durationMs,
        ...(event.ttftMs !== undefined && { ttftMs: event.ttftMs }),
        ...(event.usage && { usage: event.usage }),
        ...(event.model !== undefined && { model: event.model }),
      };
    case "tool_call":
      return begin("tool", event.toolCallId, event.ts, event.title);
    case "tool_call_update":
      if (event.status === "in_progress") return undefined;
      return {
        kind: "tool",
        stepId: event.toolCallId,
        status: event.status,
        endedAt: event.ts,
        ...(event.durationMs !== undefined && { durationMs: event.durationMs }),
        ...(event.reason && { reason: event.reason }),
      };
    case "permission_request":
      return begin("permission", event.requestId, event.ts, event.title);
    case "permission_response":
      return endAsk("permission", event.requestId, event.ts, event.outcome === "cancelled", event.reason);
    case "elicitation_request":
      return begin("elicitation", event.requestId, event.ts, event.message);
    case "elicitation_response":
      return endAsk("elicitation", event.requestId, event.ts, event.action === "cancel", event.reason);
    default:
      return undefined;
  }
}

function begin(kind: StepKind, stepId: string, startedAt: string, title: string): StepChange {
  return { kind, stepId, status: "running", startedAt, title };
}

function endAsk(
  kind: StepKind,
  stepId: string,
  endedAt: string,
  isCancelled: boolean,
  reason: string | undefined,
): StepChange {
  const status = isCancelled ? "cancelled" : "completed";
  return { kind, stepId, status, endedAt, ...(reason !== undefined && { reason }) };
}

function statusOfTurn(stopReason: string): StepStatus {
  if (stopReason === "error") return "failed";
  return stopReason === "cancelled" || stopReason === "interrupted" ? "cancelled" : "completed";
}
