/** The part of the API about threads that follow logs. */
import * as z from "zod";
import { createRequestSchema, titleRequestSchema } from "./api.ts";
import { MAX_SERVICE_CHARACTERS, viewFields, viewSchema } from "./follow/spec.ts";

/** A person reads no more of a source's past. */
const MAX_LINES = 1_000;
const DEFAULT_LINES = 50;

/** A person's name for a source of logs. Nothing of it is ever read as an option or by a shell. */
const serviceSchema = z
  .string()
  .min(1, "must not be empty")
  .max(MAX_SERVICE_CHARACTERS, `must be at most ${MAX_SERVICE_CHARACTERS} characters`)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are refused
  .regex(/^[^\u0000-\u001f\u007f]*$/, "must not hold control characters")
  .refine((service) => !service.startsWith("-"), "must not begin with -")
  .refine((service) => service.trim() !== "", "must not be empty");

const { threadId, dir, cols, rows, home, dryRun } = createRequestSchema.shape;

export const followRequestSchema = z.strictObject({
  threadId,
  dir,
  /**
   * A file or a glob of files (`*`, `?`, `**`), from `dir` on; a container of docker; a unit of systemd; `journal`.
   * `file:`, `docker:` and `unit:` before it say which. Without them the first that is there is taken, in that order.
   */
  service: serviceSchema,
  /** How many of its last lines the thread begins with. */
  lines: z.int().min(0).max(MAX_LINES).default(DEFAULT_LINES),
  grep: viewFields.grep.optional(),
  title: titleRequestSchema.shape.title.optional(),
  cols,
  rows,
  home,
  dryRun,
});
export type FollowRequest = z.input<typeof followRequestSchema>;
export type ParsedFollowRequest = z.output<typeof followRequestSchema>;

export const followReplySchema = z.object({
  created: z.boolean(),
  tmuxSession: z.string(),
  /** The service with its prefix: `file:app.log`. */
  service: z.string(),
});

/** A field that is left out stays as it is. */
export const viewRequestSchema = z.strictObject({
  paused: viewFields.paused.optional(),
  grep: viewFields.grep.optional(),
});
export type ViewRequest = z.infer<typeof viewRequestSchema>;
export const viewReplySchema = viewSchema;

export const servicesQuerySchema = z.strictObject({
  dir: z.string().max(4_096).default("."),
  prefix: z.string().max(MAX_SERVICE_CHARACTERS).default(""),
});
export const servicesReplySchema = z.object({
  /** As {@link followRequestSchema} takes them; at most 25. */
  services: z.array(z.string()),
});
