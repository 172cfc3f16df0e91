/** What the runner does next, given what is true now. Pure: the runner acts, reads, and asks again. */
import type { ThreadConfig } from "../../shared/agent/config.ts";
import type { EventBody } from "../../shared/agent/events.ts";
import type { RecordedAnswer, ThreadFold, WaitingMessage } from "../../shared/agent/fold-types.ts";
import { nextStep } from "../../shared/agent/rescue.ts";
import type { EngineControl, EngineState, Launch, OpenRequest, Refusal } from "../engine.ts";
import { nextBatch } from "./batch.ts";
import { cancelAsk, isSomethingOpen } from "./closing.ts";

/** The engine's process as the runner sees it. */
export interface Running {
  launch: Launch;
  state: EngineState;
  /** This runner has started it, so nobody else has sent it anything. */
  isNew: boolean;
  /** Since this runner has it. */
  sinceMs: number;
  /** Since nothing is to be done. */
  idleSinceMs: number;
  /** So much it has printed. */
  outputBytes: number;
  /** What this runner has sent, by key, and when. A control is sent again if nothing comes of it. */
  sent: ReadonlyMap<string, number>;
  /** Requests before calls that the engine has not saved yet. */
  held: ReadonlySet<string>;
  /** It was told to end. */
  isEnding: boolean;
}

export type EndReason = "idle" | "parked" | "paused" | "killed" | "error" | "crashed";

export type Action =
  | { do: "append"; bodies: EventBody[] }
  | { do: "close" }
  | { do: "start" }
  | { do: "end"; reason: EndReason; isGentle: boolean }
  | { do: "answer"; key: string; request: OpenRequest; answer: RecordedAnswer | Refusal }
  | { do: "hook"; key: string; request: OpenRequest }
  | { do: "refuse"; key: string; request: OpenRequest }
  | { do: "control"; key: string; control: EngineControl }
  | { do: "note"; messages: WaitingMessage[] }
  | { do: "deliver"; key: string; deliveryId: string; messages: WaitingMessage[] }
  | { do: "exit" };

/** A control that nothing came of is sent again. */
const RESEND_MS = 5_000;
/** An engine that has printed so much makes room for another at the next rest. */
const MAX_OUTPUT_BYTES = 32 * 1024 * 1024;
/** An engine that does not open in this time never will. */
const OPEN_TIMEOUT_MS = 120_000;
/** A resumed conversation that is silent so long had come to its end before. */
export const SETTLE_MS = 5_000;

export function decide(
  fold: ThreadFold,
  running: Running | undefined,
  config: ThreadConfig,
  nowMs: number,
): Action[] {
  if (!running) return decideWithout(fold, nowMs);
  if (running.isEnding) return [];
  const end = findEnd(fold, running, config, nowMs);
  if (end) return [{ do: "end", ...end }];
  if (!running.state.isOpen) return mayRunAhead(fold, running) ? deliveries(fold, running) : [];
  const actions = [
    ...answers(fold, running),
    ...controls(fold, running, nowMs),
    ...deliveries(fold, running),
  ];
  if (actions.length > 0) return actions;
  const bodies = [...timeouts(fold, config, nowMs), ...leftovers(fold, running, nowMs)];
  return bodies.length > 0 ? [{ do: "append", bodies }] : [];
}

/**
 * Whether a message may be sent before the engine is open: it reads its lines in order, and is spared a wait. Not if
 * anything is to come before the message: a turn that it takes up, what a new conversation is told, a control.
 */
function mayRunAhead(fold: ThreadFold, { isNew, launch }: Running): boolean {
  const isPending = Object.values(fold.pending).some((control) => control !== null);
  return isNew && !launch.takesUp && !launch.reseeded && !isPending;
}

function decideWithout(fold: ThreadFold, nowMs: number): Action[] {
  if (isSomethingOpen(fold)) return [{ do: "close" }];
  switch (nextStep(fold, nowMs)) {
    case "engine":
      return [{ do: "start" }];
    case "give_up":
      return [{ do: "append", bodies: [giveUp(fold)] }];
    case "rest":
      return [{ do: "exit" }];
  }
}

function giveUp(fold: ThreadFold): EventBody {
  const { count, lastWords } = fold.cutOffs;
  const said = lastWords === undefined ? "" : ` It said: ${lastWords}`;
  const message =
    count > 3
      ? `The agent was cut off ${count} times in a row. It does not go on by itself.${said}`
      : "The agent was cut off more than 10 minutes ago. It does not go on by itself.";
  return { type: "failure", code: "cut_off", message };
}

function findEnd(
  fold: ThreadFold,
  running: Running,
  config: ThreadConfig,
  nowMs: number,
): { reason: EndReason; isGentle: boolean } | undefined {
  if (fold.isKilled) return { reason: "killed", isGentle: false };
  if (fold.isPaused) return { reason: "paused", isGentle: false };
  if (fold.failure && fold.failure.code !== "engine_refused") return { reason: "error", isGentle: false };
  if (!running.state.isOpen) {
    return nowMs - running.sinceMs > OPEN_TIMEOUT_MS ? { reason: "crashed", isGentle: false } : undefined;
  }
  const { idleSeconds, askParkMinutes } = config.timeouts;
  const [oldest] = fold.asks;
  const isParkable = oldest && fold.backgroundTasks.length === 0;
  if (isParkable && nowMs - Date.parse(oldest.askedAt) > askParkMinutes * 60_000) {
    return { reason: "parked", isGentle: false };
  }
  if (!isIdle(fold, running)) return undefined;
  // The next one prints into a file of its own: so what a long conversation takes on the disk is bounded.
  const isLong = running.outputBytes > MAX_OUTPUT_BYTES;
  const isOver = isLong || nowMs - running.idleSinceMs > idleSeconds * 1_000;
  return isOver ? { reason: "idle", isGentle: true } : undefined;
}

