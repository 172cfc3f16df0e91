/**
 * The transcript of an agent thread, version 1: one event a line, in ACP's words. The runner alone writes it.
 *
 * `seq` is the line's number, without holes. `id` says where the event came from: `e<generation>-<byte>.<n>` the
 * engine's file, `i<byte>.<n>` the inbox, `r<seq>.<n>` the runner itself, `s0.0` the first line. A runner that is
 * started again translates its last source line once more and skips the ids that it finds: each event is there once.
 *
 * Readers skip types and fields that they don't know: {@link parseEvent} does both.
 */
import * as z from "zod";
import { knownThreadId } from "../ids.ts";
import { lazy } from "../lazy.ts";
import { type Source, sourceSchema } from "../principal.ts";
import {
  askAsideFields,
  elicitationRequestFields,
  elicitationResponseFields,
  permissionRequestFields,
  permissionResponseFields,
} from "./ask-fields.ts";
import { useSchema } from "./budget.ts";
import { turnChangesFields, undoFields } from "./change-fields.ts";
import { gateRequestFields, gateResponseFields } from "./gate-fields.ts";
import { initialMessageFields } from "./initial-messages.ts";
import { limitsSchema, usageLimitSchema } from "./limit-schema.ts";
import { memoryToldFields, memoryWriteFields } from "./memory-fields.ts";
import {
  fromThreadFields,
  messageSentFields,
  placeFields,
  voiceDoneFields,
  voiceMessageFields,
} from "./message-fields.ts";
import { OPS, type Op, opFields } from "./ops.ts";
import { blockSchema, costSchema, cutSchema, TOOL_KINDS, toolContentSchema, usageSchema } from "./values.ts";

export const TRANSCRIPT_VERSION = 1;

const str = z.string();
const int = z.number().int();

const base = {
  seq: int.positive(),
  id: str.regex(/^(e\d+-\d+|[irs]\d+)\.\d+$/),
  ts: z.iso.datetime(),
  /** What an engine to come wants to keep of its own; opaque to everyone else. */
  meta: z.record(str, z.unknown()).optional(),
  /** What of this event is cut, by JSON pointer. */
  blobs: z.record(str, cutSchema).optional(),
};

/** Made when the first such event is read. @param fields gives those beside the place and the type */
function event<T extends string, S extends z.ZodRawShape>(type: T, fields: () => S) {
  return lazy(() => z.object({ ...base, type: z.literal(type), ...fields() }));
}

export const STOP_REASONS = [
  "end_turn",
  "max_tokens",
  "max_turn_requests",
  "refusal",
  "cancelled",
  "error",
  "interrupted",
] as const;

export const OUTPUTS = ["valid", "invalid_output"] as const;

/** Why a thread does not go on by itself. `resume` or a new message clears it. */
export const FAILURE_CODES = [
  "cut_off",
  "engine_missing",
  "engine_too_old",
  "engine_refused",
  "engine_output",
  "forged_answer",
  "disk_full",
  "session_gone",
  "no_worktree",
  "no_directory",
] as const;

/** `lock`: it waits for a file; `place`: until it may have a turn at all. */
export const STEP_KINDS = ["chat", "lock", "place", "compact", "setup"] as const;

type Placed = z.infer<z.ZodObject<typeof base>>;

const controlSchema = lazy(() => {
  const ops = OPS.map((op) =>
    z.object({ ...base, type: z.literal("control"), op: z.literal(op), by: sourceSchema, ...opFields[op]() }),
  );
  const schema: z.ZodType = z.discriminatedUnion("op", ops as [(typeof ops)[number]]);
  return schema as z.ZodType<Placed & { type: "control"; by: Source } & Op>;
});

