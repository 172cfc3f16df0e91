/** When a cron expression is due in a time zone, over its clock changes too. Pure. */
import { Cron } from "croner";
import { type CronFields, checkCron, refuse } from "./cron-fields.ts";
import { instantsOf, offsetsAround } from "./zone.ts";

/** croner takes a millisecond for a new one. */
const MAX_KEPT = 2_000;
const kept = new Map<string, { cron: Cron; fields: CronFields }>();

/**
 * The first instant after another one at which it is due; null if it never is again.
 *
 * A wall time that a clock change skips is due at the first moment after the change. One that comes twice is due the
 * first time, and both times if it is due each so many hours. croner alone would leave out several minutes of one
 * skipped hour, and take each of two hours of one name.
 */
export function nextCron(text: string, zone: string, afterMs: number): number | null {
  const { fields } = parsed(text, "UTC");
  if (fields.hours === "any") return parsed(text, zone).cron.nextRun(new Date(afterMs))?.getTime() ?? null;
  const { cron } = parsed(text, "UTC"); // of wall times
  const [, least] = offsetsAround(zone, afterMs);
  let wall: number | undefined = afterMs + least - 1_000;
  let best: number | null = null;
  for (;;) {
    wall = cron.nextRun(new Date(wall))?.getTime();
    if (wall === undefined) return best;
    if (best !== null && wall - offsetsAround(zone, wall)[0] >= best) return best;
    const { instants } = instantsOf(zone, wall);
    const due = (fields.hours === "step" ? instants : instants.slice(0, 1)).find((ms) => ms > afterMs);
    if (due !== undefined && (best === null || due < best)) best = due;
  }
}

/** @returns it as it is kept @throws AppError `invalid_request` in our own words, also if it is never due */
export function parseCron(text: string, nowMs: number): string {
  const { cron } = checkCron(text);
  let isEver: boolean;
  try {
    isEver = parsed(cron, "UTC").cron.nextRun(new Date(nowMs)) !== null;
  } catch (error) {
    // Our own check has let it through: its words are better than none.
    throw refuse(error instanceof Error ? error.message.replace(/\.$/, "") : "can't be read");
  }
  if (isEver) return cron;
  const [, , day, month] = cron.split(" ");
  throw refuse(`is never due: there is no day ${day} in month ${month}`);
}

function parsed(text: string, zone: string): { cron: Cron; fields: CronFields } {
  const key = `${zone} ${text}`;
  const found = kept.get(key);
  if (found) return found;
  const made = { cron: new Cron(text, { timezone: zone, paused: true }), fields: checkCron(text) };
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(key, made);
  return made;
}
