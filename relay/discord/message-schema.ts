/** A message as REST and gateway give it, as far as the relay reads it. */
import * as z from "zod";
import { knownDiscordId } from "../../shared/ids.ts";

const attachmentsSchema = z
  .array(
    z.object({
      filename: z.string(),
      size: z.int(),
      url: z.string(),
      content_type: z.string().optional(),
      /** The length of a voice note. */
      duration_secs: z.number().optional(),
    }),
  )
  .default([]);
/** What a message holds besides its words and files. It is only named, so a shape that is new is no reason to fail. */
const extrasShape = {
  sticker_items: z.array(z.object({ name: z.string() })).catch([]),
  poll: z
    .object({ question: z.object({ text: z.string().optional() }) })
    .optional()
    .catch(undefined),
  activity: z.unknown().optional(),
  call: z.unknown().optional(),
  gift_info: z.unknown().optional(),
  shared_client_theme: z.unknown().optional(),
  shared_contact: z.unknown().optional(),
  soundboard_sounds: z.unknown().optional(),
};
/** A message as it was when it was forwarded. */
const snapshotSchema = z.object({
  message: z.object({
    content: z.string().default(""),
    attachments: attachmentsSchema,
    embeds: z.array(z.object({ title: z.string().optional(), description: z.string().optional() })).catch([]),
    ...extrasShape,
  }),
});
export const messageSchema = z.object({
  id: knownDiscordId,
  channel_id: knownDiscordId,
  content: z.string(),
  author: z.object({
    id: z.string(),
    bot: z.boolean().optional(),
    username: z.string().optional(),
    /** The name that they have chosen for others to see. */
    global_name: z.string().nullish(),
  }),
  /** The writer's membership in the server; only the gateway's messages have it. */
  member: z
    .object({ roles: z.array(z.string()) })
    .optional()
    .catch(undefined),
  type: z.int(),
  webhook_id: z.string().optional(),
  /** What it answers; of "… started a thread" the thread. */
  message_reference: z
    .object({
      /** 1: it was forwarded from there. */
      type: z.int().optional(),
      message_id: knownDiscordId.optional(),
      channel_id: knownDiscordId.optional(),
    })
    .optional(),
  /** When its writer changed it; null if they never did. */
  edited_timestamp: z.string().nullish(),
  /** Present if the message answers a command or a button. */
  interaction_metadata: z.unknown().optional(),
  components: z.array(z.unknown()).default([]),
  attachments: attachmentsSchema,
  message_snapshots: z.array(snapshotSchema).catch([]),
  ...extrasShape,
});

export type DiscordMessage = z.infer<typeof messageSchema>;
