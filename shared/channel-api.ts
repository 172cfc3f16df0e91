/** The part of the API about the channels that the relay serves: each is a project with settings of its own. */
import * as z from "zod";
import { ENGINE_NAMES } from "./agent/engines/engines.ts";
import { limitChangesSchema, limitsSchema } from "./agent/limit-schema.ts";
import { discordIdSchema } from "./ids.ts";

/** One bot serves one server, and each channel costs requests of its own. */
export const MAX_CHANNELS = 50;

/**
 * A channel's mode says what a message in it does: nothing; begin an agent's thread, if it names the bot or always; or go to the one
 * agent that hears the channel.
 */
export const CHANNEL_MODES = ["off", "mention", "threads", "main"] as const;
export type ChannelMode = (typeof CHANNEL_MODES)[number];

/** The name of the agent that hears a channel if nobody names another. */
export const MAIN_AGENT = "main";

/** The name of an agent that hears channels. */
export const mainNameSchema = z
  .string()
  .regex(/^[a-z0-9-]{1,32}$/, "must be 1 to 32 characters of a-z, 0-9 and -");

/** The words for a mode that does not exist. */
export const modeProblem = `must be ${CHANNEL_MODES.join(", ")}`;

const name = (max = 200) =>
  z.string().min(1, "must not be empty").max(max, `must be at most ${max} characters`);
const dir = name(4_096);
const mode = z.enum(CHANNEL_MODES, { error: modeProblem });
const engine = z.enum(ENGINE_NAMES, { error: `must be ${ENGINE_NAMES.join(", ")}` });

/** A channel as the relay's own settings have it. */
const fixedChannelSchema = z.strictObject({
  id: discordIdSchema,
  /** Where its threads run if nobody says where; below `REPOS_DIR`. */
  dir,
  mode,
  /** The engine of its agents; null: as the sidecar's settings have it. */
  engine: name().nullable().default(null),
  model: name().nullable().default(null),
  permissionMode: name(50).nullable().default(null),
  /** By which they are made if nobody names another; then it says their engine, model and permission mode. */
  directive: name().nullable().default(null),
  limits: limitsSchema.strict().default({}),
  /** Its agents work in a git worktree each, if nobody says otherwise. */
  worktree: z.boolean().default(false),
  /** The one agent that hears the channel; null: each message begins its own. */
  agent: name().nullable().default(null),
});
export type FixedChannel = z.output<typeof fixedChannelSchema>;

/** What is known of it at Discord. */
const placeSchema = z.strictObject({
  /** What Discord calls it; null if the relay has not seen it yet. */
  name: name().nullable().default(null),
  /** Why the relay can't serve it now, as a sentence for a person; null if it can. */
  problem: z.string().max(1_000, "must be at most 1000 characters").nullable().default(null),
});
export type ChannelPlace = z.output<typeof placeSchema>;

export const channelSchema = fixedChannelSchema.extend({
  ...placeSchema.shape,
  /** The relay's own settings name it (`DISCORD_CHANNEL_ID`): they alone change it. */
  isFixed: z.boolean(),
});
export type ChannelRow = z.output<typeof channelSchema>;

/** What people set of a channel. */
export type ChannelSettings = Omit<ChannelRow, "id" | "isFixed" | keyof ChannelPlace>;

/** The name of the agent that hears a channel; undefined if none does. */
export function agentOf({ mode, agent }: Pick<ChannelRow, "mode" | "agent">): string | undefined {
  return mode === "main" ? (agent ?? MAIN_AGENT) : undefined;
}

/** All that the relay's settings name; other rows stay. */
export const channelsRequestSchema = z.strictObject({
  channels: z
    .array(fixedChannelSchema)
    .max(MAX_CHANNELS)
    .refine((rows) => new Set(rows.map(({ id }) => id)).size === rows.length, "must name each id once"),
});
export const channelsReplySchema = z.object({
  channels: z.array(channelSchema),
  /** Another text whenever a setting, or somebody's role, is another one. */
  state: z.string(),
});

/** The field that is not named stays as it is; null takes a choice back. */
export const channelRequestSchema = z.strictObject({
  dir: dir.optional(),
  mode: mode.optional(),
  engine: engine.nullable().optional(),
  model: name().nullable().optional(),
  permissionMode: name(50).nullable().optional(),
  directive: name().nullable().optional(),
  limits: limitChangesSchema().optional(),
  worktree: z.boolean("must be true or false").optional(),
  /** The agent that hears the channel in mode `main`: `main`, if nobody says. */
  agent: mainNameSchema.nullable().optional(),
});
export type ChannelRequest = z.output<typeof channelRequestSchema>;

export const channelReplySchema = z.object({ channel: channelSchema });
export const channelPlaceRequestSchema = placeSchema;