/** Nothing runs, nothing waits: the engine may go. */
export function isIdle(fold: ThreadFold, running: Pick<Running, "state">): boolean {
  return (
    running.state.isOpen &&
    !running.state.isBusy &&
    fold.turn === null &&
    fold.messages.length === 0 &&
    fold.deliveries.length === 0 &&
    fold.asks.length === 0 &&
    fold.backgroundTasks.length === 0 &&
    fold.pending.compact === null &&
    fold.cutOffs.at === null
  );
}

function answers(fold: ThreadFold, { state, sent, held }: Running): Action[] {
  return Object.values(state.requests).flatMap((request): Action[] => {
    const { requestId } = request;
    const key = `answer ${requestId}`;
    if (sent.has(key) || held.has(requestId)) return [];
    if (request.kind === "hook") return [{ do: "hook", key, request }];
    if (request.kind === "unknown") return [{ do: "refuse", key, request }];
    const answer = fold.recordedAnswers.find((recorded) => recorded.requestId === requestId);
    if (answer) return [{ do: "answer", key, request, answer }];
    if (fold.asks.some((ask) => ask.requestId === requestId)) return [];
    return [{ do: "answer", key, request, answer: { requestId, refusal: "Nobody answered in time." } }];
  });
}

function controls(fold: ThreadFold, { sent, state }: Running, nowMs: number): Action[] {
  const { interrupt, mode, model, endTask, compact } = fold.pending;
  const wanted: EngineControl[] = [];
  if (interrupt) wanted.push({ op: "interrupt", seq: interrupt.seq });
  if (mode?.value) wanted.push({ op: "mode", seq: mode.seq, value: mode.value });
  if (model?.value) wanted.push({ op: "model", seq: model.seq, value: model.value });
  if (endTask?.value) wanted.push({ op: "end_task", seq: endTask.seq, value: endTask.value });
  const isFree = !state.isBusy && fold.turn === null && fold.deliveries.length === 0;
  if (compact && isFree) wanted.push({ op: "compact", seq: compact.seq, value: compact.value });
  return wanted.flatMap((control): Action[] => {
    const key = `control ${"seq" in control ? control.seq : control.op}`;
    const sentMs = sent.get(key);
    const isDue = sentMs === undefined || (control.op !== "compact" && nowMs - sentMs > RESEND_MS);
    return isDue ? [{ do: "control", key, control }] : [];
  });
}

/** At most one delivery is on its way: the next is noted when the last one was taken. */
function deliveries(fold: ThreadFold, { sent, state }: Running): Action[] {
  const { compact } = fold.pending;
  const isCompacting = compact !== null && sent.has(`control ${compact.seq}`);
  if (isCompacting && state.isBusy) return [];
  const noted = fold.deliveries.find(({ status }) => status === "noted");
  if (noted) {
    const { deliveryId, messages } = noted;
    const key = `delivery ${deliveryId}`;
    const hasIt = sent.has(key) || state.received.includes(deliveryId);
    return hasIt ? [] : [{ do: "deliver", key, deliveryId, messages }];
  }
  if (state.takesOneAtATime && (state.isBusy || fold.deliveries.length > 0)) return [];
  const messages = state.takesOneAtATime ? nextBatch(fold).slice(0, 1) : nextBatch(fold);
  return messages.length > 0 ? [{ do: "note", messages }] : [];
}

function timeouts(fold: ThreadFold, { timeouts }: ThreadConfig, nowMs: number): EventBody[] {
  const seconds = timeouts.askTimeoutSeconds;
  if (seconds === undefined) return [];
  return fold.asks
    .filter((ask) => nowMs - Date.parse(ask.askedAt) > seconds * 1_000)
    .map((ask) => cancelAsk(ask, "timeout"));
}

/** What a turn's end has left open, and a cut-off turn that had come to its end before it could say so. */
function leftovers(fold: ThreadFold, { state, launch, sinceMs }: Running, nowMs: number): EventBody[] {
  if (fold.turn !== null || state.isBusy) return [];
  if (fold.cutOffs.at === null && fold.deliveries.length === 0) {
    return fold.asks.map((ask) => cancelAsk(ask, "turn_ended"));
  }
  const isTaken = fold.deliveries.every(({ status }) => status === "started");
  if (!launch.resumed || !isTaken || nowMs - sinceMs < SETTLE_MS) return [];
  const turnId = `q${launch.generation}-${fold.seq}`;
  const deliveryIds = fold.deliveries.map(({ deliveryId }) => deliveryId);
  return [
    { type: "turn_start", turnId, cause: "resume", deliveryIds },
    { type: "turn_end", turnId, stopReason: "end_turn" },
    ...deliveryIds.map(
      (deliveryId): EventBody => ({ type: "delivery_update", deliveryId, status: "completed" }),
    ),
  ];
}
