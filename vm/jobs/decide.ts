/** What becomes of a due instant: a run, or a row that says why there is none. Pure. */
import type { JobRow } from "../store/jobs.ts";
import { dueText, graceMs, lastDue, nextDue, type Scheduled } from "./schedule.ts";
import { machineZone, wallOf } from "./zone.ts";

/** The timer wakes at least so often: whatever is due is noticed no later, unless the sidecar stood still. */
export const LONGEST_SLEEP_MS = 60_000;

export interface Situation {
  nowMs: number;
  /** Runs of the job that go on. */
  openRuns: number;
  /** Its thread has a turn, and the job is for when it has none. */
  isThreadBusy: boolean;
  spentTodayUsd: number;
}

export interface Occurrence {
  due: number;
  /** How many due instants before it were missed. */
  missed: number;
  status: "claimed" | "skipped" | "missed";
  reason: string | null;
  /** Null if it is never due again. */
  nextDue: number | null;
}

/** @param firstDue the oldest instant at which it was due, and nothing was done */
export function decide(row: JobRow, job: Scheduled, firstDue: number, situation: Situation): Occurrence {
  const { nowMs } = situation;
  const { due, missed } = lastDue(job, firstDue, nowMs);
  const next = nextDue(job, due);
  const whyNot = whyMissed(row, job, due, nowMs);
  const reason = whyNot ?? whyOutside(row, due) ?? whySkipped(row, situation);
  const status = whyNot !== null ? "missed" : reason !== null ? "skipped" : "claimed";
  return { due, missed, status, reason, nextDue: next };
}

function whyMissed({ settings }: JobRow, job: Scheduled, due: number, nowMs: number): string | null {
  const lateMs = nowMs - due;
  if (lateMs <= LONGEST_SLEEP_MS) return null;
  const { missed, name, when } = settings;
  if (missed === "once") return null;
  const was = `It was due at ${dueText(when, due)}, ${minutesText(lateMs)} before the sidecar could look`;
  if (missed === "skip") return `${was}.`;
  const isInTime = lateMs < graceMs(job, due);
  if (missed === undefined && isInTime) return null;
  return `${was}. To run it all the same: threadmux job run ${name}`;
}

/** Only what a clock makes due has hours: a request, and a person who runs the job, come when they come. */
function whyOutside({ settings: { hours, when } }: JobRow, due: number): string | null {
  if (!hours || isWithin(hours, wallOf("zone" in when ? when.zone : machineZone(), due))) return null;
  return `hours: it is not between ${hours.from} and ${hours.to}`;
}

/** Why a run that is in time does not begin; null if it does. */
export function whySkipped({ settings }: JobRow, situation: Situation): string | null {
  const { what, overlap, idleOnly, limits } = settings;
  const { openRuns, isThreadBusy, spentTodayUsd } = situation;
  // An input, or a message for the one thread of all runs, waits there.
  const isOneEach = "thread" in what ? what.thread === "each" : what.type !== "input";
  if (isOneEach && overlap === "skip" && openRuns > 0) return "busy: the run before it goes on";
  if (idleOnly && isThreadBusy) return "busy: its thread has a turn";
  const cap = limits.spendUsdPerDay;
  if (cap !== null && spentTodayUsd >= cap)
    return `cap: its runs of today have cost $${spentTodayUsd.toFixed(2)} of $${cap.toFixed(2)}`;
  return null;
}

/** Whether nothing begins the job any more. */
export function hasExpired({ expiresAt }: Pick<JobRow["settings"], "expiresAt">, atMs: number): boolean {
  return expiresAt !== undefined && atMs >= Date.parse(expiresAt);
}

/** They may go past midnight. */
function isWithin({ from, to }: { from: string; to: string }, wallMs: number): boolean {
  const time = new Date(wallMs).toISOString().slice(11, 16);
  return from < to ? time >= from && time < to : time >= from || time < to;
}

function minutesText(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}
