/** The part of the API about jobs. */
import * as z from "zod";
import { lazy } from "../lazy.ts";
import { jobRunSchema, jobSchema } from "./job.ts";
import { sentWhenSchema, whenSchema } from "./when.ts";

export const jobsReplySchema = lazy(() => z.object({ jobs: z.array(jobSchema()) }));

export const jobRunsQuerySchema = z.strictObject({
  limit: z.preprocess(
    (text) => (typeof text === "string" && /^\d+$/.test(text) ? Number(text) : text),
    z.int("must be a whole number from 1 to 500").min(1).max(500).default(50),
  ),
});
export const jobRunsReplySchema = z.object({ runs: z.array(jobRunSchema) });

export const jobRunReplySchema = z.object({ run: z.string() });

export const jobPreviewRequestSchema = lazy(() => z.strictObject({ when: sentWhenSchema() }));
export const jobPreviewReplySchema = lazy(() =>
  z.object({
    /** As it would be kept. */
    when: whenSchema(),
    next: z.array(z.iso.datetime()),
    /** The same for people, in the job's zone and with how far away each is. */
    words: z.string(),
  }),
);
export type JobPreview = z.output<ReturnType<typeof jobPreviewReplySchema>>;

export const hookTestRequestSchema = z.strictObject({
  /** The body that is sent; if it is left out, a small example. */
  body: z
    .string()
    .max(1024 * 1024, "must be at most 1 MiB")
    .optional(),
});
export const hookTestReplySchema = z.object({
  /** The status with which the hook's door answers: 202 if it takes the request. */
  status: z.int(),
  answer: z.string(),
});
export type HookTestReply = z.output<typeof hookTestReplySchema>;
