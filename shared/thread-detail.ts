/** The part of the API about one thread: what it is made of, and where it comes from. */
import * as z from "zod";
import { agentConfigSchema } from "./agent/config.ts";
import { limitsSchema } from "./agent/limit-schema.ts";
import { threadSchema } from "./api.ts";
import { knownDiscordId, knownThreadId } from "./ids.ts";

/** `locked`: it was branched and takes no more messages. `dead`: it was killed, or lost. */
export const LIFECYCLES = ["active", "locked", "dead"] as const;

/** As it was made; where a person has changed the mode, the model or the limits since, its transcript says so. */
const configurationSchema = agentConfigSchema
  .omit({ parentThreadId: true, originThreadId: true, tags: true })
  .extend({
    engine: z.string(),
    /** The program that is started. */
    program: z.string(),
    /** Its own arguments; what looks like a secret is `…`. */
    args: z.array(z.string()),
    limits: limitsSchema,
  });

export const threadDetailSchema = threadSchema.extend({
  /** Null for terminals, and if the thread's folder is gone. */
  agent: configurationSchema.nullable(),
  tags: z.array(z.string()),
  lifecycle: z.enum(LIFECYCLES),
  /** The first of those that it comes from, by spawning and branching; itself if it comes from none. */
  root: knownThreadId,
  branchedFrom: knownThreadId.nullable(),
  spawnedBy: knownThreadId.nullable(),
  /** The channels that an agent that speaks with a tool hears, or in which it heard somebody before. */
  heardIn: z.array(knownDiscordId).optional(),
});
export type ThreadDetail = z.infer<typeof threadDetailSchema>;
