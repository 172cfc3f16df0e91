/**
 * `GET /events`: what happens over all threads, in one order, as Server-Sent Events. Each has an id that only grows;
 * whoever gives the id of the last one that it has gets what comes after it.
 */
import * as z from "zod";
import { anyThreadNameSchema, knownThreadId } from "./ids.ts";

const MAX_VALUES = 50;

/** In a query a value, or several as the same name again. */
const many = <S extends z.ZodType<string>>(value: S) =>
  z.preprocess(
    (given) => (typeof given === "string" ? [given] : given),
    z.array(value).min(1).max(MAX_VALUES).optional(),
  );

/** An id as text: in a query, and in the header `Last-Event-ID`. */
export const eventIdSchema = z
  .string()
  .regex(/^\d{1,15}$/, "must be the id of an event: digits")
  .transform(Number);

export const eventsQuerySchema = z.strictObject({
  /** The id of the last event that is known; 0: from the oldest that is kept. Without it, from now. */
  since: eventIdSchema.optional(),
  /** Only events of these threads. */
  thread: many(anyThreadNameSchema),
  /** Only events of these types. */
  type: many(z.string().regex(/^[a-z_]{1,64}$/, "must be the type of an event, such as turn_end")),
  /** Only events of agents that have one of these tags. */
  tag: many(z.string().min(1).max(50)),
});

/** What the sidecar says of threads itself. */
export const OWN_EVENT_TYPES = ["thread_created", "thread_status", "thread_removed"] as const;

/** What a caller asks for. */
export interface EventsQuery {
  since?: number;
  thread?: readonly string[];
  type?: readonly string[];
  tag?: readonly string[];
}

/**
 * The `data` of an event. `type` is that of the transcript's event (see `shared/agent/events.ts`), or of what the
 * sidecar says itself:
 * - `thread_created`: `ts`, `kind` (terminal, agent), `dir`, `title`, `createdBy`.
 * - `thread_status`: `ts`, `status` (exited, killed, lost), `exitCode`, `signal`.
 * - `thread_removed`: the thread is not kept any more; its events went with it.
 */
export const hubEventSchema = z.object({
  id: z.int(),
  threadId: z.string(),
  type: z.string(),
  /** The name of the directive that the agent was made by. */
  directive: z.string().optional(),
  /** The thread from which a branch goes on, and the event from which on it does. */
  origin: z.object({ threadId: knownThreadId, seq: z.int() }).optional(),
  /** Null if its transcript was removed or damaged under it. */
  event: z.looseObject({ type: z.string() }).nullable(),
});
export type HubEvent = z.infer<typeof hubEventSchema>;

/**
 * The `data` of the event `reset`: what came between the id that was given and this one is not kept any more. Whoever
 * keeps what threads come to reads them anew; what follows are all events after this id.
 */
export const resetSchema = z.object({ id: z.int(), type: z.literal("reset") });
export type Reset = z.infer<typeof resetSchema>;
