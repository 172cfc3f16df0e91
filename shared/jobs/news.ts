/** News of jobs: what people are told in a channel because no run's thread tells it. */
import * as z from "zod";
import { knownDiscordId } from "../ids.ts";

/**
 * `output`: what a command printed. `failed`: a run that has no thread to say so. `paused`: by the sidecar itself.
 * `missed`: a due instant that is too late. `cap`: the day's money is spent. `report`: what a run said of its work.
 * `chain`: the jobs that led to an event are not started by it. `asks`: whether the job is still wanted. `more`: it stands for pieces that are too many to be
 * told one by one.
 */
export const JOB_NEWS_KINDS = [
  "output",
  "failed",
  "paused",
  "missed",
  "cap",
  "report",
  "chain",
  "asks",
  "more",
] as const;
export type JobNewsKind = (typeof JOB_NEWS_KINDS)[number];

export const newsIdSchema = z.string().regex(/^\d{1,15}$/, "must be a number");

export const jobNewsSchema = z.object({
  newsId: z.int(),
  /** Empty of `more`, which is of several jobs. */
  job: z.string(),
  kind: z.enum(JOB_NEWS_KINDS),
  /** A sentence for a person; empty if the output says all. */
  text: z.string(),
  /** The end of a program's output; null if there is none. */
  output: z.string().nullable(),
  /** The channel in which the job wants it told; null: in the first one. */
  channelId: knownDiscordId.nullable(),
  at: z.iso.datetime(),
  /** The number of pieces of news that it stands for: 1, but for `more`. */
  count: z.int(),
});
export type JobNews = z.output<typeof jobNewsSchema>;

export const jobNewsQuerySchema = z.strictObject({
  /** `1`: those alone that no relay has told, the oldest first; else the newest first. */
  untold: z.literal("1", "must be 1, or left out").optional(),
  limit: z.preprocess(
    (text) => (typeof text === "string" && /^\d+$/.test(text) ? Number(text) : text),
    z.int("must be a whole number from 1 to 100").min(1).max(100).default(50),
  ),
});
/** Those of one channel that are to be told as one. */
export const jobNewsSumSchema = z.strictObject({
  newsIds: z
    .array(z.int("must be a whole number").min(1, "must be at least 1"))
    .min(1, "must name a piece of news")
    .max(500, "must be at most 500"),
});
export const jobNewsReplySchema = z.object({ news: z.array(jobNewsSchema) });
