/** The part of the API about a thread's Discord thread, if Discord did not begin the thread. */
import * as z from "zod";
import { snowflakeSchema } from "./ledger-api.ts";

/** So many threads may want a Discord thread at once. */
export const MAX_HOMELESS = 500;

/** Of a thread that is to have a Discord thread of its own. From then on both ids lead to it. */
export const homeSchema = z.object({
  /** The Discord thread; null until there is one. */
  channelId: z.string().nullable(),
  /** A Discord thread was about to be made for it, newer than this id: after a crash it may be there. */
  after: z.string().nullable(),
});
export type Home = z.infer<typeof homeSchema>;

/** What the relay is about to do, then what it did. */
export const homeRequestSchema = z.union([
  z.strictObject({ after: snowflakeSchema }),
  z.strictObject({ channelId: snowflakeSchema }),
]);
export type HomeRequest = z.infer<typeof homeRequestSchema>;
