/** The small JSON files of a thread's folder: `state.json` and `live.json`. */
import * as z from "zod";
import { usageSchema } from "./values.ts";

const str = z.string();
const count = z.number().int().nonnegative();

/**
 * The runner's notes, replaced by rename. A hint: each of them can be made again from the transcript and the
 * engine's file, and is, if it does not fit them.
 */
export const stateSchema = z.object({
  v: z.literal(1),
  /** The newest process of the engine, noted before it is started. */
  launch: z
    .object({
      generation: count,
      /** The thread's, for the names of its turns; left out by older versions. */
      number: count.optional(),
      sessionId: str,
      resumed: z.boolean(),
      reseeded: z.boolean(),
      takesUp: z.boolean(),
      /** Deliveries that are in the conversation, and not completed. */
      taken: z.array(str),
      /** What the engine says that the conversation had cost before: what it tells later goes on from there. */
      costUsd: z.number().nonnegative().optional(),
      startedAt: z.iso.datetime(),
      /** The transcript's last event then: it knows the rules that were granted and withdrawn before. */
      seq: count.optional(),
      /** Nobody trusts what the directory brings: its gates do not count. */
      isUntrusted: z.literal(true).optional(),
      /** The conversation before it was left: the thread was handed over, or that one had become too long. */
      anew: z.enum(["handed_over", "outgrown"]).optional(),
      /** How long the transcript was when the conversation began. */
      beganBytes: count.optional(),
    })
    .optional(),
  transcript: z.object({ bytes: count, seq: count }),
  inbox: z.object({ bytes: count }),
  engine: z.object({ generation: count, bytes: count }),
  /** How much of `transcript.md` is made. */
  markdown: z.object({ bytes: count }),
  grantedRules: z.array(str),
  totals: z.object({ turns: count, usage: usageSchema, spendUsd: z.number().nonnegative() }),
  /** What the transcript comes to at those bytes, so that a start need not read it whole. */
  fold: z.unknown().optional(),
});
export type RunnerState = z.infer<typeof stateSchema>;

/** What happens this moment; may be missing at any time and is never the only copy of anything. */
export const liveSchema = z.object({
  v: z.literal(1),
  /** The last event that this goes beyond. */
  seq: count,
  turnId: str.optional(),
  /** The end of the text that is being written, at most 4 KiB. */
  text: z.object({ messageId: str, text: str, thought: z.boolean() }).optional(),
  /** The newest step that runs. */
  step: z.object({ stepId: str, title: str, since: z.iso.datetime() }).optional(),
  /** The engine tries again: its own words. */
  retry: z.object({ attempt: count, error: str }).optional(),
  updatedAt: z.iso.datetime(),
});
export type Live = z.infer<typeof liveSchema>;

export const THREAD_STATUSES = [
  "running",
  "waiting",
  "queued",
  "idle",
  "completed",
  "paused",
  "failed",
  "killed",
  "locked",
] as const;
export type ThreadStatus = (typeof THREAD_STATUSES)[number];

/** Its turn is over, and it waits for nothing but a message, if it takes one. */
export function isAtRest(status: string): boolean {
  return status === "idle" || status === "completed";
}

export const AWAITING = ["permission", "question", "plan"] as const;
export type Awaiting = (typeof AWAITING)[number];
