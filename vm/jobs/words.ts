/** Our short grammar for when a job is due: `every 30m`, `every weekday at 9`, `at 17:00`, `in 20m`, `on turn_end`. Pure. */
import { AppError } from "../../shared/errors.ts";
import { type EventWhen, eventWhenSchema } from "../../shared/jobs/event.ts";
import type { ClockWhen } from "../../shared/jobs/when.ts";
import { DAY_MS, HOUR_MS, instantsOf, wallOf } from "./zone.ts";

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 7 * 86_400 };
const DURATION = /^(\d{1,6})?\s*(s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?|w|weeks?)$/;
const TIME = /^(\d{1,2})(?::([0-5]\d))?\s*(am|pm)?$/;
const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const DATE = /^(\d{4}-\d{2}-\d{2})[t ](\d{2}:\d{2}(?::\d{2})?)$/;

export const GRAMMAR =
  'write "every 30m", "every weekday at 9", "every monday and friday at 9:30", "at 17:00", "at 2027-01-05 09:00", "in 20m", "on turn_end of 12", or five cron fields';

/** @throws AppError `invalid_request` that says what would fit */
export function parseWords(text: string, zone: string, nowMs: number): ClockWhen | { cron: string } {
  const words = text.trim().toLowerCase().replace(/\s+/g, " ");
  const [verb = "", rest = ""] = split(words);
  if (verb === "in") return { type: "at", at: isoOf(nowMs + secondsOf(rest, text) * 1_000), zone };
  if (verb === "at" || verb === "tomorrow" || verb === "today")
    return { type: "at", at: isoOf(instantIn(words, zone, nowMs, text)), zone };
  if (verb === "every") return everyOf(rest, text);
  throw refuse(text, GRAMMAR);
}

function everyOf(rest: string, text: string): ClockWhen | { cron: string } {
  const [days = "", time] = rest.split(" at ");
  const cronDays = cronDaysOf(days);
  if (cronDays === undefined) {
    if (time !== undefined) throw refuse(text, `${JSON.stringify(days)} is no day; ${GRAMMAR}`);
    const seconds = secondsOf(rest, text);
    if (seconds < 60) throw refuse(text, "is too often; at most once a minute, such as every 1m");
    return { type: "every", seconds };
  }
  // Every day, at no time of it, is a duration.
  if (time === undefined && days === "day") return { type: "every", seconds: 86_400 };
  if (time === undefined) throw refuse(text, `says no time; write "every ${days} at 9"`);
  const { hour, minute } = timeOf(time, text);
  return { cron: `${minute} ${hour} * * ${cronDays}` };
}

/**
 * `on turn_end`, `on turn_end, thread_status of 12`, `on turn_end of 12 every 10s`: those of so long are one run.
 * @throws AppError `invalid_request` that says what would fit
 */
export function parseEvents(text: string): EventWhen {
  const words = text.trim().replace(/\s+/g, " ");
  const [, types = "", threadId, often] =
    /^on ([\w, ]+?)(?: of (\S.*?))?(?: every (\d+ ?[a-z]+))?$/i.exec(words) ?? [];
  const events = types
    .toLowerCase()
    .split(/,| and /)
    .map((type) => type.trim());
  const { data, error } = eventWhenSchema().safeParse({
    type: "event",
    events,
    ...(threadId !== undefined && { threadId }),
    ...(often !== undefined && { everySeconds: secondsOf(often.toLowerCase(), text) }),
  });
  if (data) return data;
  const [type] = error.issues[0]?.path.slice(-1) ?? [];
  const field = type === "everySeconds" ? `the seconds of ${JSON.stringify(`every ${often}`)} ` : "";
  const named = typeof type === "number" ? `${JSON.stringify(events[type])} ` : field;
  throw refuse(text, `${named}${error.issues[0]?.message ?? "is not understood"}; write "on turn_end of 12"`);
}

