/** The part of the fold that knows the engine's process, controls and what ends a thread. */

import type { EventOf, ThreadEvent } from "./events.ts";
import { asksOfWork } from "./fold-held.ts";
import { tasksAfter } from "./fold-tasks.ts";
import type { ThreadFold } from "./fold-types.ts";
import { limitsSchema } from "./limit-schema.ts";
import { dropTurn, withLimits } from "./limits.ts";
import type { OrderedOp } from "./ops.ts";
import { mark, unmark, withdrawRules } from "./rules.ts";
import { askedSeqOf } from "./turn-id.ts";
import { undoneText } from "./undone.ts";
import { isQueued, isSettingUp } from "./waits.ts";

const MAX_LAST_WORDS = 400;
const MAX_UNDONE = 10;
/** Asked for at once: each person's press has an answer of its own. */
const MAX_UNDOS = 100;

export function foldEngine(fold: ThreadFold, event: ThreadEvent): ThreadFold {
  switch (event.type) {
    case "thread_start":
      return { ...fold, threadId: event.threadId, limits: withLimits({}, limitsOf(event.config)) };
    case "initial_message":
      return fold.hasInitialMessages ? fold : { ...fold, hasInitialMessages: true };
    case "engine_start": {
      const { generation, engine, sessionId, version, model, modeId } = event;
      const lastAt = event.resumed ? fold.engine?.lastAt : undefined;
      const started = {
        generation,
        isUp: true,
        engine,
        sessionId,
        version,
        model,
        modeId,
        takenCount: 0,
        ...(lastAt && { lastAt }),
      };
      const { trust: _, ...rest } = fold;
      return { ...rest, engine: started };
    }
    case "agent_message":
    case "tool_call":
      // A sub-agent's lines are saved elsewhere.
      if (!fold.engine || event.parentToolCallId !== undefined) return fold;
      return { ...fold, engine: { ...fold.engine, lastAt: event.at } };
    case "engine_end":
      return endEngine(fold, event);
    case "session_info_update":
      return { ...fold, title: event.title };
    case "current_mode_update":
      return {
        ...fold,
        engine: fold.engine && { ...fold.engine, modeId: event.modeId },
        pending: { ...fold.pending, mode: null },
      };
    case "config_update":
      return {
        ...fold,
        engine: fold.engine && { ...fold.engine, model: event.model ?? fold.engine.model },
        chosen: { ...fold.chosen, model: event.by ? (event.model ?? null) : fold.chosen.model },
        pending: { ...fold.pending, model: null },
      };
    case "compaction_update": {
      if (event.status === "in_progress") return { ...fold, compactingSeq: event.seq };
      const { compactingSeq = event.seq, ...rest } = fold;
      const compactedSeq = event.status === "completed" ? compactingSeq : fold.compactedSeq;
      const pending = { ...fold.pending, compact: null };
      return { ...rest, pending, ...(compactedSeq !== undefined && { compactedSeq }) };
    }
    case "memory_told":
      return { ...fold, memory: { seq: event.seq, generation: event.generation, with: event.with } };
    case "control":
      return foldControl(fold, event);
    case "undo":
      return foldUndo(fold, event);
    case "failure":
      return { ...fold, failure: { code: event.code, message: event.message } };
    default:
      return fold;
  }
}

/** As the thread was made with them; a configuration of a later version may be of another shape. */
function limitsOf({ limits }: EventOf<"thread_start">["config"]) {
  return limitsSchema.safeParse(limits).data ?? {};
}

/** Work that its end cut off: it may be taken up again. */
function endEngine(fold: ThreadFold, event: EventOf<"engine_end">): ThreadFold {
  const engine = fold.engine && { ...fold.engine, isUp: false };
  if (engine && event.reason !== "idle") delete engine.lastAt;
  const lost = tasksAfter(fold, [], { isLost: true });
  const next = { ...fold, ...lost, engine, endedGeneration: event.generation };
  if (event.reason !== "crashed") return next;
  // What waits for a person was not cut off: the answer takes it up, and no limit counts.
  const count = asksOfWork(fold).length > 0 ? fold.cutOffs.count : fold.cutOffs.count + 1;
  const { at } = fold.cutOffs;
  const lastWords = event.error?.slice(-MAX_LAST_WORDS);
  return { ...next, cutOffs: { count, at, ...(lastWords && { lastWords }) } };
}

