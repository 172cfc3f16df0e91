/** Wall times and instants of a time zone. A wall time is kept as the milliseconds that it would be in UTC. Pure. */

export const DAY_MS = 86_400_000;
export const HOUR_MS = 3_600_000;
const QUARTER_MS = 900_000;
/** Each takes Intl some microseconds, and a clock change is asked about again and again. */
const MAX_OFFSETS = 20_000;
const offsets = new Map<string, number>();
const formats = new Map<string, Intl.DateTimeFormat>();

/** The zone's name as the machine spells it; undefined if it knows no zone of that name. */
export function findZone(name: string): string | undefined {
  // Offsets such as +02:00 are taken by some versions of Node and not by others, and know no clock change.
  if (!/^[A-Za-z][\w+/-]*$/.test(name)) return undefined;
  try {
    const known = new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone;
    return known.toLowerCase() === name.toLowerCase() ? known : name; // an alias stays as it was written
  } catch {
    return undefined;
  }
}

export function machineZone(): string {
  return new Intl.DateTimeFormat("en").resolvedOptions().timeZone;
}

/** What a clock on the wall shows at an instant. */
export function wallOf(zone: string, instantMs: number): number {
  return instantMs + offsetOf(zone, instantMs);
}

/**
 * The instants at which a clock on the wall shows this, the first one first: two if the clock is put back over it.
 * `isSkipped`: it never shows it, and the one instant is the first moment after the change.
 */
export function instantsOf(zone: string, wallMs: number): { instants: number[]; isSkipped: boolean } {
  const [most, least] = offsetsAround(zone, wallMs);
  const instants = [...new Set([wallMs - most, wallMs - least])].filter((ms) => wallOf(zone, ms) === wallMs);
  if (instants.length > 0) return { instants, isSkipped: false };
  let [before, after] = [wallMs - most, wallMs - least];
  const old = offsetOf(zone, before);
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (offsetOf(zone, middle) === old) before = middle;
    else after = middle;
  }
  return { instants: [after], isSkipped: true };
}

/** The largest and the smallest distance from UTC within a day of an instant or wall time. */
export function offsetsAround(zone: string, ms: number): [most: number, least: number] {
  const [before, after] = [offsetOf(zone, ms - DAY_MS), offsetOf(zone, ms + DAY_MS)];
  return [Math.max(before, after), Math.min(before, after)];
}

/** `Mon 5 Jan 09:00` */
export function wallText(wallMs: number): string {
  const [day = "", date = "", month = "", , time = ""] = new Date(wallMs).toUTCString().split(" ");
  return `${day.slice(0, 3)} ${Number(date)} ${month} ${time.slice(0, 5)}`;
}

/** No zone changes its clock but at a quarter of an hour. */
function offsetOf(zone: string, instantMs: number): number {
  const quarter = Math.floor(instantMs / QUARTER_MS);
  const key = `${quarter} ${zone}`;
  const known = offsets.get(key);
  if (known !== undefined) return known;
  const offset = readOffset(zone, quarter * QUARTER_MS);
  if (offsets.size >= MAX_OFFSETS) offsets.clear();
  offsets.set(key, offset);
  return offset;
}

function readOffset(zone: string, instantMs: number): number {
  const format = formats.get(zone) ?? newFormat(zone);
  const parts: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(instantMs)) parts[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) - instantMs;
}

function newFormat(zone: string): Intl.DateTimeFormat {
  const numeric = "numeric";
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    ...{ year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, second: numeric },
  });
  if (formats.size >= 600) formats.clear();
  formats.set(zone, format);
  return format;
}