/** The fifth field of a cron expression; undefined if these are no days. */
function cronDaysOf(days: string): string | undefined {
  if (days === "day") return "*";
  if (days === "weekday" || days === "working day") return "1-5";
  if (days === "weekend") return "0,6";
  const names = days.split(/, ?and |, ?| and /);
  const numbers = names.map((name) => weekdayOf(name));
  return numbers.includes(-1) ? undefined : [...new Set(numbers)].sort().join(",");
}

function weekdayOf(name: string): number {
  const singular = name.length > 4 ? name.replace(/s$/, "") : name;
  return WEEKDAYS.findIndex((day) => day === singular || day.slice(0, 3) === name);
}

/** `at 17:00`, `at 2027-01-05 09:00`, `tomorrow at 9`, `today at 17:00`. */
function instantIn(words: string, zone: string, nowMs: number, text: string): number {
  const time = /(?:^|\s)at (.+)$/.exec(words)?.[1];
  if (time === undefined) throw refuse(text, 'says no time; write "tomorrow at 9"');
  const date = DATE.exec(time);
  if (date) return wallInstant(wallOn(date), zone, text);
  if (/^\d{4}-/.test(time)) {
    const instant = Date.parse(time.toUpperCase());
    if (Number.isNaN(instant) || !/(z|[+-]\d{2}:?\d{2})$/.test(time)) throw refuse(text, GRAMMAR);
    return instant;
  }
  const { hour, minute } = timeOf(time, text);
  const midnight = Math.floor(wallOf(zone, nowMs) / DAY_MS) * DAY_MS;
  const wall = midnight + hour * HOUR_MS + minute * 60_000;
  if (words.startsWith("tomorrow")) return wallInstant(wall + DAY_MS, zone, text);
  const today = wallInstant(wall, zone, text);
  return today > nowMs || words.startsWith("today") ? today : wallInstant(wall + DAY_MS, zone, text);
}

/** NaN on a day that there is not, such as 30 February. */
function wallOn([, day = "", time = ""]: readonly string[]): number {
  const wall = Date.parse(`${day}T${time}Z`);
  return Number.isNaN(wall) || !new Date(wall).toISOString().startsWith(day) ? Number.NaN : wall;
}

function wallInstant(wallMs: number, zone: string, text: string): number {
  if (Number.isNaN(wallMs)) throw refuse(text, "names a day or a time that there is not");
  return instantsOf(zone, wallMs).instants[0] ?? wallMs;
}

function timeOf(text: string, whole: string): { hour: number; minute: number } {
  if (text === "noon") return { hour: 12, minute: 0 };
  if (text === "midnight") return { hour: 0, minute: 0 };
  const [, hours, minutes = "0", half] = TIME.exec(text) ?? [];
  const said = Number(hours);
  const isHour = half === undefined ? said <= 23 : said >= 1 && said <= 12;
  if (hours === undefined || !isHour)
    throw refuse(whole, `${JSON.stringify(text)} is no time; write 9, 9:30, 17:00 or 5pm`);
  const hour = half === undefined ? said : (said % 12) + (half === "pm" ? 12 : 0);
  return { hour, minute: Number(minutes) };
}

function secondsOf(text: string, whole: string): number {
  const [, count, unit] = DURATION.exec(text) ?? [];
  const seconds = (count === undefined ? 1 : Number(count)) * (UNITS[unit?.slice(0, 1) ?? ""] ?? 0);
  if (unit === undefined || (count === undefined && unit.length === 1)) throw refuse(whole, GRAMMAR);
  if (seconds === 0) throw refuse(whole, "is no time at all");
  return seconds;
}

function split(words: string): [string, string] {
  const at = words.indexOf(" ");
  return at < 0 ? [words, ""] : [words.slice(0, at), words.slice(at + 1)];
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

function refuse(text: string, problem: string): AppError {
  const said = text.trim() === "" ? "is empty" : JSON.stringify(text.trim());
  const joined =
    text.trim() === ""
      ? `${said}; ${problem}`
      : `${said} ${problem.startsWith("write") ? `is not understood; ${problem}` : problem}`;
  return new AppError("invalid_request", `when: ${joined}.`);
}
