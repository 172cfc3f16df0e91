/** What events and inbox lines say of messages that agents write to each other. */
import * as z from "zod";
import { knownThreadId } from "../ids.ts";

/** Why a message waits for a person: too many before it without one, or its writer may do less than its reader. */
export const HOLD_REASONS = ["hops", "rights"] as const;
export type HoldReason = (typeof HOLD_REASONS)[number];

/** Messages between agents, one upon the other, before a person is asked whether they may go on. */
export const MAX_HOPS = 8;

/** Of a message that a person does not write. */
export const fromThreadFields = () => ({
  /** So many messages of agents, one upon the other, since a person wrote; this one is counted. */
  hops: z.number().int().positive().optional(),
  /** What people call the thread that wrote it. */
  fromNumber: z.number().int().positive().optional(),
  /** The agent does not get it before a person lets it in. */
  held: z.enum(HOLD_REASONS).optional(),
});

/** Of the event in the transcript of the thread that wrote it. */
export const messageSentFields = () => ({
  messageId: z.string(),
  /** The thread that it was written to. */
  threadId: knownThreadId,
  number: z.number().int().positive().optional(),
  text: z.string(),
  held: z.enum(HOLD_REASONS).optional(),
});