/** By type. */
const schemas = {
  thread_start: event("thread_start", () => ({
    v: z.literal(TRANSCRIPT_VERSION),
    threadId: knownThreadId,
    createdBy: sourceSchema,
    config: z.record(str, z.unknown()),
    origin: z.object({ threadId: str, seq: int, messageId: str.optional() }).optional(),
  })),
  engine_start: event("engine_start", () => ({
    generation: int.positive(),
    engine: str,
    version: str,
    sessionId: str,
    model: str,
    modeId: str,
    resumed: z.boolean(),
    /** It has no conversation of its own to go on with: it is told what the transcript holds. */
    reseeded: z.boolean().optional(),
    capabilities: z.array(str).optional(),
  })),
  engine_end: event("engine_end", () => ({
    generation: int,
    reason: z.enum(["idle", "crashed", "killed", "paused", "parked", "error"]),
    exitCode: int.nullable().optional(),
    signal: str.nullable().optional(),
    error: str.optional(),
  })),
  /** A message of a conversation that was held elsewhere before the thread began. These come before all other messages. */
  initial_message: event("initial_message", initialMessageFields),
  user_message: event("user_message", () => ({
    messageId: str,
    source: sourceSchema,
    content: z.array(blockSchema).min(1),
    replyTo: int.optional(),
    /** `next_turn`: it waits until the running turn has ended. */
    when: z.enum(["now", "next_turn"]).optional(),
    /** The text expands nothing: no commands, no @paths. */
    plain: z.boolean().optional(),
    ...fromThreadFields(),
    ...placeFields(),
  })),
  /** The agent wrote to another thread. */
  message_sent: event("message_sent", messageSentFields),
  voice_message: event("voice_message", voiceMessageFields),
  voice_done: event("voice_done", voiceDoneFields),
  /** A turn ended and said nothing to these people: the agent is told which, once. */
  voice_held: event("voice_held", () => ({ messageIds: z.array(str).min(1) })),
  /** It said nothing then either: each of them is told that it was read. */
  voice_unanswered: event("voice_unanswered", () => ({ messageIds: z.array(str).min(1) })),
  /** A stored message was changed. `applied` is false if a delivery already held it: the agent has the old words. */
  message_edit: event("message_edit", () => ({
    messageId: str,
    content: z.array(blockSchema).min(1),
    by: sourceSchema,
    applied: z.boolean(),
    /** As of a message: not all of the new words were typed. */
    plain: z.boolean().optional(),
  })),
  message_withdraw: event("message_withdraw", () => ({
    messageId: str,
    by: sourceSchema,
    applied: z.boolean(),
  })),
  delivery: event("delivery", () => ({ deliveryId: str, messageIds: z.array(str).min(1) })),
  /** `queued`: a restart found that the engine had not kept it, so it is sent again under the same id. */
  delivery_update: event("delivery_update", () => ({
    deliveryId: str,
    status: z.enum(["queued", "started", "completed", "cancelled"]),
  })),
  turn_start: event("turn_start", () => ({
    turnId: str,
    cause: z.enum(["message", "task", "resume"]),
    deliveryIds: z.array(str),
  })),
  turn_end: event("turn_end", () => ({
    turnId: str,
    stopReason: z.enum(STOP_REASONS),
    error: str.optional(),
    durationMs: int.optional(),
    usage: usageSchema.optional(),
    cost: costSchema.optional(),
    result: z.unknown().optional(),
    /** Whether `result` is there and fits the thread's `outputSchema`. If not, `error` says why. */
    output: z.enum(OUTPUTS).optional(),
    /** For `interrupted`: the last sign of life before the turn was cut off. It is taken up again only soon after. */
    cutOffAt: z.iso.datetime().optional(),
    /** For `interrupted`: the provider takes no more calls for now. A person is asked when it is to go on. */
    usageLimit: usageLimitSchema.optional(),
  })),
  /**
   * What a turn changed in the work tree, written before its end; none if it changed nothing. States of the files
   * before and after it are kept in the repository, for *Diff* and *Undo*.
   */
  turn_changes: event("turn_changes", turnChangesFields),
  /** What came of undoing a turn's changes, or an earlier undo. Its own id can be undone. */
  undo: event("undo", undoFields),
  step_start: event("step_start", () => ({
    stepId: str,
    kind: z.enum(STEP_KINDS),
    title: str,
  })),
  /** What an open step is called now. */
  step_update: event("step_update", () => ({ stepId: str, title: str })),
  step_end: event("step_end", () => ({
    stepId: str,
    status: z.enum(["completed", "failed", "cancelled"]),
    durationMs: int,
    ttftMs: int.optional(),
    usage: usageSchema.optional(),
    model: str.optional(),
  })),
  agent_message: event("agent_message", () => ({
    messageId: str,
    at: str,
    text: str,
    parentToolCallId: str.optional(),
  })),
  agent_thought: event("agent_thought", () => ({
    messageId: str,
    at: str,
    text: str,
    parentToolCallId: str.optional(),
  })),
  tool_call: event("tool_call", () => ({
    toolCallId: str,
    at: str,
    name: str,
    title: str,
    kind: z.enum(TOOL_KINDS),
    rawInput: z.unknown(),
    locations: z.array(z.object({ path: str, line: int.optional() })).optional(),
    parentToolCallId: str.optional(),
  })),
  tool_call_update: event("tool_call_update", () => ({
    toolCallId: str,
    at: str.optional(),
    status: z.enum(["in_progress", "completed", "failed"]),
    durationMs: int.optional(),
    content: z.array(toolContentSchema).optional(),
    reason: z.enum(["denied", "interrupted", "locked"]).optional(),
    files: z
      .array(z.object({ path: str, before: str.nullable().optional(), after: str.nullable().optional() }))
      .optional(),
  })),
  permission_request: event("permission_request", permissionRequestFields),
  permission_response: event("permission_response", permissionResponseFields),
  ask_aside: event("ask_aside", askAsideFields),
  elicitation_request: event("elicitation_request", elicitationRequestFields),
  elicitation_response: event("elicitation_response", elicitationResponseFields),
  /** Somebody is to decide whether the agent goes on; a person is asked by a `permission_request` of the same id. */
  gate_request: event("gate_request", gateRequestFields),
  /** A gate's decision by a command or a directive; a person's is a `permission_response`. */
  gate_response: event("gate_response", gateResponseFields),
  plan: event("plan", () => ({
    entries: z.array(
      z.object({
        content: str,
        priority: z.enum(["high", "medium", "low"]),
        status: z.enum(["pending", "in_progress", "completed"]),
      }),
    ),
  })),
  compaction_update: event("compaction_update", () => ({
    status: z.enum(["in_progress", "completed", "failed"]),
    trigger: z.enum(["manual", "auto"]).optional(),
    tokensBefore: int.optional(),
    tokensAfter: int.optional(),
    error: str.optional(),
    summary: str.optional(),
    keptFrom: str.optional(),
  })),
  usage_update: event("usage_update", () => ({ used: int, size: int, cost: costSchema.optional() })),
  /** What the turn that runs has cost by now; its end tells the sum. */
  spend_update: event("spend_update", () => ({ cost: costSchema })),
  /** The engine has a name for the conversation. */
  session_info_update: event("session_info_update", () => ({ title: str })),
  current_mode_update: event("current_mode_update", () => ({ modeId: str, by: sourceSchema.optional() })),
  config_update: event("config_update", () => ({ model: str.optional(), by: sourceSchema.optional() })),
  /** The engine is kept alive for these; the list replaces the one before. `isTold`: the end is an input. */
  background_update: event("background_update", () => ({
    tasks: z.array(z.object({ taskId: str, title: str, isTold: z.literal(true).optional() })),
  })),
  /** What a person wants, as it was read from the inbox; what became of it comes in events of its own. */
  control: controlSchema,
  thread_spawned: event("thread_spawned", () => ({
    threadId: knownThreadId,
    mode: z.enum(["await", "async"]),
    title: str,
    toolCallId: str.optional(),
    /** Set aside for it, of the thread's own. */
    limits: limitsSchema.optional(),
  })),
  thread_ended: event("thread_ended", () => ({
    threadId: knownThreadId,
    stopReason: str,
    result: str.optional(),
    /** Counts for this thread; the rest of what was set aside is given back. */
    used: useSchema.optional(),
  })),
  /** The agent sent a file: its copy is an attachment of that name. */
  file_sent: event("file_sent", () => ({
    fileId: str,
    name: str,
    bytes: int.nonnegative(),
    /** The type of a picture. */
    imageType: str.optional(),
    caption: str.optional(),
  })),
  /** The agent wrote to its memory, or a person is asked whether it may. */
  memory_write: event("memory_write", memoryWriteFields),
  /** The agent was told the beginning of its memory. */
  memory_told: event("memory_told", memoryToldFields),
  failure: event("failure", () => ({ code: z.enum(FAILURE_CODES), message: str })),
  notice: event("notice", () => ({
    severity: z.enum(["info", "warning", "error"]),
    title: str,
    description: str.optional(),
  })),
};

