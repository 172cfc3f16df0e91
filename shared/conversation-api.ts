/** The part of the API about conversations that a person began by hand with the agent's program on this machine. */
import * as z from "zod";
import { agentConfigSchema } from "./agent/config.ts";
import { createRequestSchema } from "./api.ts";

const { threadId, dir, dirId, command, title, home } = createRequestSchema.shape;
const { model, permissionMode, tags } = agentConfigSchema.shape;

/** How many are listed at most; the newest come first. */
export const MAX_CONVERSATIONS = 20;

export const conversationsQuerySchema = z.strictObject({
  /** As in a request for a thread. */
  dir,
  dirId,
});

/** A conversation as its file tells it. Anybody's program may have written the file: it is shown, never trusted. */
export const conversationSchema = z.object({
  /** The id that `claude --resume` takes. */
  sessionId: z.uuid(),
  /** The name that the person, or else claude, gave it, and that a thread which takes it gets. Null if there is none. */
  title: z.string().nullable(),
  /** The person's first words: one line without control characters, at most 200 characters. */
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
  /** The id of the thread that is to be made. */
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
