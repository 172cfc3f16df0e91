/** What the runner does next, given what is true now. Pure: the runner acts, reads, and asks again. */
import type { ThreadConfig } from "../../shared/agent/config.ts";
import { ENGINES } from "../../shared/agent/engines/engines.ts";
import type { EventBody } from "../../shared/agent/events.ts";
import { asksOfWork } from "../../shared/agent/fold-held.ts";
import type { RecordedAnswer, ThreadFold, WaitingMessage } from "../../shared/agent/fold-types.ts";
import { type DayLimit, findReached, type ReachedLimit } from "../../shared/agent/limits.ts";
import type { OrderedOp } from "../../shared/agent/ops.ts";
import { nextStep } from "../../shared/agent/rescue.ts";
import { rulesToTell } from "../../shared/agent/rules.ts";
import type { EngineControl, EngineState, Launch, OpenRequest, Refusal } from "../engine.ts";
import { notRunYet } from "./aside.ts";
import { nextBatch } from "./batch.ts";
import { cancelAsk, isSomethingOpen } from "./closing.ts";
import { endedTaskBodies } from "./ended-tasks.ts";
import { giveUp } from "./give-up.ts";
import { leftovers } from "./leftovers.ts";
import { closeLeft, closeOutdated, limitAsk } from "./limit-ask.ts";
import { netBodies } from "./net.ts";
import { providerAsk } from "./provider-ask.ts";

/** The engine's process as the runner sees it. */
export interface Running {
  launch: Launch;
  state: EngineState;
  /** It has read all that earlier runners sent, or they sent nothing: what it does not hold by now, it never got. */
  hasReadAll: boolean;
  /** Since this runner has it. */
  sinceMs: number;
  /** Since nothing is to be done. */
  idleSinceMs: number;
  /** So much it has printed. */
  outputBytes: number;
  /** What this runner has sent, by key, and when. A control is sent again if nothing comes of it. */
  sent: ReadonlyMap<string, number>;
  /** Requests of calls that the engine has not saved yet, or that wait for a file. */
  held: ReadonlySet<string>;
  /** Requests of calls that may not run, and why: what the model is told. */
  refused: ReadonlyMap<string, string>;
  /** It was told to end. */
  isEnding: boolean;
}

export type EndReason = "idle" | "parked" | "paused" | "killed" | "error" | "crashed";

/**
 * `gentle`: it is told to end, at rest. `saving`: between its calls it saves what it has when it is terminated, and the
 * turn is taken up there. `crash`: it has no time to take back its asks, or to call what runs a failure.
 */
export type EndManner = "gentle" | "saving" | "crash";

export type Action =
  | { do: "append"; bodies: EventBody[] }
  | { do: "undo"; control: OrderedOp<"undo"> }
  | { do: "close" }
  | { do: "start" }
  | { do: "end"; reason: EndReason; how: EndManner }
  | { do: "answer"; key: string; request: OpenRequest; answer: RecordedAnswer | Refusal }
  | { do: "hook"; key: string; request: OpenRequest }
  | { do: "stop"; key: string; request: OpenRequest; reason: string }
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
/** A turn that has used up its seconds is cut off in its work after so many more. */
const MAX_OVERTIME_SECONDS = 30;
const MAX_COST_MS = 3_000;

/** What the thread has of what all threads share. */
export interface Common {
  /** What they may spend today. */
  day?: DayLimit | undefined;
  /** It waits for a place: the model is not to be called. */
  isQueued?: boolean;
  /** It stands so far back that its runner is not needed: it ends, and another one is started in time. */
  isFarBack?: boolean;
  /** False: what other threads' calls may still cost leaves no room for another call today. */
  mayCall?: boolean;
  /** Gives the events for a limit that was reached: none while a gate decides whether a person is asked. */
  limitAsked?: ((reached: ReachedLimit) => EventBody[]) | undefined;
}

