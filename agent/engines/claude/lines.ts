/**
 * The lines that claude prints, as far as we read them: everything else in them is skipped, and so are kinds that we
 * don't know. A line is refused only if it is no JSON object with a `type`.
 */
import * as z from "zod";
import { lazy } from "../../../shared/lazy.ts";

const str = z.string();
const count = z.number();

const usage = lazy(() =>
  z.looseObject({
    input_tokens: count.nullish(),
    output_tokens: count.nullish(),
    cache_read_input_tokens: count.nullish(),
    cache_creation_input_tokens: count.nullish(),
    output_tokens_details: z.looseObject({ thinking_tokens: count.nullish() }).nullish(),
  }),
);
export type ClaudeUsage = z.infer<ReturnType<typeof usage>>;

const contentBlock = lazy(() =>
  z.looseObject({
    type: str,
    text: str.optional(),
    thinking: str.optional(),
    id: str.optional(),
    name: str.optional(),
    input: z.unknown().optional(),
    tool_use_id: str.optional(),
    content: z.unknown().optional(),
    is_error: z.boolean().nullish(),
  }),
);
export type ClaudeBlock = z.infer<ReturnType<typeof contentBlock>>;

const message = lazy(() =>
  z.looseObject({
    id: str.optional(),
    model: str.optional(),
    content: z.union([str, z.array(contentBlock())]),
  }),
);

const place = { uuid: str.optional(), parent_tool_use_id: str.nullish() };

const system = lazy(() =>
  z.looseObject({
    type: z.literal("system"),
    subtype: str,
    status: str.nullish(),
    state: str.optional(),
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
  }),
);

const resultLine = lazy(() =>
  z.looseObject({
    type: z.literal("result"),
    subtype: str,
    is_error: z.boolean().optional(),
    result: str.nullish(),
    errors: z.array(str).optional(),
    stop_reason: str.nullish(),
    terminal_reason: str.nullish(),
    duration_ms: count.optional(),
    total_cost_usd: count.optional(),
    usage: usage().optional(),
    modelUsage: z.record(str, z.looseObject({ contextWindow: count.optional() })).optional(),
    structured_output: z.unknown().optional(),
    api_error: str.nullish(),
  }),
);
export type ClaudeResult = z.infer<ReturnType<typeof resultLine>>;

const controlRequest = lazy(() =>
  z.looseObject({
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
  }),
);
export type ClaudeRequest = z.infer<ReturnType<typeof controlRequest>>;

const controlResponse = lazy(() =>
  z.looseObject({
    type: z.literal("control_response"),
    response: z.looseObject({
      subtype: str,
      request_id: str,
      error: str.optional(),
      response: z.looseObject({}).nullish(),
    }),
  }),
);
export type ClaudeReply = z.infer<ReturnType<typeof controlResponse>>;

/** A limit of the provider's; a value of another shape is no news to us. */
const rateLimit = lazy(() =>
  z.looseObject({ status: str, resetsAt: count.optional() }).optional().catch(undefined),
);

/** By type; each is made when the first such line is read. */
const lines = {
  system,
  assistant: lazy(() => z.looseObject({ type: z.literal("assistant"), ...place, message: message() })),
  rate_limit_event: lazy(() =>
    z.looseObject({ type: z.literal("rate_limit_event"), rate_limit_info: rateLimit() }),
  ),
  user: lazy(() =>
    z.looseObject({
      type: z.literal("user"),
      ...place,
      message: message(),
      isReplay: z.boolean().optional(),
      tool_use_result: z.unknown().optional(),
      tool_result_meta: z.array(z.looseObject({ id: str, non_execution_kind: str.optional() })).optional(),
    }),
  ),
  stream_event: lazy(() =>
    z.looseObject({
      type: z.literal("stream_event"),
      ttft_ms: count.optional(),
      parent_tool_use_id: str.nullish(),
      event: z.looseObject({
        type: str,
        message: z
          .looseObject({ id: str.optional(), model: str.optional(), usage: usage().optional() })
          .optional(),
        delta: z
          .looseObject({ type: str.optional(), text: str.optional(), thinking: str.optional() })
          .optional(),
        usage: usage().optional(),
      }),
    }),
  ),
  result: resultLine,
  control_request: controlRequest,
  control_response: controlResponse,
  control_cancel_request: lazy(() =>
    z.looseObject({ type: z.literal("control_cancel_request"), request_id: str }),
  ),
  command_lifecycle: lazy(() =>
    z.looseObject({ type: z.literal("command_lifecycle"), command_uuid: str, state: str }),
  ),
};
type LineType = keyof typeof lines;
export type ClaudeLine = { [T in LineType]: z.infer<ReturnType<(typeof lines)[T]>> }[LineType];

const anyLine = lazy(() => z.looseObject({ type: str }));

/**
 * @returns undefined if it is of a kind that we don't read.
 * @throws Error if it is no line of claude's at all, or one of a known kind that has changed its shape.
 */
export function parseClaudeLine(text: string): ClaudeLine | undefined {
  const value: unknown = JSON.parse(text);
  const { type } = anyLine().parse(value);
  return Object.hasOwn(lines, type) ? lines[type as LineType]().parse(value) : undefined;
}
