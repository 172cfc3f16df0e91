/** The lines between the runner and our program around an ACP agent (main.ts): a small protocol of our own. */
import * as z from "zod";
import { optionSchema, TOOL_KINDS, toolContentSchema, usageSchema } from "../../../shared/agent/values.ts";

const str = z.string();
const count = z.number().int().nonnegative();

export const partSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: str }),
  z.object({ type: z.literal("image"), mimeType: str, base64: str }),
]);

/** Our program reads in this file of the thread's folder which agent it starts, and how. */
export const specSchema = z.object({
  program: str,
  args: z.array(str),
  dir: str,
  /** The agent's own id of the conversation to go on with; left out: a new one. */
  sessionId: str.optional(),
  /** The mode to work in, and whether a person chose it: then the thread does not begin in another. */
  mode: z.object({ id: str, isChosen: z.boolean() }).optional(),
  /** The file with the thread's own tools. */
  mcpConfigFile: str.optional(),
  /** Tools that need no ask. */
  allowedTools: z.array(str),
  /** Why it is not to be started at all. */
  refusal: str.optional(),
  /** Deliveries that an earlier process was about to tell the agent. */
  taken: z.array(str),
  /** The agent may say nothing for so many seconds; left out: as long as usual. */
  silentSeconds: count.positive().optional(),
  /** A turn was cut off: what the agent is told, so that it goes on. */
  goOn: str.optional(),
});
export type Spec = z.infer<typeof specSchema>;

/** From the runner. */
export const toAdapter = z.discriminatedUnion("op", [
  z.object({ op: z.literal("open") }),
  z.object({ op: z.literal("deliver"), id: str, parts: z.array(partSchema) }),
  /** `optionId` is ours; null: nobody answers. */
  z.object({ op: z.literal("answer"), requestId: str, optionId: str.nullable() }),
  z.object({ op: z.literal("mode"), seq: count, modeId: str }),
  z.object({ op: z.literal("interrupt"), seq: count }),
  z.object({ op: z.literal("end") }),
]);
export type ToAdapter = z.infer<typeof toAdapter>;

const call = {
  id: str,
  name: str,
  title: str,
  kind: z.enum(TOOL_KINDS),
  input: z.unknown(),
  locations: z.array(z.object({ path: str, line: z.number().int().optional() })).optional(),
};

const STOP_REASONS = [
  "end_turn",
  "max_tokens",
  "max_turn_requests",
  "refusal",
  "cancelled",
  "error",
] as const;

/** To the runner. */
export const fromAdapter = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("ready"),
    name: str,
    version: str,
    /** The agent's own. */
    sessionId: str,
    isResumed: z.boolean(),
    /** The agent can go on with the conversation in another process. */
    canResume: z.boolean(),
    modeId: str,
    capabilities: z.array(str),
    /** Deliveries that were taken and that the conversation does not hold. */
    lost: z.array(str),
  }),
  /** The conversation is gone: the next process begins another one. */
  z.object({ type: z.literal("gone"), message: str }),
  /** The agent can't be used. */
  z.object({ type: z.literal("failed"), code: z.enum(["engine_refused", "engine_output"]), message: str }),
  /** A turn begins: with these deliveries, or a cut-off one goes on with them. */
  z.object({ type: z.literal("turn"), cause: z.enum(["message", "resume"]), ids: z.array(str) }),
  /** On the disk before the agent is told: it is told a second time only if its conversation does not hold it. */
  z.object({ type: z.literal("taken"), id: str }),
  z.object({ type: z.literal("text"), isThought: z.boolean(), text: str }),
  /** The end of a text that is not whole yet. */
  z.object({ type: z.literal("live"), isThought: z.boolean(), text: str }),
  z.object({ type: z.literal("call"), ...call }),
  z.object({
    type: z.literal("call_update"),
    id: str,
    status: z.enum(["in_progress", "completed", "failed"]),
    content: z.array(toolContentSchema).optional(),
  }),
  z.object({
    type: z.literal("ask"),
    requestId: str,
    callId: str,
    name: str,
    title: str,
    kind: z.enum(TOOL_KINDS),
    input: z.unknown(),
    path: str.optional(),
    options: z.array(optionSchema).min(1),
  }),
  z.object({ type: z.literal("answered"), requestId: str, optionId: str.nullable() }),
  z.object({ type: z.literal("withdrawn"), requestId: str }),
  z.object({
    type: z.literal("plan"),
    entries: z.array(
      z.object({
        content: str,
        priority: z.enum(["high", "medium", "low"]),
        status: z.enum(["pending", "in_progress", "completed"]),
      }),
    ),
  }),
  z.object({ type: z.literal("usage"), used: count, size: count, costUsd: z.number().optional() }),
  /** `seq` of the order that it follows; left out: the agent has changed it by itself. */
  z.object({ type: z.literal("mode"), modeId: str, seq: count.optional() }),
  /** The agent's title for the conversation. */
  z.object({ type: z.literal("title"), title: str }),
  z.object({ type: z.literal("compaction"), status: z.enum(["in_progress", "completed", "failed"]) }),
  z.object({
    type: z.literal("notice"),
    severity: z.enum(["info", "warning"]),
    title: str,
    description: str.optional(),
  }),
  /** The turn's end, and that of the deliveries that it took. */
  z.object({
    type: z.literal("end"),
    ids: z.array(str),
    stopReason: z.enum(STOP_REASONS),
    error: str.optional(),
    durationMs: count,
    usage: usageSchema.optional(),
  }),
]);
export type FromAdapter = z.infer<typeof fromAdapter>;
export type Said<T extends FromAdapter["type"]> = Extract<FromAdapter, { type: T }>;