export function decide(
  fold: ThreadFold,
  running: Running | undefined,
  config: ThreadConfig,
  nowMs: number,
  { day, isQueued = false, isFarBack = false, mayCall = true, limitAsked }: Common = {},
): Action[] {
  const askAt = limitAsked ?? ((reached: ReachedLimit) => [limitAsk(fold, reached)]);
  if (fold.pending.undo && !running?.isEnding) return [{ do: "undo", control: fold.pending.undo }];
  const outdated = running?.isEnding ? [] : [...closeOutdated(fold), ...closeLeft(fold, config)];
  if (outdated.length > 0) return [{ do: "append", bodies: outdated }];
  const net = running?.isEnding || running?.state.isBusy ? [] : netBodies(fold);
  if (net.length > 0) return [{ do: "append", bodies: net }];
  const ended = running?.isEnding ? [] : endedTaskBodies(fold);
  if (ended.length > 0) return [{ do: "append", bodies: ended }];
  if (!running)
    return decideWithout(fold, nowMs, { day, isQueued: isQueued || !mayCall, isFarBack, limitAsked: askAt });
  if (running.isEnding) return [];
  const end = findEnd(fold, running, config, nowMs);
  if (end) return [{ do: "end", ...end }];
  if (fold.usageLimit) return [{ do: "append", bodies: [providerAsk(fold, fold.usageLimit, nowMs)] }];
  const atLimit = stopAt(fold, running, nowMs, day);
  const stop = { ...atLimit, isHeld: atLimit.isHeld || !mayCall };
  if (!running.state.isOpen) {
    const isFree = !stop.isHeld && !isQueued;
    return isFree && mayRunAhead(fold, running) ? deliveries(fold, running, config) : [];
  }
  const asked = stop.ask ? askAt(stop.ask) : [];
  if (asked.length > 0) return [{ do: "append", bodies: asked }];
  const actions = [
    ...tellRules(fold, running),
    ...askCost(running, stop),
    ...(isQueued ? [] : answers(fold, running, stop.isHeld)),
    ...controls(fold, running, nowMs, isQueued),
    ...(stop.isHeld || isQueued ? [] : deliveries(fold, running, config)),
  ];
  if (actions.length > 0) return actions;
  const bodies = [...timeouts(fold, config, nowMs), ...leftovers(fold, running)];
  return bodies.length > 0 ? [{ do: "append", bodies }] : [];
}

/**
 * Whether a message may be sent before the engine is open: it reads its lines in order, and is spared a wait. Not if
 * anything is to come before the message: a turn that it takes up, what a new conversation is told, a control.
 */
function mayRunAhead(fold: ThreadFold, { hasReadAll, launch }: Running): boolean {
  const isPending = Object.values(fold.pending).some((control) => control !== null);
  return hasReadAll && !launch.takesUp && !launch.reseeded && !isPending && !fold.marked;
}

function decideWithout(
  fold: ThreadFold,
  nowMs: number,
  { day, isQueued, isFarBack, limitAsked = () => [] }: Common,
): Action[] {
  if (isSomethingOpen(fold)) return [{ do: "close" }];
  if (fold.usageLimit) return [{ do: "append", bodies: [providerAsk(fold, fold.usageLimit, nowMs)] }];
  switch (nextStep(fold, nowMs)) {
    case "engine": {
      const reached = findReached(fold, nowMs, day);
      if (reached) {
        const bodies = limitAsked(reached);
        return bodies.length === 0 ? [] : [{ do: "append", bodies }];
      }
      if (isFarBack) return [{ do: "exit" }];
      return isQueued ? [] : [{ do: "start" }];
    }
    case "give_up":
      return [{ do: "append", bodies: [giveUp(fold)] }];
    case "rest":
      return [{ do: "exit" }];
  }
}

