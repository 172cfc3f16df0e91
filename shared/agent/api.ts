/**
 * The part of the sidecar's HTTP API that is about agent threads. Times are ISO 8601 in UTC, positions are bytes of
 * `transcript.jsonl`.
 */
import * as z from "zod";
import { knownDiscordId, knownThreadId } from "../ids.ts";
import { sourceSchema } from "../principal.ts";
import { MAX_WAIT_MS } from "../wait.ts";
import { attachmentNamesSchema } from "./attachments.ts";
import { eventSchema } from "./events.ts";
import { AWAITING, liveSchema, THREAD_STATUSES } from "./files.ts";
import { opFields, turnIdSchema } from "./ops.ts";

const str = z.string();

/** The caller's name for an input: the same a second time does nothing. */
export const inputIdSchema = str.regex(/^[!-~]{1,64}$/, "must be 1 to 64 printable ASCII characters");

/** What an agent waits for a person to decide. */
export const askSchema = z.object({
  threadId: knownThreadId,
  requestId: str,
  kind: z.enum(AWAITING),
  askedAt: z.iso.datetime(),
  title: str,
  /** The transcript's event: options of a permission, questions of an elicitation. */
  request: z.discriminatedUnion("type", [
    eventSchema("permission_request"),
    eventSchema("elicitation_request"),
  ]),
  /** The call that is asked about; null if it is not known. */
  call: eventSchema("tool_call").nullable(),
});
export type AskReply = z.infer<typeof askSchema>;
export const asksReplySchema = z.object({ asks: z.array(askSchema) });

/** Something that needs a person: the one who started the thread. */
export const inboxItemSchema = z.object({
  kind: z.enum([...AWAITING, "failure", "end"]),
  threadId: knownThreadId,
  /** Its Discord thread, if it has one. */
  home: knownDiscordId.optional(),
  /** The channel that this is in, if it is known. */
  channelId: knownDiscordId.optional(),
  number: z.int(),
  /** The thread's. */
  title: str,
  createdBy: sourceSchema,
  /** Since when. */
  at: z.iso.datetime(),
  /** What is asked, why it failed, or, if a turn did not end as turns do, how it ended; else empty. */
  text: str,
});
export type InboxItem = z.infer<typeof inboxItemSchema>;
/** Asks first, the oldest of them first; then failures and ends, the newest first. */
export const inboxReplySchema = z.object({ items: z.array(inboxItemSchema) });

/** An answer to an ask: an option of a permission, or words for an elicitation. */
export const answerRequestSchema = z.union([
  z.strictObject({
    optionId: str.min(1).max(100),
    /** With a refusal: why, for the agent. */
    message: str.max(4_000).optional(),
  }),
  z.strictObject({
    action: z.enum(["accept", "decline"]),
    /** By question: the chosen label, several joined by commas, or words of the person's own. */
    content: z.record(str, str.max(4_000)).optional(),
  }),
]);
export type AnswerRequest = z.infer<typeof answerRequestSchema>;
export const answerReplySchema = z.object({ answered: z.literal(true) });

/** What a person does with a thread while it goes on: the ops that have a route, with their fields. */
export const controlRequestSchema = z.discriminatedUnion("control", [
  z.strictObject({ control: z.literal("interrupt"), ...opFields.interrupt() }),
  z.strictObject({ control: z.literal("pause"), ...opFields.pause() }),
  /** With an input, both are stored or neither is. */
  z.strictObject({
    control: z.literal("resume"),
    ...opFields.resume(),
    /** A message from the same person; an `inputId` that has gone in before does nothing, and resumes nothing. */
    input: z
      .strictObject({
        text: str,
        inputId: inputIdSchema.optional(),
        /** The same as `plain` of an input. */
        plain: z.boolean().optional(),
        attachments: attachmentNamesSchema.optional(),
      })
      .optional(),
  }),
  z.strictObject({ control: z.literal("compact"), ...opFields.compact() }),
  z.strictObject({ control: z.literal("mode"), ...opFields.mode() }),
  z.strictObject({ control: z.literal("model"), ...opFields.model() }),
  z.strictObject({ control: z.literal("limit"), ...opFields.limit() }),
  z.strictObject({ control: z.literal("undo"), ...opFields.undo() }),
  z.strictObject({ control: z.literal("rules"), ...opFields.rules() }),
  z.strictObject({ control: z.literal("unmark"), ...opFields.unmark() }),
]);
export type ControlRequest = z.infer<typeof controlRequestSchema>;
/** What a control's route takes: all but its name, which is in the path. */
export type ControlBody = ControlRequest extends infer R
  ? R extends ControlRequest
    ? Omit<R, "control">
    : never
  : never;
