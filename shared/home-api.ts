/** The part of the API about a thread's Discord thread. */
import * as z from "zod";
import { knownDiscordId, snowflakeSchema } from "./ids.ts";

/** How many threads may want a Discord thread at once. */
export const MAX_HOMELESS = 500;

/** The row of a thread that has a Discord thread, or is to have one. Both ids lead to it. */
export const homeSchema = z.object({
  /** The Discord thread; null until there is one. */
  channelId: knownDiscordId.nullable(),
  /** A Discord thread was about to be made for it, newer than this id: after a crash it may be there. */
  after: knownDiscordId.nullable(),
  /** The channel that it is in, or is to be made in; null if nobody has said. */
  parentId: knownDiscordId.nullable(),
});
export type Home = z.infer<typeof homeSchema>;

/** The Discord thread in which a new thread begins, or `discord` if the relay is to make one. */
export const newHomeSchema = z.union([
  z.literal("discord"),
  z.strictObject({ channelId: snowflakeSchema, parentId: snowflakeSchema.optional() }),
]);
export type NewHome = z.infer<typeof newHomeSchema>;

/** What the relay is about to do, then what it did. */
export const homeRequestSchema = z.union([
  z.strictObject({ after: snowflakeSchema, parentId: snowflakeSchema.optional() }),
  z.strictObject({ channelId: snowflakeSchema, parentId: snowflakeSchema.optional() }),
]);
export type HomeRequest = z.infer<typeof homeRequestSchema>;
