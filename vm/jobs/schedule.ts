/** When a job is due: what callers send is checked, and the next instants are computed from the last one. Pure. */
import { AppError } from "../../shared/errors.ts";
import { type CheckedWhen, type ClockWhen, isClock, type When } from "../../shared/jobs/when.ts";
import { nextCron, parseCron } from "./cron.ts";
import { parseEvents, parseWords } from "./words.ts";
import { findZone, wallOf, wallText } from "./zone.ts";

const MINUTE_MS = 60_000;
const MAX_MS = 10 * 366 * 86_400_000;
/** How many instants are gone through, one by one, before the search jumps. */
const MAX_STEPS = 100;

/** A job as the calculator sees it. */
export interface Scheduled {
  when: ClockWhen;
  /** From which `every` counts. */
  madeAt: number;
}

/**
 * What is kept of what a caller sent.
 * @param zone the machine's, for one that names none
 * @throws AppError `invalid_request` that names the field and says what would fit
 */
export function parseWhen(sent: CheckedWhen, { nowMs, zone: own }: { nowMs: number; zone: string }): When {
  if (sent.type === "webhook") {
    const { secret: _, ...when } = sent;
    return when;
  }
  if (sent.type === "every" || sent.type === "event") return sent;
  if (sent.type === "words" && /^\s*on\b/i.test(sent.words)) return parseEvents(sent.words);
  const zone = checkZone(sent.zone ?? own);
  if (sent.type === "cron") return { type: "cron", cron: parseCron(sent.cron, nowMs), zone };
  if (sent.type === "at")
    return checkInstant({ type: "at" as const, at: new Date(sent.at).toISOString(), zone }, nowMs);
  if (/^[\d*]/.test(sent.words.trim())) return { type: "cron", cron: parseCron(sent.words, nowMs), zone };
  const when = parseWords(sent.words, zone, nowMs);
  if ("type" in when) return when.type === "at" ? checkInstant(when, nowMs) : checkPeriod(when);
  return { type: "cron", cron: parseCron(when.cron, nowMs), zone };
}

/** The first instant after another one at which the job is due; null if it never is again. */
export function nextDue({ when, madeAt }: Scheduled, afterMs: number): number | null {
  switch (when.type) {
    case "at": {
      const at = Date.parse(when.at);
      return at > afterMs ? at : null;
    }
    case "every": {
      const period = when.seconds * 1_000;
      const periods = Math.max(0, Math.floor((afterMs - madeAt) / period));
      return madeAt + (periods + 1) * period;
    }
    case "cron":
      return nextCron(when.cron, when.zone, afterMs);
  }
}

/** The next ones, at most so many. */
export function nextDues(job: Scheduled, afterMs: number, count: number): number[] {
  const dues: number[] = [];
  for (let due = nextDue(job, afterMs); due !== null && dues.length < count; due = nextDue(job, due))
    dues.push(due);
  return dues;
}

/**
 * The last instant up to now at which the job was due, and how many before it were missed.
 * @param due at which it was due, and nothing was done yet
 * @returns `missed` is a lower bound if there were very many
 */
export function lastDue(job: Scheduled, due: number, nowMs: number): { due: number; missed: number } {
  let last = due;
  let missed = 0;
  for (let next = nextDue(job, last); next !== null && next <= nowMs; next = nextDue(job, last)) {
    last = next;
    missed++;
    if (missed === MAX_STEPS) last = jump(job, last, nowMs);
  }
  return { due: last, missed };
}

/** An instant not long before now at which the job was due; `from` if there is none behind it. */
function jump(job: Scheduled, from: number, nowMs: number): number {
  for (let back = MINUTE_MS; nowMs - back > from; back *= 2) {
    const found = nextDue(job, nowMs - back);
    if (found !== null && found <= nowMs) return found;
  }
  return from;
}

/** `Mon 5 Jan 09:00`, in the job's zone; in UTC if it has none. */
export function dueText(when: When, dueMs: number): string {
  const zone = "zone" in when ? when.zone : "UTC";
  return wallText(wallOf(zone, dueMs));
}

/** Half of the time between two instants, and at most two hours: one that is late by less is still done. */
export function graceMs(job: Scheduled, due: number): number {
  const most = 120 * MINUTE_MS;
  const next = nextDue(job, due);
  return next === null ? most : Math.min(most, (next - due) / 2);
}

export function isDueAgain(when: When): boolean {
  return isClock(when) && when.type !== "at";
}

function checkZone(name: string): string {
  const zone = findZone(name);
  if (zone !== undefined) return zone;
  throw refuse(
    "zone",
    `${JSON.stringify(name)} is no time zone that this machine knows; write a name such as Europe/Berlin or UTC`,
  );
}

function checkInstant<W extends { at: string }>(when: W, nowMs: number): W {
  const at = Date.parse(when.at);
  if (at <= nowMs)
    throw refuse("at", `${when.at} is in the past; it is ${new Date(nowMs).toISOString()} now`);
  if (at - nowMs > MAX_MS) throw refuse("at", `${when.at} is more than ten years away`);
  return when;
}

function checkPeriod<W extends ClockWhen>(when: W): W {
  if (when.type === "every" && when.seconds > 366 * 86_400) throw refuse("every", "must be at most 366 days");
  return when;
}

function refuse(field: string, problem: string): AppError {
  return new AppError("invalid_request", `when.${field}: ${problem}.`);
}
