/**
 * The ids of the two worlds. A thread's own id and the id of its Discord thread are different types: only the sidecar's
 * `Homes` and the relay's `sidecar/names.ts` turn one into the other, by the row in which the pair stands.
 */
import * as z from "zod";

/** A caller's name for a thread: its own id, or its Discord thread's. */
export const threadNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -")
  // Names are keys of JSON objects, here and at the callers.
  .refine((id) => !(id in {}), "must not be a name that every object has");

/** A caller's name for a thread that is there: also its name, its number (`12`, `#12`) or its title. */
export const anyThreadNameSchema = z
  .string()
  .min(1, "must not be empty")
  .max(1_000, "must be at most 1,000 characters")
  .refine((name) => !(name in {}), "must not be a name that every object has");

/** A thread's own id, as the sidecar keeps it. */
export const threadIdSchema = threadNameSchema.brand<"ThreadId">();
export type ThreadId = z.infer<typeof threadIdSchema>;

/** @param missing said if there is none @param wrong said of what is no id of Discord's */
export function discordIdOr(missing: string, wrong: string) {
  return z
    .string(missing)
    .regex(/^\d{17,20}$/, wrong)
    .brand<"DiscordId">();
}

/** A user, channel, thread or message of Discord's. */
export const discordIdSchema = discordIdOr("must be text", "must be an id of Discord's: 17 to 20 digits");
export type DiscordId = z.infer<typeof discordIdSchema>;

/** The same, also one that is long ago or a test's. */
export const snowflakeSchema = z
  .string()
  .regex(/^[0-9]{1,20}$/, "must be an id of Discord's: digits")
  .brand<"DiscordId">();

/** Either id of a thread: its own, or its Discord thread's. */
export type ThreadName = ThreadId | DiscordId;

/** An id in a row or a reply, which was checked when that was written. */
export const knownThreadId = z.string().brand<"ThreadId">();
export const knownDiscordId = z.string().brand<"DiscordId">();

/** The keys of an object that are ids. */
export function idsOf<Id extends string>(values: Readonly<Record<Id, unknown>>): Id[] {
  return Object.keys(values) as Id[];
}

/** The entries of an object whose keys are ids. */
export function entriesById<Id extends string, T>(values: Readonly<Record<Id, T>>): [Id, T][] {
  return Object.entries(values) as [Id, T][];
}