function findEnd(
  fold: ThreadFold,
  running: Running,
  config: ThreadConfig,
  nowMs: number,
): { reason: EndReason; how: EndManner } | undefined {
  if (fold.isKilled) return { reason: "killed", how: "crash" };
  if (fold.isPaused) return { reason: "paused", how: "crash" };
  if (fold.failure && fold.failure.code !== "engine_refused") return { reason: "error", how: "crash" };
  if (!running.state.isOpen) {
    return nowMs - running.sinceMs > OPEN_TIMEOUT_MS ? { reason: "crashed", how: "crash" } : undefined;
  }
  const isWorking = fold.turn !== null || running.state.isBusy;
  const isAtLimit = fold.stoppedAt !== null || fold.asks.some(({ limit }) => limit);
  // What it runs in the background goes on.
  if (isAtLimit && (isWorking || fold.backgroundTasks.length === 0)) {
    const how = !isWorking ? "gentle" : findBetween(running) ? "saving" : "crash";
    return { reason: "parked", how };
  }
  const { idleSeconds, askParkMinutes } = config.timeouts;
  const [oldest] = asksOfWork(fold);
  const isParkable = oldest && fold.backgroundTasks.length === 0;
  if (isParkable && nowMs - Date.parse(oldest.askedAt) > askParkMinutes * 60_000) {
    return { reason: "parked", how: "crash" };
  }
  if (!isIdle(fold, running)) return undefined;
  // The next one prints into a file of its own: so what a long conversation takes on the disk is bounded.
  const isLong = running.outputBytes > MAX_OUTPUT_BYTES;
  const isDone = config.agent.mode === "single" && fold.totals.turns > 0; // nobody can write to it any more
  const isRested = nowMs - running.idleSinceMs > idleSeconds * 1_000;
  return isLong || isDone || isRested || running.state.keepsRules
    ? { reason: "idle", how: "gentle" }
    : undefined;
}

/** Nothing runs, nothing waits: the engine may go. */
export function isIdle(fold: ThreadFold, running: Pick<Running, "state">): boolean {
  return (
    running.state.isOpen &&
    !running.state.isBusy &&
    fold.turn === null &&
    fold.messages.length === 0 &&
    fold.deliveries.length === 0 &&
    asksOfWork(fold).length === 0 &&
    fold.backgroundTasks.length === 0 &&
    fold.pending.compact === null &&
    fold.cutOffs.at === null
  );
}

interface Stop {
  /** The model is not to be called again. */
  isHeld: boolean;
  ask?: ReachedLimit;
  /** The request that waits until the engine has told what it has spent. */
  costFor?: string;
}

/**
 * At a limit nothing new goes to the engine, and a turn that runs is held at its next boundary: after the calls of a
 * round, before the model is called again. There the thread asks whether it may go on.
 */
function stopAt(fold: ThreadFold, running: Running, nowMs: number, day: DayLimit | undefined): Stop {
  if (fold.stoppedAt !== null || fold.asks.some(({ limit }) => limit)) return { isHeld: true };
  const between = findBetween(running);
  if (between && (fold.limits.spendUsd || day) && isCostDue(running, between, nowMs))
    return { isHeld: true, costFor: between };
  const reached = findReached(fold, nowMs, day);
  if (!reached) return { isHeld: false };
  const isAtRest = fold.turn === null && !running.state.isBusy && wantsModel(fold);
  const isOvertime = reached.name === "seconds" && reached.used > reached.allowed + MAX_OVERTIME_SECONDS;
  const mustAsk = between !== undefined || isAtRest || (isOvertime && fold.turn !== null);
  return { isHeld: true, ...(mustAsk && { ask: reached }) };
}

/** The request by which the engine waits before it calls the model again. */
export function findBetween({ state, sent, held }: Running): string | undefined {
  return Object.values(state.requests).find(
    ({ requestId, isAfterCalls }) => isAfterCalls && !held.has(requestId) && !sent.has(`answer ${requestId}`),
  )?.requestId;
}

/** An engine that does not tell in time is taken at what its calls have used. */
export function isCostDue({ state, sent }: Running, requestId: string, nowMs: number): boolean {
  const askedMs = sent.get(costKey(requestId));
  return state.costFor !== requestId && (askedMs === undefined || nowMs - askedMs < MAX_COST_MS);
}

const costKey = (requestId: string) => `cost ${requestId}`;

function askCost({ sent }: Running, { costFor }: Stop): Action[] {
  if (costFor === undefined || sent.has(costKey(costFor))) return [];
  return [{ do: "control", key: costKey(costFor), control: { op: "cost", id: costFor } }];
}

