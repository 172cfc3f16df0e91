/** What two programs' lines must have in common: their order, types, subtypes and field names. */
import type { Line } from "./program.ts";

export interface Shape {
  is: string;
  fields: string[];
}

export interface Conversation {
  /** Everything that is said, asked and done. */
  turns: Shape[];
  /** Pieces of answers; when they come beside the calls that they belong to is up to the program. */
  deltas: Shape[];
  /** What became of each message. */
  lifecycle: string[];
}

/** Fields whose content is the message's, the tool's or the program's own affair: only their presence counts. */
const OPAQUE = new Set([
  "account",
  "answers",
  "capabilities",
  "input",
  "modelUsage",
  "prompt",
  "questions",
  "source",
  "structuredPatch",
  "tool_input",
  "updatedInput",
  "usage",
]);

/** Fields of the real program that nothing of ours reads, so the stand-in leaves them out. */
const UNREAD = new Set([
  "prompt_id",
  "effort",
  "diagnostics",
  "container",
  "stop_details",
  "tools_used",
  "thinking_display",
  "thinking_duration_ms",
  "owed_rows",
  "ttft_ms",
  "ttft_stream_ms",
  "time_to_request_ms",
  "first_content_frame_ms",
  "request_sent_wall_ms",
  "first_request_input_tokens",
  "first_request_cache_read_input_tokens",
  "model_usage_since_last_result",
  "subagent_stats",
  "safety_stops",
  "fast_mode_state",
  "fast_mode_disabled_reason",
  "analytics_disabled",
  "feedback_mode",
  "hook_on_failure_supported",
  "hooks_when_unanswered_kept",
  "ide_rc_auto_enable_gate",
  "other_hook_ask_outranks_host",
  "remote_control_auto_connect_default",
  "remote_control_auto_enable",
  "remote_control_auto_on_by_default",
  "remote_control_available",
  "user_output_styles_dir",
  "additional_directories",
  "memory_paths",
  "messaging_socket_path",
  "original_cwd",
  "per_turn_effort_active",
  "ultrathink_available",
  "ultrathink_typed_raises",
  "view_mode",
  "product_feedback_disabled",
  "served_by_anthropic",
  "terminal_slash_commands",
  "apiUsage",
  "abandoned_blocks",
  "context_management",
  "agents",
  "skills",
  "autocompactSource",
  "categories",
  "gridRows",
  "memoryFiles",
  "mcpTools",
  "mcpInstructions",
  "slashCommands",
  "messageBreakdown",
  "deferredBuiltinTools",
  "systemTools",
  "systemPromptSections",
]);

export function shapesOf(lines: readonly Line[]): Conversation {
  const conversation: Conversation = { turns: [], deltas: [], lifecycle: [] };
  const names = new Map<unknown, string>();
  for (const line of lines) {
    if (line.type === "command_lifecycle") {
      const id = line["command_uuid"];
      if (!names.has(id)) names.set(id, `message ${names.size + 1}`);
      conversation.lifecycle.push(`${names.get(id)} ${line["state"]}`);
      continue;
    }
    const shape = { is: kindOf(line), fields: [...new Set(fieldsOf(line))].sort() };
    const { deltas, turns } = conversation;
    if (!isDelta(line)) turns.push(shape);
    // How many pieces a text is cut into is no difference.
    else if (JSON.stringify(deltas.at(-1)) !== JSON.stringify(shape)) deltas.push(shape);
  }
  return { ...conversation, turns: answersFirst(conversation.turns) };
}

/** The calls of an answer may begin before the answer has ended: here all of an answer stands before them. */
function answersFirst(turns: readonly Shape[]): Shape[] {
  const result: Shape[] = [];
  let end = 0;
  for (const shape of turns) {
    if (shape.is.startsWith("assistant")) result.splice(end++, 0, shape);
    else result.push(shape);
    if (shape.is === "system status requesting" || shape.is.endsWith("echo")) end = result.length;
  }
  return result;
}

const isDelta = ({ type, subtype }: Line) => type === "stream_event" || subtype === "thinking_tokens";

function kindOf(line: Line): string {
  const words: unknown[] = [line.type, line["subtype"], line["state"], line["status"]];
  const parts = line as {
    event?: { type: string; delta?: { type?: string }; content_block?: { type: string } };
    request?: { subtype: string; tool_name?: string; input?: { hook_event_name?: string } };
    response?: { subtype: string; request_id: string; error_code?: string };
    message?: { content: string | { type: string; is_error?: boolean }[] };
  };
  words.push(parts.event?.type, parts.event?.delta?.type, parts.event?.content_block?.type);
  words.push(parts.request?.subtype, parts.request?.tool_name, parts.request?.input?.hook_event_name);
  words.push(
    parts.response?.subtype,
    parts.response?.error_code,
    /^(?!id-)[a-z_]+-\d+$/.exec(parts.response?.request_id ?? "")?.[0],
  );
  const content = parts.message?.content ?? [];
  if (typeof content === "string") words.push("string");
  else words.push(...content.flatMap(({ type, is_error }) => [type, is_error ? "error" : undefined]));
  if (line["isReplay"] === true) words.push("echo");
  return words.filter(Boolean).join(" ");
}

/** `message.content[].type`, … */
function fieldsOf(value: unknown, at = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => fieldsOf(one, `${at}[]`));
  if (value === null || typeof value !== "object") return at === "" ? [] : [at];
  return Object.entries(value).flatMap(([name, one]) => {
    if (UNREAD.has(name)) return [];
    const path = at === "" ? name : `${at}.${name}`;
    return OPAQUE.has(name) ? [path] : [path, ...fieldsOf(one, path)];
  });
}
