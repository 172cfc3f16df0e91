/** The part of the fold that knows turns, steps, tool calls and what they cost. */
import type { EventOf, ThreadEvent } from "./events.ts";
import type { ThreadFold } from "./fold-types.ts";
import type { Usage } from "./values.ts";

export function foldTurn(fold: ThreadFold, event: ThreadEvent): ThreadFold {
  switch (event.type) {
    case "turn_start": {
      const { turnId, cause, deliveryIds, seq } = event;
      return {
        ...fold,
        turn: { turnId, cause, deliveryIds, startedAt: event.ts, seq },
        turnCount: fold.turnCount + 1,
        cutOffs: { ...fold.cutOffs, at: null },
      };
    }
    case "turn_end":
      return endTurn(fold, event);
    case "step_start": {
      const { stepId, kind, title } = event;
      return { ...fold, steps: [...fold.steps, { stepId, kind, title, startedAt: event.ts }] };
    }
    case "step_end":
      return { ...fold, steps: fold.steps.filter((step) => step.stepId !== event.stepId) };
    case "tool_call": {
      const { toolCallId, name, title, kind } = event;
      const call = { toolCallId, name, title, kind, startedAt: event.ts };
      const totals = { ...fold.totals, toolCalls: fold.totals.toolCalls + 1 };
      return { ...fold, toolCalls: [...fold.toolCalls, call], totals };
    }
    case "tool_call_update":
      if (event.status === "in_progress") return fold;
      return { ...fold, toolCalls: fold.toolCalls.filter((call) => call.toolCallId !== event.toolCallId) };
    case "usage_update":
      return { ...fold, context: { used: event.used, size: event.size } };
    case "background_update":
      return { ...fold, backgroundTasks: event.tasks };
    case "thread_spawned": {
      const { threadId, mode, title, toolCallId } = event;
      return {
        ...fold,
        children: [...fold.children, { threadId, mode, title, ...(toolCallId && { toolCallId }) }],
      };
    }
    case "thread_ended":
      return { ...fold, children: fold.children.filter((child) => child.threadId !== event.threadId) };
    default:
      return fold;
  }
}

function endTurn(fold: ThreadFold, event: EventOf<"turn_end">): ThreadFold {
  const isCutOff = event.stopReason === "interrupted";
  const failure =
    event.stopReason === "error"
      ? { code: "engine_refused" as const, message: event.error ?? "the engine ended the turn with an error" }
      : fold.failure;
  return {
    ...fold,
    turn: null,
    failure,
    cutOffs: isCutOff ? { ...fold.cutOffs, at: event.cutOffAt ?? event.ts } : { count: 0, at: null },
    pending: { ...fold.pending, interrupt: null },
    totals: {
      ...fold.totals,
      turns: fold.totals.turns + 1,
      usage: addUsage(fold.totals.usage, event.usage),
      spendUsd: fold.totals.spendUsd + (event.cost?.amount ?? 0),
    },
  };
}

/** The sum of two; what only one of them counts is kept. */
export function addUsage(a: Usage, b: Usage | undefined): Usage {
  if (!b) return a;
  const sum: Usage = {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
  };
  for (const name of ["cachedReadTokens", "cachedWriteTokens", "thoughtTokens"] as const) {
    if (a[name] !== undefined || b[name] !== undefined) sum[name] = (a[name] ?? 0) + (b[name] ?? 0);
  }
  return sum;
}
