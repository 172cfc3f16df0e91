/** A job that an event starts: one of those that `GET /events` tells. */
import * as z from "zod";
import { EVENT_TYPES } from "../agent/events.ts";
import { hookConditionSchema } from "../hooks/settings.ts";
import { OWN_EVENT_TYPES } from "../hub-events.ts";
import { anyThreadNameSchema } from "../ids.ts";
import { lazy } from "../lazy.ts";

/** A job may have so many jobs before it that led to it, itself counted. */
export const MAX_CAUSES = 3;

const known: ReadonlySet<string> = new Set([...EVENT_TYPES, ...OWN_EVENT_TYPES]);
const type = z
  .string()
  .refine((name) => known.has(name), "must be the type of an event, such as turn_end or thread_status");

export const eventWhenSchema = lazy(() =>
  z.strictObject({
    type: z.literal("event"),
    events: z.array(type).min(1, "must name an event").max(20, "must be at most 20"),
    /** Only events of this thread. */
    threadId: anyThreadNameSchema.optional(),
    /** Only events of agents that have this tag. */
    tag: z.string().min(1, "must not be empty").max(50, "must be at most 50 characters").optional(),
    /** It counts if all of them hold for the event's own fields. */
    filter: z.array(hookConditionSchema).max(20, "must be at most 20").optional(),
    /** Those that come within so many seconds of the first one are one run. */
    everySeconds: z
      .int("must be a whole number of seconds")
      .min(1, "must be at least 1")
      .max(86_400, "must be at most 86400")
      .default(5),
  }),
);
export type EventWhen = z.output<ReturnType<typeof eventWhenSchema>>;
