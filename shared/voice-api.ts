/** The part of the API about what agents that speak with a tool want said in channels, and about who hears a channel. */
import * as z from "zod";
import { attachmentNamesSchema } from "./agent/attachments.ts";
import { threadStatusSchema } from "./api.ts";
import { type DiscordId, knownDiscordId, knownThreadId, snowflakeSchema } from "./ids.ts";

/** `queued`: nobody has sent it. `sending`: it may be there. `refused`: Discord does not take it, and its agent is told. */
export const SPOKEN_STATES = ["queued", "sending", "sent", "refused"] as const;

export const spokenSchema = z.object({
  /** `17`; its agent knows it as `m17`. */
  id: z.int().positive(),
  threadId: knownThreadId,
  /** Where it was written to, such as `discord:#ops/alice`; null of a line of ours below a message that nobody answered. */
  address: z.string().nullable(),
  channelId: knownDiscordId,
  /** The message that it answers. */
  replyTo: knownDiscordId.nullable(),
  text: z.string(),
  /** The names of its files among the thread's attachments; each is a message of its own after the text. */
  files: attachmentNamesSchema,
  isSilent: z.boolean(),
  state: z.enum(SPOKEN_STATES),
});
export type Spoken = z.infer<typeof spokenSchema>;

/** The most messages of one list. */
export const MAX_LISTED_SPOKEN = 100;

/**
 * The oldest first, at most {@link MAX_LISTED_SPOKEN}. `working`: the channels in which an agent is at work on a person's
 * message. `state` is another text whenever a message is queued, and when such work begins or ends.
 */
export const spokenReplySchema = z.object({
  messages: z.array(spokenSchema),
  working: z.array(knownDiscordId),
  state: z.string(),
});

/** The end of a message: sent, or refused. It never changes. */
export const spokenNoteSchema = z.union([
  z.strictObject({ state: z.literal("sending") }),
  z.strictObject({ state: z.literal("sent"), messageId: snowflakeSchema }),
  z.strictObject({ state: z.literal("refused"), reason: z.string().min(1).max(500) }),
]);
export type SpokenNote = z.output<typeof spokenNoteSchema>;

/** The thread of the agent that hears a channel. */
export const mainReplySchema = z.object({ threadId: knownThreadId, name: z.string() });

/** Where the agent that hears a channel is to go on: below `REPOS_DIR`. */
export const handOverRequestSchema = z.strictObject({ dir: z.string().min(1).max(4_096) });

/** The directories are below `REPOS_DIR`. */
export const handOverReplySchema = z.object({
  threadId: knownThreadId,
  name: z.string(),
  from: z.string(),
  dir: z.string(),
});
export type HandOverReply = z.infer<typeof handOverReplySchema>;

/** The most messages without an answer that a status lists. */
export const MAX_UNANSWERED = 50;

/** The agent that hears a channel, as it is now. */
export const mainStatusSchema = z.object({
  name: z.string(),
  /** Null if it is not made yet: the first message to a channel of its makes it. */
  threadId: knownThreadId.nullable(),
  /** `#12`; null if it is not made yet. */
  number: z.int().nullable(),
  /** The channels that it hears. Whoever writes in one of them can learn what was said in the others. */
  channels: z.array(z.object({ id: knownDiscordId, name: z.string().nullable() })),
  /** As that of a thread: `running` is in a turn, `waiting` waits for a person's answer. Null if it is not made yet. */
  status: threadStatusSchema.nullable(),
  /** What it does this moment; null if it does nothing. */
  doing: z.string().nullable(),
  /** Why it can't go on, a sentence for a person; null if it can. */
  problem: z.string().nullable(),
  /** How many questions wait for a person; one that does not hold it up counts too. */
  openAsks: z.int(),
  /** Where it works, or will be made: below `REPOS_DIR`. */
  dir: z.string(),
  /** Dollars that its turns have cost since midnight by the machine's clock, the one that runs too; not its children's. */
  costTodayUsd: z.number(),
  /** As `costTodayUsd`, of the threads that it began and of those below them, as far as they are kept. */
  childrenTodayUsd: z.number(),
  /** How many inputs, of whomever, it has not read yet. */
  waiting: z.int(),
  /** How many messages of people, in all channels that it hears, have no answer yet. */
  unansweredCount: z.int(),
  /**
   * Those of them in channels where the asker may read, the oldest first, at most {@link MAX_UNANSWERED}. `isRead`: the
   * agent has read it.
   */
  unanswered: z.array(
    z.object({
      inputId: z.string(),
      channelId: knownDiscordId,
      /** The writer's handle, such as `discord:#ops/alice`. */
      handle: z.string(),
      at: z.iso.datetime(),
      isRead: z.boolean(),
    }),
  ),
});
export type MainStatus = z.infer<typeof mainStatusSchema>;

/** Stands below a person's message that an agent has read, and to which it says nothing. */
export const UNANSWERED = "-# read, not answered";

/** Finds the Discord message that an input came from: the input's id begins with the message's. */
export function findDiscordMessage(inputId: string | undefined): DiscordId | null {
  const id = /^(\d{1,20})(\.|$)/.exec(inputId ?? "")?.[1];
  return id === undefined ? null : snowflakeSchema.parse(id);
}