/** The engine would call the model if it were given what waits. */
export function wantsModel(fold: ThreadFold): boolean {
  const { cutOffs, pending } = fold;
  const isNoted = fold.deliveries.some(({ status }) => status === "noted");
  return isNoted || cutOffs.at !== null || pending.compact !== null || nextBatch(fold).length > 0;
}

function answers(fold: ThreadFold, { state, sent, held, refused }: Running, isHeld: boolean): Action[] {
  return Object.values(state.requests).flatMap((request): Action[] => {
    const { requestId } = request;
    const key = `answer ${requestId}`;
    if (sent.has(key) || held.has(requestId)) return [];
    if (isHeld && request.isAfterCalls) return [];
    const reason = refused.get(requestId);
    if (request.kind === "hook" && reason !== undefined) return [{ do: "stop", key, request, reason }];
    if (request.kind === "hook") return [{ do: "hook", key, request }];
    if (request.kind === "unknown") return [{ do: "refuse", key, request }];
    if (reason !== undefined) return [{ do: "answer", key, request, answer: { requestId, refusal: reason } }];
    const answer = fold.recordedAnswers.find((recorded) => recorded.requestId === requestId);
    if (answer) return [{ do: "answer", key, request, answer }];
    const ask = fold.asks.find((open) => open.requestId === requestId);
    if (ask?.aside) return [{ do: "answer", key, request, answer: notRunYet(ask) }];
    if (ask) return [];
    return [{ do: "answer", key, request, answer: { requestId, refusal: "Nobody answered in time." } }];
  });
}

/** Before any answer: a call that is let go on is judged by what holds now. */
function tellRules(fold: ThreadFold, { sent, launch }: Running): Action[] {
  const told = rulesToTell(fold, launch.seq ?? 0);
  if (!told) return [];
  const key = `rules ${told.seq}`;
  return sent.has(key) ? [] : [{ do: "control", key, control: { op: "rules", ...told } }];
}

function controls(
  fold: ThreadFold,
  { sent, state, hasReadAll }: Running,
  nowMs: number,
  isQueued: boolean,
): Action[] {
  const { interrupt, mode, model, end_task, compact } = fold.pending;
  const isFree =
    hasReadAll && !isQueued && !state.isBusy && fold.turn === null && fold.deliveries.length === 0;
  return [interrupt, mode, model, end_task, isFree ? compact : null].flatMap((control): Action[] => {
    if (!control) return [];
    const key = `control ${control.seq}`;
    const sentMs = sent.get(key);
    const isDue = sentMs === undefined || (control.op !== "compact" && nowMs - sentMs > RESEND_MS);
    return isDue ? [{ do: "control", key, control }] : [];
  });
}

/** At most one delivery is on its way: the next is noted when the last one was taken. */
function deliveries(
  fold: ThreadFold,
  { sent, state, hasReadAll }: Running,
  { agent }: ThreadConfig,
): Action[] {
  const { compact } = fold.pending;
  const isCompacting = compact !== null && sent.has(`control ${compact.seq}`);
  if (isCompacting && state.isBusy) return [];
  const noted = fold.deliveries.find(({ status }) => status === "noted");
  if (noted) {
    const { deliveryId, messages } = noted;
    const key = `delivery ${deliveryId}`;
    const hasIt = sent.has(key) || state.received.includes(deliveryId);
    return hasIt || !hasReadAll ? [] : [{ do: "deliver", key, deliveryId, messages }];
  }
  const { steering } = ENGINES[agent.engine].capabilities;
  if (!steering && (state.isBusy || fold.deliveries.length > 0)) return [];
  const messages = steering ? nextBatch(fold) : nextBatch(fold).slice(0, 1);
  return messages.length > 0 ? [{ do: "note", messages }] : [];
}

function timeouts(fold: ThreadFold, { timeouts }: ThreadConfig, nowMs: number): EventBody[] {
  const seconds = timeouts.askTimeoutSeconds;
  if (seconds === undefined) return [];
  return fold.asks
    .filter((ask) => !ask.limit && !ask.gate && nowMs - Date.parse(ask.askedAt) > seconds * 1_000)
    .map((ask) => cancelAsk(ask, "timeout"));
}
