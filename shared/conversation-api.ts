/** The part of the API about conversations that a person began by hand with the agent's program on this machine. */
import * as z from "zod";
import { agentConfigSchema } from "./agent/config.ts";
import { createRequestSchema } from "./api.ts";

const { threadId, dir, dirId, command, title, home } = createRequestSchema.shape;
const { model, permissionMode, tags } = agentConfigSchema.shape;

/** So many are listed, the newest first. */
export const MAX_CONVERSATIONS = 20;

export const conversationsQuerySchema = z.strictObject({
  /** As in a request for a thread. */
  dir,
  dirId,
});

/** Of what is in a file that anybody's program may have written: shown in words, never trusted. */
export const conversationSchema = z.object({
  /** What `claude --resume` takes. */
  sessionId: z.uuid(),
  /** What the person called it, or else claude itself; a thread that takes it is called so. Null if nobody did. */
  title: z.string().nullable(),
  /** What the person said first: one line without control characters, at most 200 characters. */
  firstWords: z.string(),
  startedAt: z.iso.datetime().nullable(),
  /** When its file was last written. */
  updatedAt: z.iso.datetime(),
  /** How many messages the person has written; null if the file is too long to be counted for a list. */
  messages: z.int().nullable(),
  bytes: z.int(),
  /** The process that has it open, as far as that is known. */
  openPid: z.int().nullable(),
});
export type Conversation = z.infer<typeof conversationSchema>;

export const conversationsReplySchema = z.object({
  /** Absolute: the directory, every link resolved. */
  path: z.string(),
  /** Where they are kept. */
  folder: z.string(),
  conversations: z.array(conversationSchema),
});
export type ConversationsReply = z.infer<typeof conversationsReplySchema>;

export const takeRequestSchema = z.strictObject({
  /** Of the thread that is to be made. */
  threadId,
  /** The directory in which the conversation was begun. */
  dir,
  dirId,
  sessionId: z.uuid(),
  /** Also if it is open, or was written a moment ago: what is said there from now on is not known here. */
  force: z.boolean().default(false),
  /** The thread's first message; without it, the thread waits for one. */
  text: command.optional(),
  title,
  home,
  agent: z.strictObject({ model, permissionMode, tags: tags.unwrap().optional() }).default({}),
});
export type TakeRequest = z.output<typeof takeRequestSchema>;

export const takeReplySchema = z.object({ created: z.literal(true), conversation: conversationSchema });
export type TakeReply = z.infer<typeof takeReplySchema>;
