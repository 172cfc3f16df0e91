/** What is written when the engine has ended, however it did: nothing of its work stays open. Pure. */
import { findEngine } from "../../shared/agent/engines/engines.ts";
import type { EventBody, EventOf } from "../../shared/agent/events.ts";
import { isOfTurn } from "../../shared/agent/fold-gates.ts";
import { asksOfWork } from "../../shared/agent/fold-held.ts";
import type { OpenAsk, ThreadFold } from "../../shared/agent/fold-types.ts";
import { endedTurnIdOf } from "../../shared/agent/turn-id.ts";
import type { EngineState } from "../engine.ts";

export interface EngineEnd {
  generation: number;
  /** The thread's. */
  number?: number | undefined;
  reason: EventOf<"engine_end">["reason"];
  exitCode?: number | null;
  signal?: string | null;
  /** The last words on its standard error. */
  error?: string;
}

/**
 * Calls and steps end as interrupted; the turn too, unless a person stopped it. Asks stay open: their answer takes
 * the turn up again. Only a kill ends them.
 */
export function closingEvents(
  fold: ThreadFold,
  end: EngineEnd,
  nowMs: number,
  chat?: EngineState["chat"],
): EventBody[] {
  const isKill = fold.isKilled;
  const isStopped = isKill || fold.pending.interrupt !== null;
  const events: EventBody[] = [
    ...fold.toolCalls
      .filter(({ hasBegun }) => isStopped || hasBegun || !keepsCalls(fold))
      .map(
        ({ toolCallId }): EventBody => ({
          type: "tool_call_update",
          toolCallId,
          status: "failed",
          reason: "interrupted",
        }),
      ),
    // Who waits for a place waits on, whatever becomes of the engine.
    ...fold.steps
      .filter(({ kind }) => isKill || kind !== "place")
      .map(
        (step): EventBody => ({
          ...endOfStep(step, "cancelled", nowMs),
          // What a call used that nobody heard the end of is paid for too.
          ...(chat?.usage && chat.stepId === step.stepId && { usage: chat.usage }),
        }),
      ),
    ...(isKill ? fold.asks.map((ask) => cancelAsk(ask, "killed")) : []),
    ...(isStopped && !isKill ? asksOfWork(fold).map((ask) => cancelAsk(ask, "withdrawn")) : []),
    ...openGates(fold, isKill),
  ];
  if (fold.turn) {
    events.push({
      type: "turn_end",
      turnId: fold.turn.turnId,
      stopReason: isStopped ? "cancelled" : "interrupted",
      ...(!isStopped && fold.ts !== null && { cutOffAt: fold.ts }),
    });
  }
  if (!fold.turn && isStopped && !isKill) events.push(...stopCutOff(fold, end));
  const ended = fold.deliveries.filter(({ status }) => isKill || (isStopped && status === "started"));
  for (const { deliveryId } of ended) {
    events.push({ type: "delivery_update", deliveryId, status: isKill ? "cancelled" : "completed" });
  }
  const { generation, reason, exitCode, signal, error } = end;
  if (generation > fold.endedGeneration) {
    events.push({
      type: "engine_end",
      generation,
      reason,
      ...(exitCode !== undefined && { exitCode }),
      ...(signal !== undefined && { signal }),
      ...(error && { error }),
    });
  }
  return events;
}

/** A turn that was cut off, and that a person stopped before it was taken up: no engine is to go on with it. */
function stopCutOff(fold: ThreadFold, launched: Pick<EngineEnd, "generation" | "number">): EventBody[] {
  const taken = fold.deliveries.filter(({ status }) => status === "started");
  if (fold.cutOffs.at === null && taken.length === 0) return [];
  const turnId = endedTurnIdOf(launched, fold.seq);
  const deliveryIds = taken.map(({ deliveryId }) => deliveryId);
  return [
    { type: "turn_start", turnId, cause: "resume", deliveryIds },
    { type: "turn_end", turnId, stopReason: "cancelled" },
  ];
}

/** No person is asked, and what would wait for the decision has ended: the next process asks anew. */
function openGates({ gates }: ThreadFold, isKill: boolean): EventBody[] {
  return (gates?.entries ?? [])
    .filter((entry) => entry.by !== "person" && entry.outcome === undefined)
    .filter((entry) => isKill || isOfTurn(entry))
    .map(({ requestId, callKey }) => ({ type: "gate_response", requestId, callKey, outcome: "withdrawn" }));
}

function keepsCalls({ engine }: ThreadFold): boolean {
  return findEngine(engine?.engine)?.capabilities.keepsCalls === true;
}

export function endOfStep(
  { stepId, startedAt }: ThreadFold["steps"][number],
  status: EventOf<"step_end">["status"],
  nowMs: number,
): Extract<EventBody, { type: "step_end" }> {
  return { type: "step_end", stepId, status, durationMs: Math.max(0, nowMs - Date.parse(startedAt)) };
}

/** Ends the waits for files of the turn that is about to end. */
export function endLockWaits(fold: ThreadFold, nowMs: number): EventBody[] {
  const waits = fold.steps.filter(({ kind }) => kind === "lock");
  return waits.map((step) => endOfStep(step, "cancelled", nowMs));
}

export function cancelAsk(
  ask: OpenAsk,
  reason: NonNullable<EventOf<"permission_response">["reason"]>,
): EventBody {
  const { requestId } = ask;
  return ask.kind === "question"
    ? { type: "elicitation_response", requestId, action: "cancel", reason }
    : { type: "permission_response", requestId, outcome: "cancelled", reason };
}

/** Whether anything is left that a closing would end. */
export function isSomethingOpen(fold: ThreadFold): boolean {
  return closingEvents(fold, { generation: fold.engine?.generation ?? 0, reason: "crashed" }, 0).length > 0;
}
