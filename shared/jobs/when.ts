/** When a job starts work: what callers send, and what is kept of it. */
import * as z from "zod";
import { lazy } from "../lazy.ts";
import { eventWhenSchema } from "./event.ts";
import { sentWebhookSchema, webhookSchema } from "./webhook.ts";

/** A job is due at most once a minute. */
export const MIN_PERIOD_SECONDS = 60;
const MAX_PERIOD_SECONDS = 366 * 86_400;
const MAX_TEXT = 200;

/** A name of the IANA's database, such as `Europe/Berlin`. */
const zone = z.string().max(64, "must be the name of a time zone, such as Europe/Berlin");
const text = z.string().max(MAX_TEXT, `must be at most ${MAX_TEXT} characters`);

const cron = z.strictObject({ type: z.literal("cron"), cron: text, zone });
const every = z.strictObject({
  type: z.literal("every"),
  /** Counted from the job's making. */
  seconds: z
    .int("must be a whole number of seconds")
    .min(MIN_PERIOD_SECONDS, `must be at least ${MIN_PERIOD_SECONDS}`)
    .max(MAX_PERIOD_SECONDS, `must be at most ${MAX_PERIOD_SECONDS}`),
});
const at = z.strictObject({
  type: z.literal("at"),
  at: z.iso.datetime({ offset: true, error: "must be an instant with its zone, such as 2027-01-05T09:00Z" }),
  /** In which people are shown it. */
  zone,
});

/** What the sidecar keeps: with its zone, and checked. */
export const whenSchema = lazy(() =>
  z.discriminatedUnion("type", [at, every, cron, webhookSchema, eventWhenSchema()]),
);
export type When = z.output<ReturnType<typeof whenSchema>>;
/** When a clock job is due. */
export type ClockWhen = Exclude<When, { type: "webhook" | "event" }>;

/** What a caller sends: without a zone, the sidecar's machine's. */
export const sentWhenSchema = lazy(() =>
  z.discriminatedUnion("type", [
    at.partial({ zone: true }),
    every,
    cron.partial({ zone: true }),
    sentWebhookSchema,
    eventWhenSchema(),
    /** In our short grammar: `every 30m`, `every weekday at 9`, `at 17:00`, `in 20m`, `on turn_end of 12`. */
    z.strictObject({ type: z.literal("words"), words: text, zone: zone.optional() }),
  ]),
);
export type SentWhen = z.input<ReturnType<typeof sentWhenSchema>>;
/** As the schema leaves it. */
export type CheckedWhen = z.output<ReturnType<typeof sentWhenSchema>>;

export function isClock(when: When): when is ClockWhen {
  return when.type !== "webhook" && when.type !== "event";
}
