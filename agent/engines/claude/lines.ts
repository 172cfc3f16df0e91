/**
 * The lines that claude prints, as far as we read them: everything else in them is skipped, and so are kinds that we
 * don't know. A line is refused only if it is no JSON object with a `type`.
 */
import { z } from "zod";

const str = z.string();
const count = z.number();

const usage = z.looseObject({
  input_tokens: count.nullish(),
  output_tokens: count.nullish(),
  cache_read_input_tokens: count.nullish(),
  cache_creation_input_tokens: count.nullish(),
  output_tokens_details: z.looseObject({ thinking_tokens: count.nullish() }).nullish(),
});
export type ClaudeUsage = z.infer<typeof usage>;

const contentBlock = z.looseObject({
  type: str,
  text: str.optional(),
  thinking: str.optional(),
  id: str.optional(),
  name: str.optional(),
  input: z.unknown().optional(),
  tool_use_id: str.optional(),
  content: z.unknown().optional(),
  is_error: z.boolean().nullish(),
});
export type ClaudeBlock = z.infer<typeof contentBlock>;

const message = z.looseObject({
  id: str.optional(),
  model: str.optional(),
  content: z.union([str, z.array(contentBlock)]),
});

const place = { uuid: str.optional(), parent_tool_use_id: str.nullish() };

const system = z.looseObject({
  type: z.literal("system"),
  subtype: str,
  status: str.nullish(),
  model: str.optional(),
  permissionMode: str.optional(),
  claude_code_version: str.optional(),
  capabilities: z.array(str).optional(),
  compact_result: str.optional(),
  compact_metadata: z
    .looseObject({ trigger: str.optional(), pre_tokens: count.optional(), post_tokens: count.optional() })
    .optional(),
  tasks: z.array(z.looseObject({ task_id: str, description: str.optional() })).optional(),
  attempt: count.optional(),
  error: z.unknown().optional(),
  error_status: count.nullish(),
});

const resultLine = z.looseObject({
  type: z.literal("result"),
  subtype: str,
  is_error: z.boolean().optional(),
  result: str.nullish(),
  errors: z.array(str).optional(),
  stop_reason: str.nullish(),
  terminal_reason: str.nullish(),
  duration_ms: count.optional(),
  total_cost_usd: count.optional(),
  usage: usage.optional(),
  modelUsage: z.record(str, z.looseObject({ contextWindow: count.optional() })).optional(),
  structured_output: z.unknown().optional(),
});
export type ClaudeResult = z.infer<typeof resultLine>;

const controlRequest = z.looseObject({
  type: z.literal("control_request"),
  request_id: str,
  request: z.looseObject({
    subtype: str,
    callback_id: str.optional(),
    tool_name: str.optional(),
    input: z.unknown().optional(),
    description: str.optional(),
    permission_suggestions: z.array(z.looseObject({ type: str })).nullish(),
    tool_use_id: str.optional(),
    agent_id: str.optional(),
    decision_reason: str.optional(),
    blocked_path: str.optional(),
  }),
});
export type ClaudeRequest = z.infer<typeof controlRequest>;

const controlResponse = z.looseObject({
  type: z.literal("control_response"),
  response: z.looseObject({
    subtype: str,
    request_id: str,
    error: str.optional(),
    response: z.looseObject({}).nullish(),
  }),
});
export type ClaudeReply = z.infer<typeof controlResponse>;

const line = z.discriminatedUnion("type", [
  system,
  z.looseObject({ type: z.literal("assistant"), ...place, message }),
  z.looseObject({
    type: z.literal("user"),
    ...place,
    message,
    isReplay: z.boolean().optional(),
    tool_use_result: z.unknown().optional(),
    tool_result_meta: z.array(z.looseObject({ id: str, non_execution_kind: str.optional() })).optional(),
  }),
  z.looseObject({
    type: z.literal("stream_event"),
    ttft_ms: count.optional(),
    parent_tool_use_id: str.nullish(),
    event: z.looseObject({
      type: str,
      message: z
        .looseObject({ id: str.optional(), model: str.optional(), usage: usage.optional() })
        .optional(),
      delta: z
        .looseObject({ type: str.optional(), text: str.optional(), thinking: str.optional() })
        .optional(),
      usage: usage.optional(),
    }),
  }),
  resultLine,
  controlRequest,
  controlResponse,
  z.looseObject({ type: z.literal("control_cancel_request"), request_id: str }),
  z.looseObject({ type: z.literal("command_lifecycle"), command_uuid: str, state: str }),
]);
export type ClaudeLine = z.infer<typeof line>;

const KNOWN: ReadonlySet<string> = new Set(line.options.map((option) => option.shape.type.value));
const anyLine = z.looseObject({ type: str });

/**
 * @returns undefined if it is of a kind that we don't read.
 * @throws Error if it is no line of claude's at all, or one of a known kind that has changed its shape.
 */
export function parseClaudeLine(text: string): ClaudeLine | undefined {
  const value: unknown = JSON.parse(text);
  const { type } = anyLine.parse(value);
  return KNOWN.has(type) ? line.parse(value) : undefined;
}
