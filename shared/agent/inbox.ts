/**
 * The inbox of an agent thread: messages, answers and controls in one order. The sidecar alone writes it, the runner
 * reads it. Every line becomes an event of the transcript, whose id `i<byte>.<n>` names the line's first byte.
 */
import * as z from "zod";
import { lazy } from "../lazy.ts";
import { type Source, sourceSchema } from "../principal.ts";
import { GATE_OUTCOMES } from "./gates.ts";
import { fromThreadFields, placeFields } from "./message-fields.ts";
import { OPS, type Op, type OpName, opFields } from "./ops.ts";
import { blockSchema, cutSchema } from "./values.ts";

const str = z.string();
const base = {
  /** When the line was written. */
  ts: z.iso.datetime(),
  blobs: z.record(str, cutSchema).optional(),
};

/** Made when the first such line is read. @param fields gives those beside the time and the kind */
function line<T extends string, S extends z.ZodRawShape>(op: T, fields: () => S) {
  return lazy(() => z.object({ ...base, op: z.literal(op), ...fields() }));
}

/** By kind. */
const schemas = {
  message: line("message", () => ({
    messageId: str.min(1),
    source: sourceSchema,
    content: z.array(blockSchema).min(1),
    /** `next_turn` waits for the end of the running turn; else it goes in at the next tool boundary. */
    when: z.enum(["now", "next_turn"]).optional(),
    replyTo: z.number().int().optional(),
    /** No commands and no @paths are read in it: for webhooks and other threads. */
    plain: z.boolean().optional(),
    ...fromThreadFields(),
    ...placeFields(),
  })),
  edit: line("edit", () => ({
    messageId: str.min(1),
    content: z.array(blockSchema).min(1),
    by: sourceSchema,
    plain: z.boolean().optional(),
  })),
  withdraw: line("withdraw", () => ({ messageId: str.min(1), by: sourceSchema })),
  permission: line("permission", () => ({
    requestId: str.min(1),
    optionId: str.min(1),
    by: sourceSchema,
    message: str.optional(),
  })),
  elicitation: line("elicitation", () => ({
    requestId: str.min(1),
    action: z.enum(["accept", "decline"]),
    content: z.record(str, str).optional(),
    by: sourceSchema,
  })),
  /** What a directive has decided at a gate. */
  decide: line("decide", () => ({
    requestId: str.min(1),
    callKey: str.min(1),
    outcome: z.enum(GATE_OUTCOMES),
    text: str.max(8_000).optional(),
    by: sourceSchema,
  })),
  /**
   * An event that the sidecar knows of and the runner writes down: what was said before the thread, children that
   * began or ended, notices.
   */
  event: line("event", () => ({
    event: z.looseObject({
      type: z.enum([
        "initial_message",
        "thread_spawned",
        "thread_ended",
        "message_sent",
        "voice_message",
        "voice_done",
        "file_sent",
        "memory_write",
        "notice",
      ]),
    }),
  })),
} as const;

type Base = z.infer<z.ZodObject<typeof base>>;

/** Somebody's op. */
export type OpLine = Base & { by: Source } & Op;
export type InboxLine =
  | { [K in keyof typeof schemas]: z.infer<ReturnType<(typeof schemas)[K]>> }[keyof typeof schemas]
  | OpLine;

const opSchemas = Object.fromEntries(
  OPS.map((op) => [op, line(op, () => ({ by: sourceSchema, ...opFields[op]() }))]),
) as unknown as Record<OpName, () => z.ZodType<OpLine>>;
const allSchemas = { ...schemas, ...opSchemas };
const kind = z.object({ op: z.enum(Object.keys(allSchemas) as [keyof typeof allSchemas]) });

/** Whether a line is somebody's op; the others bring messages, answers and news. */
export function isOpLine(line: InboxLine): line is OpLine {
  return Object.hasOwn(opFields, line.op);
}

/**
 * One line of an inbox.
 * @throws Error (SyntaxError or ZodError) if it is torn or of a kind that this version does not know.
 */
export function parseInboxLine(text: string): InboxLine {
  const parsed: unknown = JSON.parse(text);
  return allSchemas[kind.parse(parsed).op]().parse(parsed);
}
