/** The part of the fold that knows turns, steps, tool calls and what they cost. */
import { addUse, NO_USE } from "./budget.ts";
import type { EventOf, ThreadEvent } from "./events.ts";
import { tasksAfter, toldOfEnd } from "./fold-tasks.ts";
import type { ThreadFold } from "./fold-types.ts";
import { countTokens, openUsd, weigh } from "./limits.ts";
import type { Usage } from "./values.ts";

/** Before the call's id, in the id of the step in which it waits for a file. */
export const LOCK_STEP = "lock-";

/** The open calls, and open steps, that are kept. No engine works at so many; one that opens more forgets old ones. */
const MAX_OPEN = 256;
/** The turns cut off in a row whose ids are kept. */
const MAX_CUT_OFF = 10;

const NOTHING: Usage = { inputTokens: 0, outputTokens: 0 };
export const NOTHING_OPEN = { usage: NOTHING, toldUsd: 0, unpriced: NOTHING };

export function foldTurn(fold: ThreadFold, event: ThreadEvent): ThreadFold {
  switch (event.type) {
    case "turn_start":
      return startTurn(fold, event);
    case "turn_end":
      return endTurn(fold, event);
    case "turn_changes": {
      const turn = fold.turn && { ...fold.turn, hasChanges: true as const };
      return event.files === 0 ? { ...fold, turn } : { ...fold, turn, lastChanges: event.turnId };
    }
    case "step_start": {
      const { stepId, kind, title } = event;
      const step = { stepId, kind, title, startedAt: event.ts };
      return { ...fold, steps: openOneMore(fold.steps, step, (other) => other.kind === "chat") };
    }
    case "step_update": {
      const { stepId, title } = event;
      const steps = fold.steps.map((step) => (step.stepId === stepId ? { ...step, title } : step));
      return { ...fold, steps };
    }
    case "step_end":
      return {
        ...fold,
        ...lockOut(fold, event),
        ...setUp(fold, event),
        totals: { ...fold.totals, calls: fold.totals.calls + (isCall(fold, event) ? 1 : 0) },
        steps: fold.steps.filter((step) => step.stepId !== event.stepId),
        open: {
          ...fold.open,
          usage: addUsage(fold.open.usage, event.usage),
          unpriced: addUsage(fold.open.unpriced, event.usage),
        },
      };
    case "spend_update": {
      const { amount } = event.cost;
      const open = { ...fold.open, toldUsd: amount, unpriced: NOTHING_OPEN.unpriced };
      return { ...fold, open, priceUsd: priceOf(fold, amount) };
    }
    case "tool_call": {
      const { toolCallId, name, title, kind } = event;
      const call = { toolCallId, name, title, kind, startedAt: event.ts };
      const totals = { ...fold.totals, toolCalls: fold.totals.toolCalls + 1 };
      return { ...fold, toolCalls: openOneMore(fold.toolCalls, call, () => true), totals };
    }
    case "tool_call_update":
      if (event.status === "in_progress")
        return { ...fold, toolCalls: begin(fold.toolCalls, event.toolCallId) };
      return {
        ...fold,
        toolCalls: fold.toolCalls.filter((call) => call.toolCallId !== event.toolCallId),
        ...(fold.lockedOut && { lockedOut: fold.lockedOut.filter((id) => id !== event.toolCallId) }),
      };
    case "usage_update":
      return { ...fold, context: { used: event.used, size: event.size } };
    case "background_update":
      return { ...fold, ...tasksAfter(fold, event.tasks) };
    case "user_message":
      return toldOfEnd(fold, event.messageId);
    case "thread_spawned": {
      const { threadId, mode, title, toolCallId, limits } = event;
      const child = { threadId, mode, title, ...(toolCallId && { toolCallId }), ...(limits && { limits }) };
      return { ...fold, children: [...fold.children, child] };
    }
    case "thread_ended": {
      const children = fold.children.filter((child) => child.threadId !== event.threadId);
      const { used } = event;
      return { ...fold, children, ...(used && { endedUse: addUse(fold.endedUse ?? NO_USE, used) }) };
    }
    default:
      return fold;
  }
}

function begin(calls: ThreadFold["toolCalls"], toolCallId: string): ThreadFold["toolCalls"] {
  return calls.map((call) => (call.toolCallId === toolCallId ? { ...call, hasBegun: true as const } : call));
}

