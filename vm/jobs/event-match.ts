/** Which events start a job, and what its run is told of them. Pure. */
import * as z from "zod";
import { type EventWhen, MAX_CAUSES } from "../../shared/jobs/event.ts";
import { doesFit, type Json } from "../hooks/body.ts";
import type { EventRow } from "../store/events.ts";

/** The events of a run that it is told of, and the fields of each. */
const MAX_TOLD = 20;
const MAX_FIELDS = 12;
/** A field's text is told if no sentence fits into it: such text can ask for nothing. */
const PLAIN = /^[\w./#:-]{1,64}$/;
/** The same for everybody, or told already. */
const LEFT_OUT = new Set(["type", "seq", "id", "blobs", "meta"]);

/** The events that one look has found for a job. */
export const foundSchema = z.object({
  count: z.int(),
  lines: z.array(z.string()),
  causes: z.array(z.string()),
});
export type Found = z.output<typeof foundSchema>;

export interface SeenEvent {
  row: Pick<EventRow, "threadId" | "type">;
  /** The tags of its thread. */
  tags: () => readonly string[];
  /** Its fields. */
  json: () => Json;
}

/** Whether an event is one of those that the job is for, whatever led to it. */
export function isMeant(
  { events, threadId, tag, filter }: EventWhen,
  { row, tags, json }: SeenEvent,
): boolean {
  if (!events.includes(row.type)) return false;
  if (threadId !== undefined && threadId !== row.threadId) return false;
  if (tag !== undefined && !tags().includes(tag)) return false;
  if (!filter) return true;
  const fields = json();
  return fields !== undefined && doesFit(fields, filter);
}

/**
 * Why a job is not started by what these jobs led to; undefined if it is.
 * @param causes the oldest first
 */
export function whyChained(job: string, causes: readonly string[]): string | undefined {
  if (!causes.includes(job) && causes.length < MAX_CAUSES) return undefined;
  return `chain: jobs have led to it (${causes.join(" → ")}), so it is not started again`;
}

/** `turn_end of #12 (agent-1796031600) at 2027-01-05T09:15:02Z: stopReason=end_turn`. No sentence of it is anybody's. */
export function eventLine(type: string, thread: string, json: Json): string {
  const fields = typeof json?.value === "object" && json.value !== null ? Object.entries(json.value) : [];
  const at = fields.find(([name]) => name === "ts")?.[1];
  const told = fields
    .filter(([name, value]) => name !== "ts" && !LEFT_OUT.has(name) && isPlain(value))
    .slice(0, MAX_FIELDS)
    .map(([name, value]) => `${name}=${String(value)}`);
  const when = typeof at === "string" && PLAIN.test(at) ? ` at ${at}` : "";
  return `${type} of ${thread}${when}${told.length > 0 ? `: ${told.join(", ")}` : ""}`;
}

function isPlain(value: unknown): boolean {
  if (typeof value === "string") return PLAIN.test(value);
  return typeof value === "number" || typeof value === "boolean";
}

/** With one more event. */
export function addFound(found: Found, line: string, causes: readonly string[]): Found {
  return {
    count: found.count + 1,
    lines: found.lines.length < MAX_TOLD ? [...found.lines, line] : found.lines,
    causes: [...new Set([...found.causes, ...causes])],
  };
}

/** What the agent is told of all that began its run. */
export function eventsText(all: readonly Found[]): string {
  const count = all.reduce((sum, found) => sum + found.count, 0);
  const lines = all.flatMap((found) => found.lines).slice(0, MAX_TOLD);
  const more = count > lines.length ? [`and ${count - lines.length} more`] : [];
  return [count === 1 ? "An event began this:" : `${count} events began this:`, ...lines, ...more].join("\n");
}
