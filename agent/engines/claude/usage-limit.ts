/**
 * The provider's own limit, as claude tells of it: the account may call the model again once the limit resets. Its
 * events name that moment in seconds since the epoch; only without them its sentence for people is read. Pure.
 */
import type { ClaudeResult } from "./lines.ts";

/** Of `api_error`, at such a limit. */
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
  /resets (?:(?<month>[A-Z][a-z]{2}) (?<day>\d{1,2}),? (?:at )?)?(?<hour>\d{1,2})(?::(?<minute>\d{2}))?(?<half>am|pm) \((?<zone>[A-Za-z_/+-]{1,40})\)/;

/** `resets 3pm (Europe/Berlin)`, `resets Nov 25, 3:30pm (UTC)`, or an older claude's `|1795389627`. */
function parseReset(text: string, nowMs: number): number | undefined {
  const epoch = /\|(\d{10})$/.exec(text)?.[1];
  if (epoch !== undefined) return Number(epoch) * 1_000;
  const { month, day, hour, minute = "0", half, zone = "" } = RESET.exec(text.slice(0, 500))?.groups ?? {};
  if (hour === undefined || !isZone(zone)) return undefined;
  const clockMs = ((Number(hour) % 12) + (half === "pm" ? 12 : 0)) * 3_600_000 + Number(minute) * 60_000;
  const today = new Date(nowMs + offsetMs(nowMs, zone));
  const [year, at] = [today.getUTCFullYear(), month === undefined ? -1 : MONTHS.indexOf(month) / 3];
  const days =
    month === undefined
      ? [0, 1].map((more) => Date.UTC(year, today.getUTCMonth(), today.getUTCDate() + more))
      : [year, year + 1].map((each) => Date.UTC(each, at, Number(day)));
  return days.map((ms) => ms + clockMs - offsetMs(ms + clockMs, zone)).find((ms) => ms > nowMs);
}

function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
    return true;
  } catch {
    return false; // a name that this machine does not know
  }
}

/** How far the zone's clocks are ahead of UTC's then. */
function offsetMs(ms: number, zone: string): number {
  const parts = new Intl.DateTimeFormat("en", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  }).formatToParts(ms);
  const of = (type: string) => Number(parts.find((part) => part.type === type)?.value);
  const there = Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"));
  return there - Math.floor(ms / 60_000) * 60_000;
}
