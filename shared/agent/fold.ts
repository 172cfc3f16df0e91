/**
 * A transcript folded into what is true now: status, open asks, steps, deliveries, totals. Runner, sidecar and relay
 * all use this one fold, so they can't differ. Its value is plain JSON of bounded size: only what is open is kept.
 */

import { clockText } from "../clock-text.ts";
import type { ThreadEvent } from "./events.ts";
import type { Awaiting, ThreadStatus } from "./files.ts";
import { foldAsk } from "./fold-asks.ts";
import { foldCharges } from "./fold-charges.ts";
import { foldClock } from "./fold-clock.ts";
import { foldEngine } from "./fold-engine.ts";
import { foldGates } from "./fold-gates.ts";
import { hasAskOfWork } from "./fold-held.ts";
import { foldJobs } from "./fold-jobs.ts";
import { foldMessage } from "./fold-messages.ts";
import { foldTurn, NOTHING_OPEN } from "./fold-turns.ts";
import type { ThreadFold } from "./fold-types.ts";
import { foldVoice } from "./fold-voice.ts";
import { foldMode } from "./modes.ts";
import { childWait, isQueued } from "./waits.ts";

/** The version of the fold's shape: a stored fold of another version is not used. */
export const FOLD_VERSION = 3;

export function emptyFold(): ThreadFold {
  return {
    v: FOLD_VERSION,
    seq: 0,
    ts: null,
    threadId: null,
    lastEngineId: null,
    lastInboxId: null,
    engine: null,
    endedGeneration: 0,
    messages: [],
    deliveries: [],
    deliveryIds: [],
    turn: null,
    turnCount: 0,
    steps: [],
    toolCalls: [],
    asks: [],
    recordedAnswers: [],
    backgroundTasks: [],
    children: [],
    pending: { interrupt: null, mode: null, model: null, compact: null, end_task: null },
    chosen: { modeId: null, model: null },
    isPaused: false,
    isKilled: false,
    failure: null,
    cutOffs: { count: 0, at: null },
    grantedRules: [],
    totals: {
      turns: 0,
      begun: 0,
      calls: 0,
      toolCalls: 0,
      usage: { inputTokens: 0, outputTokens: 0 },
      spendUsd: 0,
    },
    open: NOTHING_OPEN,
    priceUsd: null,
    clock: { ms: 0, since: null },
    limits: {},
    stoppedAt: null,
    dayRaised: null,
    context: null,
  };
}

/** The fold with one more event; `fold` itself is not changed. */
export function foldEvent(fold: ThreadFold, event: ThreadEvent): ThreadFold {
  const next = { ...fold, seq: event.seq, ts: event.ts, ...placeOf(event.id) };
  const heard = foldJobs(foldVoice(foldMessage(next, event), event), event);
  const folded = foldGates(foldEngine(foldTurn(foldAsk(heard, event), event), event), event);
  const mode = foldMode(folded.chosen, event, folded.engine?.engine);
  const after = { ...folded, chosen: { model: folded.chosen.model, ...mode } };
  return foldCharges(fold, { ...after, clock: foldClock(fold, after, event) }, event);
}

export function foldEvents(events: Iterable<ThreadEvent>, from: ThreadFold = emptyFold()): ThreadFold {
  let fold = from;
  for (const event of events) fold = foldEvent(fold, event);
  return fold;
}

/** The thread's status as far as its transcript tells; `queued` and `locked` are the sidecar's to know. */
export function statusOf(fold: ThreadFold): ThreadStatus {
  if (fold.isKilled) return "killed";
  if (fold.failure) return "failed";
  if (fold.isPaused) return "paused";
  if (hasAskOfWork(fold)) return "waiting";
  if (fold.goOnAt !== undefined || isQueued(fold)) return "queued";
  if (hasWork(fold)) return "running";
  return fold.asks.length > 0 ? "waiting" : "idle";
}

/** What the oldest open ask wants; null if none is open. */
export function awaitingOf(fold: ThreadFold): Awaiting | null {
  return fold.asks[0]?.kind ?? null;
}

/**
 * What it does this moment: waits for a file, or the newest call of a tool, or of the model; null if none runs.
 * @param nowMs since the epoch
 */
export function doingOf(fold: ThreadFold, nowMs: number): string | null {
  const { toolCalls, steps, goOnAt } = fold;
  if (goOnAt !== undefined) return `Going on at ${clockText(goOnAt, nowMs)}`;
  const lock = steps.find(({ kind }) => kind === "lock" || kind === "place");
  return lock?.title ?? childWait(fold) ?? toolCalls.at(-1)?.title ?? steps.at(-1)?.title ?? null;
}

/** How far the running turn is: the number of calls that it has begun, and its start; null if none runs. */
export function turnNowOf({ turn, totals }: ThreadFold): { step: number; startedAt: string } | null {
  if (turn === null) return null;
  const { startedAt, callsBefore = 0 } = turn;
  return { step: totals.toolCalls - callsBefore, startedAt };
}

/** Something is to be done that needs the engine: a turn that runs, or messages that it has not finished. */
export function hasWork(fold: ThreadFold): boolean {
  if (fold.stoppedAt !== null) return false;
  return (
    fold.turn !== null ||
    fold.messages.length > 0 ||
    fold.deliveries.length > 0 ||
    fold.cutOffs.at !== null ||
    fold.pending.compact !== null
  );
}

function placeOf(id: string): Partial<ThreadFold> {
  const engine = /^e(\d+)-(\d+)\.(\d+)$/.exec(id);
  if (engine) {
    const [, generation, byte, n] = engine.map(Number) as [number, number, number, number];
    return { lastEngineId: { generation, byte, n } };
  }
  const inbox = /^i(\d+)\.(\d+)$/.exec(id);
  if (!inbox) return {};
  const [, byte, n] = inbox.map(Number) as [number, number, number];
  return { lastInboxId: { byte, n } };
}
