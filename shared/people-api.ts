/** The part of the API about people in Discord, their roles, and the channels that the relay serves. */
import * as z from "zod";
import { limitsSchema } from "./agent/limit-schema.ts";
import { discordIdSchema } from "./ids.ts";

/** One bot serves one server; more people or channels than it will ever have. */
const MAX_PEOPLE = 1_000;
const MAX_CHANNELS = 100;

/** `maker`: may make threads and do all that can be done with any of them. */
export const ROLES = ["maker"] as const;

export const MAX_HANDLE = 64;

const personSchema = z.strictObject({
  id: discordIdSchema,
  role: z.enum(ROLES, { error: `must be ${ROLES.join(", ")}` }),
  /** What others call the person; null if nobody has said. */
  handle: z
    .string()
    .min(1, "must not be empty")
    .max(MAX_HANDLE, `must be at most ${MAX_HANDLE} characters`)
    .nullable(),
});
export type PersonRow = z.output<typeof personSchema>;
/** Without a handle, the one that is known stays. */
const toldPersonSchema = personSchema.partial({ handle: true });
export type ToldPerson = z.output<typeof toldPersonSchema>;

/** What a message in the channel does: nothing, or begin an agent's thread, if it names the bot or always. */
export const CHANNEL_MODES = ["off", "mention", "threads"] as const;
export type ChannelMode = (typeof CHANNEL_MODES)[number];

const name = () => z.string().min(1, "must not be empty").max(200, "must be at most 200 characters");

const channelSchema = z.strictObject({
  id: discordIdSchema,
  /** Where the agents work that its messages begin; below `REPOS_DIR`. */
  dir: z.string().min(1, "must not be empty").max(4_096, "must be at most 4,096 characters"),
  mode: z.enum(CHANNEL_MODES, { error: `must be ${CHANNEL_MODES.join(", ")}` }),
  /** Of those agents; null: as the sidecar's settings have it. */
  engine: name().nullable().default(null),
  model: name().nullable().default(null),
  limits: limitsSchema.strict().default({}),
  /** The one agent that hears the channel; null: each message begins its own. */
  agent: name().nullable().default(null),
});
export type ChannelRow = z.output<typeof channelSchema>;

const onceEach = <T extends { id: string }>(rows: readonly T[]) =>
  new Set(rows.map(({ id }) => id)).size === rows.length;
const TWICE = "must name each id once";

/** All of them: who is not among them has no role any more. */
export const peopleRequestSchema = z.strictObject({
  people: z.array(toldPersonSchema).max(MAX_PEOPLE).refine(onceEach, TWICE),
});
export const peopleReplySchema = z.object({ people: z.array(personSchema) });

/** All of them: one that is not among them is not served any more. */
export const channelsRequestSchema = z.strictObject({
  channels: z.array(channelSchema).max(MAX_CHANNELS).refine(onceEach, TWICE),
});
export const channelsReplySchema = z.object({ channels: z.array(channelSchema) });