/** The oldest that may go makes room: each event copies them, so that they must stay few. */
function openOneMore<T>(open: readonly T[], one: T, mayGo: (other: T) => boolean): T[] {
  const oldest = open.length < MAX_OPEN ? -1 : open.findIndex(mayGo);
  return oldest < 0 ? [...open, one] : [...open.slice(0, oldest), ...open.slice(oldest + 1), one];
}

function startTurn(
  { goOnAt: _, usageLimit: __, ...fold }: ThreadFold,
  { turnId, cause, deliveryIds, seq, ts: startedAt }: EventOf<"turn_start">,
): ThreadFold {
  const { toolCalls: callsBefore } = fold.totals;
  const { cutOffTurns, ...rest } = fold;
  return {
    ...(cause === "resume" ? fold : rest),
    turn: { turnId, cause, deliveryIds, startedAt, seq, callsBefore },
    turnCount: fold.turnCount + 1,
    cutOffs: { ...fold.cutOffs, at: null },
    totals: { ...fold.totals, begun: fold.totals.begun + (cause === "resume" ? 0 : 1) },
  };
}

/** A call that broke off counts too: the model was asked. */
function isCall({ steps }: ThreadFold, { stepId }: EventOf<"step_end">): boolean {
  return steps.some((step) => step.stepId === stepId && step.kind === "chat");
}

/** A command that failed is not run again by itself; a worktree that could not be made is. */
function setUp(fold: ThreadFold, { stepId, status }: EventOf<"step_end">): Pick<ThreadFold, "setUp"> {
  const isSetup = fold.steps.some((step) => step.stepId === stepId && step.kind === "setup");
  const isDone = status === "completed" || (status === "failed" && stepId === "setup-command");
  return isSetup && isDone ? { setUp: [...(fold.setUp ?? []), stepId] } : {};
}

/** A call that has waited for a file in vain is refused, by whichever runner comes to it. */
function lockOut(fold: ThreadFold, { stepId, status }: EventOf<"step_end">): Pick<ThreadFold, "lockedOut"> {
  const isLock = fold.steps.some((step) => step.stepId === stepId && step.kind === "lock");
  if (!isLock || status !== "failed") return {};
  return { lockedOut: [...(fold.lockedOut ?? []), stepId.slice(LOCK_STEP.length)] };
}

function endTurn(
  { lockedOut: _, output: __, cutOffTurns = [], ...fold }: ThreadFold,
  event: EventOf<"turn_end">,
): ThreadFold {
  const isCutOff = event.stopReason === "interrupted";
  return {
    ...fold,
    turn: null,
    ...(isCutOff && { cutOffTurns: [...cutOffTurns, event.turnId].slice(-MAX_CUT_OFF) }),
    ...(event.output && { output: event.output }),
    failure: failureAfter(fold, event),
    cutOffs: isCutOff ? { ...fold.cutOffs, at: event.cutOffAt ?? event.ts } : { count: 0, at: null },
    pending: { ...fold.pending, interrupt: null },
    ...(event.usageLimit && { usageLimit: event.usageLimit }),
    ...tell(fold, event),
  };
}

/** A turn that ends well ends the failure of one before it: its message had waited behind that. */
function failureAfter(
  { failure }: Pick<ThreadFold, "failure">,
  { stopReason, error }: EventOf<"turn_end">,
): ThreadFold["failure"] {
  if (stopReason === "error")
    return { code: "engine_refused", message: error ?? "the engine ended the turn with an error" };
  return stopReason === "end_turn" && failure?.code === "engine_refused" ? null : failure;
}

/**
 * What the turn has used up. If it was cut off, its end tells nothing: then what its steps told of counts.
 */
function tell(
  fold: ThreadFold,
  { usage, cost }: EventOf<"turn_end">,
): Pick<ThreadFold, "totals" | "open" | "priceUsd"> {
  const { totals, open } = fold;
  const used = usage && countTokens(usage) >= countTokens(open.usage) ? usage : open.usage;
  return {
    totals: {
      ...totals,
      turns: totals.turns + 1,
      usage: addUsage(totals.usage, used),
      spendUsd: totals.spendUsd + (cost?.amount ?? openUsd(fold)),
    },
    open: NOTHING_OPEN,
    priceUsd: cost ? priceOf(fold, cost.amount) : fold.priceUsd,
  };
}

function priceOf(fold: ThreadFold, amountUsd: number): number | null {
  const weight = weigh(fold.open.usage);
  return amountUsd > 0 && weight > 0 ? amountUsd / weight : fold.priceUsd;
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
