/** The five fields of a cron expression, checked in words for a person. Pure. */
import { AppError } from "../../shared/errors.ts";

interface Field {
  name: string;
  min: number;
  max: number;
  /** What may stand in the place of numbers. */
  names?: readonly string[];
  /** Besides numbers, ranges and steps. */
  special?: RegExp;
}

const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const FIELDS = [
  { name: "minute", min: 0, max: 59 },
  { name: "hour", min: 0, max: 23 },
  // The last day, the weekday nearest to a day, the last weekday.
  { name: "day-of-month", min: 1, max: 31, special: /^(L|LW|([1-9]|[12]\d|3[01])W)$/ },
  { name: "month", min: 1, max: 12, names: MONTHS },
  // The last or the n-th of its kind in the month. 7 is Sunday too.
  {
    name: "day-of-week",
    min: 0,
    max: 7,
    names: DAYS,
    special: /^([0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)(L|#[1-5])$/,
  },
] as const satisfies readonly Field[];

const ALL = /^[*?]$/;
const NICKNAMES: Record<string, string> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

export interface CronFields {
  /** As it is kept: in capitals, with single spaces. */
  cron: string;
  /** `any`: at each hour. `step`: every so many hours. */
  hours: "any" | "step" | "named";
}

/** @throws AppError `invalid_request` that names the field and says what would fit */
export function checkCron(text: string): CronFields {
  const words = text.trim().toUpperCase().split(/\s+/);
  const [first = ""] = words;
  if (first === "")
    throw refuse('is empty; write five fields, such as "0 9 * * 1-5" (minute hour day month weekday)');
  if (first.startsWith("@")) throw refuseNickname(first.toLowerCase());
  if (words.length !== FIELDS.length) throw refuseCount(words.length);
  for (const [i, field] of FIELDS.entries()) checkField(field, words[i] ?? "");
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = words;
  if (!ALL.test(day) && !ALL.test(weekday) && !weekday.startsWith("+")) {
    const start = `${minute} ${hour}`;
    throw refuse(
      `day-of-month (${day}) and day-of-week (${weekday}) are both set. For a day that is one of them, make two jobs: ` +
        `"${start} ${day} ${month} *" and "${start} * ${month} ${weekday}". For a day that is both: "${start} ${day} ${month} +${weekday}"`,
    );
  }
  const hours = ALL.test(hour) || hour === "*/1" ? "any" : hour.startsWith("*/") ? "step" : "named";
  return { cron: words.join(" "), hours };
}

export function refuse(problem: string): AppError {
  return new AppError("invalid_request", `when.cron: ${problem}.`);
}

function refuseNickname(name: string): AppError {
  const fields = NICKNAMES[name];
  if (fields !== undefined) return refuse(`${name} is not taken; write "${fields}"`);
  return refuse(`${name} is not taken; write five fields, or "every 30m" for a duration`);
}

function refuseCount(count: number): AppError {
  const wanted = "five are wanted (minute hour day-of-month month day-of-week)";
  const seconds = count === 6 ? "; seconds and years are not taken" : "";
  return refuse(`has ${count} ${count === 1 ? "field" : "fields"}, ${wanted}${seconds}`);
}

function checkField(field: Field, text: string): void {
  const isWeekday = field.name === "day-of-week";
  const list = isWeekday && text.startsWith("+") ? text.slice(1) : text;
  for (const item of list.split(",")) checkItem(field, item);
}

function checkItem(field: Field, item: string): void {
  if (ALL.test(item) || field.special?.test(item)) return;
  const [range = "", step, ...rest] = item.split("/");
  const wrong = (why: string) => refuse(`${field.name}: ${JSON.stringify(item)} ${why}`);
  if (item === "" || rest.length > 0) throw wrong(`is no value; write ${describe(field)}`);
  if (step !== undefined) checkStep(field, range, step, wrong);
  if (range === "*") return;
  const [from = "", to, ...more] = range.split("-");
  if (more.length > 0) throw wrong(`is no range; write it as ${field.min}-${field.max}`);
  const [low, high] = [numberOf(field, from), to === undefined ? undefined : numberOf(field, to)];
  if (low === undefined || (to !== undefined && high === undefined))
    throw wrong(`is not one of ${describe(field)}`);
  if (high !== undefined && low > high)
    throw wrong(`begins after its end; write ${from}-${field.max},${field.min}-${to}`);
}

function checkStep(field: Field, range: string, step: string, wrong: (why: string) => AppError): void {
  if (range !== "*" && !range.includes("-")) {
    throw wrong(`steps from one value; write */${step}, or a range such as ${range}-${field.max}/${step}`);
  }
  if (!/^\d{1,3}$/.test(step) || Number(step) < 1 || Number(step) > field.max)
    throw wrong(`has a step that is not 1 to ${field.max}`);
}

function numberOf({ min, max, names }: Field, text: string): number | undefined {
  const named = names?.indexOf(text) ?? -1;
  if (named >= 0) return named + (min === 1 ? 1 : 0);
  if (!/^\d{1,2}$/.test(text)) return undefined;
  const value = Number(text);
  return value >= min && value <= max ? value : undefined;
}

function describe({ min, max, names }: Field): string {
  return names ? `${min} to ${max} or ${names[0]} to ${names.at(-1)}` : `${min} to ${max}`;
}