function foldControl(fold: ThreadFold, event: EventOf<"control">): ThreadFold {
  const { id: _, ts: __, type: ___, meta: ____, blobs: _____, ...order } = event;
  const pend = (): ThreadFold => ({ ...fold, pending: { ...fold.pending, [order.op]: order } });
  switch (order.op) {
    case "interrupt":
      // Nothing runs before that moment: there is nothing to wait for.
      if (fold.goOnAt !== undefined) return dropTurn(fold);
      if (fold.turn === null && (isQueued(fold) || isSettingUp(fold)))
        return { ...dropTurn(fold), stoppedAt: "place" };
      return isMeant(fold, order.turnId) ? pend() : fold;
    case "mode":
    case "compact":
    case "end_task":
      return pend();
    case "model":
      return { ...pend(), chosen: { ...fold.chosen, model: order.model } };
    case "undo":
      return withUndos(fold, [...undosOf(fold), order]);
    case "pause":
      return { ...fold, isPaused: true };
    case "resume": {
      const { goOnAt: _, ...rest } = fold;
      const cutOffs = { count: 0, at: fold.cutOffs.at && event.ts };
      return { ...rest, isPaused: false, failure: null, stoppedAt: null, cutOffs };
    }
    case "limit": {
      // As with an answer: a turn that waited for a person at the old limit was not cut off.
      const isAsked = fold.asks.some(({ limit }) => limit);
      const cutOffs = isAsked ? { count: 0, at: fold.cutOffs.at && event.ts } : fold.cutOffs;
      return { ...fold, stoppedAt: null, limits: withLimits(fold.limits, order.limits), cutOffs };
    }
    case "rules":
      return withdrawRules(fold, order.withdraw, order.seq);
    case "mark":
      return mark(fold, order);
    case "unmark":
      return unmark(fold, order.seq);
    case "kill":
      return { ...fold, isKilled: true };
  }
}

function foldUndo(fold: ThreadFold, event: EventOf<"undo">): ThreadFold {
  // They are done in order. Those before it an older threadmux has left out, and nobody waits for them any more.
  const done = askedSeqOf(event.undoId);
  const next = withUndos(
    fold,
    undosOf(fold).filter(({ seq }) => seq > done),
  );
  if (event.status === "refused" || event.files === 0) return next;
  return { ...next, undone: [...(fold.undone ?? []), undoneText(event)].slice(-MAX_UNDONE) };
}

function undosOf({ pending: { undo }, laterUndos = [] }: ThreadFold): OrderedOp<"undo">[] {
  return undo ? [undo, ...laterUndos] : [];
}

function withUndos(fold: ThreadFold, undos: readonly OrderedOp<"undo">[]): ThreadFold {
  const { undo: _, ...pending } = fold.pending;
  const { laterUndos: __, ...rest } = fold;
  const [undo, ...later] = undos.slice(0, MAX_UNDOS);
  return {
    ...rest,
    pending: { ...pending, ...(undo && { undo }) },
    ...(later.length > 0 && { laterUndos: later }),
  };
}

/**
 * Tells whether there is what the interrupt means: without a turn's id that is what runs, was cut off, or is about to
 * run. A turn that was cut off is meant by its own id too, and so is what goes on with it.
 */
function isMeant(
  { turn, cutOffTurns, cutOffs, deliveries }: ThreadFold,
  turnId: string | undefined,
): boolean {
  const isOfCutOff = turnId !== undefined && cutOffTurns?.includes(turnId) === true;
  if (turn) return turnId === undefined || turnId === turn.turnId || isOfCutOff;
  if (turnId !== undefined) return isOfCutOff && cutOffs.at !== null;
  return deliveries.length > 0 || cutOffs.at !== null;
}
