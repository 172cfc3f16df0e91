/** What events and inbox lines say of messages that agents write to each other. */
import * as z from "zod";
import { knownDiscordId, knownThreadId } from "../ids.ts";

/** Why a message waits for a person: too many before it without one, or its writer may do less than its reader. */
export const HOLD_REASONS = ["hops", "rights"] as const;
export type HoldReason = (typeof HOLD_REASONS)[number];

/** Messages between agents, one upon the other, before a person is asked whether they may go on. */
export const MAX_HOPS = 8;

/** Fields of a message that a person does not write. */
export const fromThreadFields = () => ({
  /** How many messages of agents, one upon the other, came since a person wrote; this one is counted. */
  hops: z.number().int().positive().optional(),
  /** The jobs that led to it, the oldest first. */
  causes: z.array(z.string().max(64)).max(50).optional(),
  /** What people call the thread that wrote it. */
  fromNumber: z.number().int().positive().optional(),
  /** The agent does not get it before a person lets it in. */
  held: z.enum(HOLD_REASONS).optional(),
});

/** Fields of the event in the transcript of the thread that wrote it. */
export const messageSentFields = () => ({
  messageId: z.string(),
  /** The thread that it was written to. */
  threadId: knownThreadId,
  number: z.number().int().positive().optional(),
  text: z.string(),
  held: z.enum(HOLD_REASONS).optional(),
});

/** The fields by which an input names its writer's address, in a thread that speaks with a tool. */
export const placeFields = () => ({
  /** Such as `discord:#ops/alice`: what stands before the text, and where an answer can go. */
  handle: z.string().min(1).max(200).optional(),
  /** The channel in Discord that it was written in. */
  channelId: knownDiscordId.optional(),
});

/** The fields of the event by which an agent that speaks with a tool has said something in a channel. */
export const voiceMessageFields = () => ({
  /** `m17`. */
  messageId: z.string(),
  /** The call that said it. */
  callId: z.string(),
  address: z.string(),
  channelId: knownDiscordId,
  /** The person whom it answers. */
  personId: z.string().optional(),
  text: z.string(),
  /** The names of its files among the attachments. */
  files: z.array(z.string()).optional(),
});

/** It has nothing to say to those whose messages it has read. */
export const voiceDoneFields = () => ({
  callId: z.string(),
  why: z.string().optional(),
});
