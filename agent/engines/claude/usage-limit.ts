/**
 * The provider's own limit, as claude tells of it: the account may call the model again once the limit resets. Its
 * events name that moment in seconds since the epoch; only without them its sentence for people is read. Pure.
 */
import type { ClaudeResult } from "./lines.ts";

/** The code of `api_error` at such a limit. */
const REACHED = "usage_limit_reached";
const SENTENCE = /^(You've hit your .{0,80}limit\b|Claude (AI )?usage limit reached\b)/;
/** No limit is longer than a month: another moment is no moment that we know how to read. */
const MAX_AHEAD_MS = 35 * 86_400_000;

export interface UsageLimit {
  /** In the provider's words. */
  message: string;
  resetsAt?: string;
}

/**
 * Undefined if the turn ended for another reason.
 * @param resetsAt in seconds since the epoch, if the refused call told
 */
export function findUsageLimit(
  result: ClaudeResult,
  resetsAt: number | null,
  nowMs: number,
): UsageLimit | undefined {
  const text = result.result ?? "";
  if (!result.is_error || (result.api_error !== REACHED && !SENTENCE.test(text))) return undefined;
  const atMs = resetsAt === null ? parseReset(text, nowMs) : resetsAt * 1_000;
  const [message = ""] = text.split(/ \u00b7 resets|\|/, 1);
  const isAhead = atMs !== undefined && atMs > nowMs && atMs < nowMs + MAX_AHEAD_MS;
  return { message, ...(isAhead && { resetsAt: new Date(atMs).toISOString() }) };
}

const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";
const RESET =
  /resets (?:(?<month>[A-Z][a-z]{2}) (?<day>\d{1,2}),? (?:at )?)?(?<hour>\d{1,2})(?::(?<minute>\d{2}))?(?<half>am|pm) \((?<zone>[\w/+:-]{1,40})\)/;
/** A zone that is told as its distance from UTC. */
const FIXED_ZONE = /^(?:UTC|GMT)?(?<sign>[+-])(?<hours>\d{1,2})(?::?(?<minutes>\d{2}))?$/;
const DAY_MS = 86_400_000;

/** `resets 3pm (Europe/Berlin)`, `resets Nov 25, 3:30pm (UTC)`, or an older claude's `|1795389627`. */
function parseReset(text: string, nowMs: number): number | undefined {
  const epoch = /\|(\d{10})$/.exec(text)?.[1];
  if (epoch !== undefined) return Number(epoch) * 1_000;
  const { month, day, hour, minute = "0", half, zone = "" } = RESET.exec(text.slice(0, 500))?.groups ?? {};
  const offsetOf = findZone(zone);
  if (hour === undefined || offsetOf === undefined) return undefined;
  if (Number(hour) < 1 || Number(hour) > 12 || Number(minute) > 59) return undefined;
  const clockMs = ((Number(hour) % 12) + (half === "pm" ? 12 : 0)) * 3_600_000 + Number(minute) * 60_000;
  const today = new Date(nowMs + offsetOf(nowMs));
  const [year, at] = [today.getUTCFullYear(), month === undefined ? -1 : MONTHS.indexOf(month) / 3];
  const days =
    month === undefined
      ? [0, 1].map((more) => Date.UTC(year, today.getUTCMonth(), today.getUTCDate() + more))
      : [year, year + 1]
          .map((each) => Date.UTC(each, at, Number(day)))
          .filter((ms) => new Date(ms).getUTCDate() === Number(day));
  return days.flatMap((ms) => momentsOf(ms + clockMs, offsetOf)).find((ms) => ms > nowMs);
}

/**
 * When the zone's clocks show `localMs`, the earlier moment first: twice where they are put back. A time that is left
 * out is taken as the moment at which it would have been.
 */
function momentsOf(localMs: number, offsetOf: (ms: number) => number): number[] {
  const before = offsetOf(localMs - DAY_MS);
  const after = offsetOf(localMs + DAY_MS);
  const moments = [localMs - before, localMs - after].filter((ms) => ms + offsetOf(ms) === localMs);
  return moments.length > 0 ? moments.sort((a, b) => a - b) : [localMs - before];
}

/** How far the zone's clocks are ahead of UTC's at a moment. Undefined for a zone that this machine does not know. */
function findZone(zone: string): ((ms: number) => number) | undefined {
  const { sign, hours, minutes = "0" } = FIXED_ZONE.exec(zone)?.groups ?? {};
  if (hours !== undefined) {
    const ms = (Number(hours) * 60 + Number(minutes)) * 60_000;
    return ms > 14 * 3_600_000 || Number(minutes) > 59 ? undefined : () => (sign === "-" ? -ms : ms);
  }
  try {
    const format = new Intl.DateTimeFormat("en", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
    });
    return (ms) => offsetMs(ms, format);
  } catch {
    return undefined; // a name that this machine does not know
  }
}

function offsetMs(ms: number, format: Intl.DateTimeFormat): number {
  const parts = format.formatToParts(ms);
  const of = (type: string) => Number(parts.find((part) => part.type === type)?.value);
  const there = Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"));
  return there - Math.floor(ms / 60_000) * 60_000;
}