export const controlBodySchemas = Object.fromEntries(
  controlRequestSchema.options.map(({ shape: { control, ...shape } }) => [
    control.value,
    z.strictObject(shape as z.ZodRawShape),
  ]),
) as unknown as Readonly<Record<ControlRequest["control"], z.ZodType<ControlBody, ControlBody>>>;
/** What people granted in a thread and have not withdrawn, as the engine writes it: `Bash(npm test *)`. */
export const rulesReplySchema = z.object({ rules: z.array(str) });
/** Other words for a message that was sent; null takes it back. */
export const amendRequestSchema = z.strictObject({
  text: str.nullable(),
  /** The same as `plain` of an input: not all of the new words were typed. */
  plain: z.boolean().optional(),
});
export type AmendRequest = z.infer<typeof amendRequestSchema>;
export const controlReplySchema = z.object({
  accepted: z.literal(true),
  /** How a thread that is over ended, in words. */
  outcome: str.optional(),
});
export type ControlReply = z.infer<typeof controlReplySchema>;

/** A part of a transcript: whole lines. */
export const transcriptReplySchema = z.object({
  /** JSON lines, each ended by a newline. */
  lines: str,
  /** Where `lines` begins, and the next `since`. */
  start: z.int(),
  offset: z.int(),
  /** Whether the transcript goes on already. */
  more: z.boolean(),
  /** How long the transcript is now. */
  end: z.int(),
  status: z.enum(THREAD_STATUSES),
  /** What people call the thread: a person has named it, or its engine. */
  title: str.optional(),
  /** Why the sidecar starts no runner any more, in words for a person; the transcript can't know. Null if it does. */
  problem: str.nullable(),
  /** What happens this moment; null if nothing does. */
  live: liveSchema.nullable(),
});
export type TranscriptReply = z.infer<typeof transcriptReplySchema>;

const wholeNumber = (max: number) =>
  z
    .string()
    .regex(/^[0-9]{1,15}$/, "must be a whole number")
    .transform(Number)
    .pipe(z.int().max(max));
const whole = (max: number, otherwise: number) => wholeNumber(max).default(otherwise);
export const transcriptQuerySchema = z.strictObject({
  /** A line begins here; if none does, what is left of that line is the first of `lines`. */
  since: whole(Number.MAX_SAFE_INTEGER, 0),
  limit: whole(1024 * 1024, 64 * 1024),
  /** How long to wait if there is nothing new. */
  waitMs: whole(MAX_WAIT_MS, 0),
  /** The status that the caller knows: while waiting, another one is news too. */
  status: z.enum(THREAD_STATUSES).optional(),
  /** `live.updatedAt` as the caller knows it: what happens at another moment is news too. Without it `live` is none. */
  live: z.iso.datetime().or(z.literal("none")).optional(),
});
export type TranscriptQuery = Partial<z.output<typeof transcriptQuerySchema>>;
/** A part of a long text that a line of the transcript or inbox was cut of. Positions are bytes. */
export const blobQuerySchema = z.strictObject({
  since: whole(Number.MAX_SAFE_INTEGER, 0),
  limit: whole(1024 * 1024, 64 * 1024),
});
export const blobReplySchema = z.object({
  /** Whole characters from `since`; bytes that are no UTF-8 read as U+FFFD. */
  text: str,
  /** The next `since`. */
  offset: z.int(),
  /** How long the kept text is. At most 1 MiB of a tool's output is kept, head and tail. */
  end: z.int(),
});
export type BlobReply = z.infer<typeof blobReplySchema>;
export const blobNameSchema = str.regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in lower-case hex");
export const diffQuerySchema = z.strictObject({
  /** The turn, or the undo; without it the newest turn that changed files. */
  turnId: turnIdSchema.optional(),
  /** Bytes of the patch; a longer one is cut. */
  limit: whole(4 * 1024 * 1024, 1024 * 1024),
});
export type DiffQuery = Partial<z.infer<typeof diffQuerySchema>>;
/** What a turn changed in the work tree, but for what others may have changed. */
export const diffReplySchema = z.object({
  turnId: str,
  fileCount: z.int(),
  added: z.int(),
  removed: z.int(),
  /** The first 1,000. */
  files: z.array(z.object({ path: str, change: z.enum(["added", "deleted", "changed"]) })),
  /** As git writes it. */
  patch: str,
  isCut: z.boolean(),
});
export type DiffReply = z.infer<typeof diffReplySchema>;
export const inboxQuerySchema = z.strictObject({
  /** Turns that ended in the last so many hours: whoever has not looked by then looks for them. */
  hours: whole(9_999, 24),
});
export type InboxQuery = z.infer<typeof inboxQuerySchema>;
export const stepsQuerySchema = z.strictObject({
  /** Steps that began after this event. */
  afterSeq: whole(Number.MAX_SAFE_INTEGER, 0),
  /** Only the last `limit` that began before this event; the reply's order stays the same. */
  beforeSeq: wholeNumber(Number.MAX_SAFE_INTEGER).optional(),
  limit: whole(1_000, 100),
});

/** One step of an agent: a turn, a call of the model or of a tool, a wait for a person. */
export const stepSchema = z.object({
  kind: str,
  stepId: str,
  seq: z.int(),
  status: str,
  title: str.nullable(),
  startedAt: str.nullable(),
  endedAt: str.nullable(),
  durationMs: z.number().nullable(),
  reason: str.nullable(),
  model: str.nullable(),
  tokens: z.int().nullable(),
});
export type Step = z.infer<typeof stepSchema>;
export const stepsReplySchema = z.object({ steps: z.array(stepSchema) });