export type EventType = keyof typeof schemas;
export const EVENT_TYPES = Object.keys(schemas) as readonly EventType[];
export type EventOf<T extends EventType> = z.infer<ReturnType<(typeof schemas)[T]>>;
export type ThreadEvent = { [T in EventType]: EventOf<T> }[EventType];

/** An event before the transcript's writer gives it its place: without `seq`, `id` and `ts`. */
export type EventBody<T extends EventType = EventType> = T extends EventType ? Unplaced<EventOf<T>> : never;
type Unplaced<E> = E extends unknown ? Omit<E, "seq" | "id" | "ts" | "blobs"> : never;

/** The schema of the events of one type. */
export function eventSchema<T extends EventType>(type: T): ReturnType<(typeof schemas)[T]> {
  return schemas[type]() as ReturnType<(typeof schemas)[T]>;
}

const placeSchema = lazy(() => z.looseObject({ ...base, type: str }));

/**
 * One line of a transcript.
 * @returns the event; undefined if its type is of a later version.
 * @throws Error naming the field that is wrong, if the line is no event at all.
 */
export function parseEvent(line: string): ThreadEvent | undefined {
  return toEvent(JSON.parse(line));
}

/** As {@link parseEvent}, of a line that is read as JSON. */
export function toEvent(value: unknown): ThreadEvent | undefined {
  const type = typeof value === "object" && value !== null && "type" in value ? value.type : undefined;
  if (typeof type === "string" && Object.hasOwn(schemas, type)) {
    return schemas[type as EventType]().parse(value);
  }
  placeSchema().parse(value);
  return undefined;
}
