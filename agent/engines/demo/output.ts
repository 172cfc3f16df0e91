/** What the stand-in prints: one JSON line each, with the field names of the engine that it stands in for. */
import { randomUUID } from "node:crypto";
import { writeSync } from "node:fs";
import type { Block } from "./session-file.ts";

export const VERSION = "2.1.330";
export const CAPABILITIES = [
  "interrupt_receipt_v1",
  "interrupt_cancel_queued_v1",
  "msg_lifecycle_v1",
  "ask_user_question_unanswered_v1",
];
const TOOLS = ["AskUserQuestion", "Bash", "Edit", "EnterPlanMode", "ExitPlanMode", "Read", "Write"];

export interface Usage {
  input_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
  output_tokens: number;
}

export interface InitFields {
  cwd: string;
  model: string;
  permissionMode: string;
}

export class Output {
  readonly #sessionId: string;

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  /** Whole lines, one system call each: a kill leaves a torn line only if the disk does. */
  line(fields: Record<string, unknown>): void {
    let bytes = Buffer.from(`${JSON.stringify(fields)}\n`);
    while (bytes.length > 0) bytes = bytes.subarray(writeSync(1, bytes));
  }

  /** A line with the session's id and an id of its own, which it returns. */
  event(fields: Record<string, unknown>): string {
    const uuid = (fields["uuid"] as string | undefined) ?? randomUUID();
    this.line({ ...fields, uuid, session_id: this.#sessionId });
    return uuid;
  }

  system(subtype: string, fields: Record<string, unknown> = {}): void {
    this.event({ type: "system", subtype, ...fields });
  }

  lifecycle(command_uuid: string, state: "queued" | "started" | "completed" | "cancelled"): void {
    this.event({ type: "command_lifecycle", command_uuid, state });
  }

  reply(request_id: string, response?: unknown, fields: Record<string, unknown> = {}): void {
    const body = response === undefined ? fields : { response, ...fields };
    this.line({ type: "control_response", response: { subtype: "success", request_id, ...body } });
  }

  refuse(request_id: string, error: string, error_code: string): void {
    this.line({ type: "control_response", response: { subtype: "error", request_id, error, error_code } });
  }

  init({ cwd, model, permissionMode }: InitFields, uuids: readonly string[] = []): void {
    this.system("init", {
      cwd,
      tools: TOOLS,
      mcp_servers: [],
      model,
      permissionMode,
      slash_commands: ["compact"],
      apiKeySource: "none",
      claude_code_version: VERSION,
      output_style: "default",
      plugins: [],
      capabilities: CAPABILITIES,
      ...(uuids.length > 0 ? { user_message_uuids: uuids } : {}),
    });
  }

  /** The echo of a message that was taken, or a line of the user's side that the program wrote itself. */
  user(content: string | Block[], uuid: string, fields: Record<string, unknown> = {}): void {
    this.event({
      type: "user",
      message: { role: "user", content },
      parent_tool_use_id: null,
      uuid,
      timestamp: new Date().toISOString(),
      ...fields,
    });
  }

  stream(event: Record<string, unknown>, messageId: string, fields: Record<string, unknown> = {}): void {
    this.event({
      type: "stream_event",
      event,
      parent_tool_use_id: null,
      ...fields,
      api_message_id: messageId,
    });
  }

  assistant(message: Record<string, unknown>, fields: Record<string, unknown> = {}): string {
    return this.event({
      type: "assistant",
      message,
      parent_tool_use_id: null,
      timestamp: new Date().toISOString(),
      ...fields,
    });
  }
}

/** Dollars for a token: enough to see a sum grow. */
const PRICE = { input: 4e-6, output: 2e-5 };

export function costOf(usage: Usage): number {
  return usage.input_tokens * PRICE.input + usage.output_tokens * PRICE.output;
}

/** A result line's fields. @param total what the conversation has cost by now, earlier processes included */
export function describeResult(fields: Record<string, unknown>, model: string, total: number) {
  const usage = fields["usage"] as Usage;
  const costUSD = costOf(usage);
  const modelUsage = {
    [model]: {
      inputTokens: usage.input_tokens,
      outputTokens: usage.output_tokens,
      cacheReadInputTokens: 0,
      cacheCreationInputTokens: 0,
      webSearchRequests: 0,
      costUSD,
      contextWindow: 200_000,
      maxOutputTokens: 32_000,
    },
  };
  return { ...fields, total_cost_usd: total, modelUsage };
}

/** The reply to `get_context_usage`. */
export function describeUsage(conversation: unknown, model: string): Record<string, unknown> {
  const maxTokens = 200_000;
  const totalTokens = Math.ceil(JSON.stringify(conversation).length / 4);
  return {
    totalTokens,
    maxTokens,
    rawMaxTokens: maxTokens,
    percentage: Math.round((100 * totalTokens) / maxTokens),
    model,
    autoCompactThreshold: maxTokens * 0.9,
    isAutoCompactEnabled: false,
  };
}

/** The reply to `initialize`. */
export function describeEngine(
  { mode, model }: { mode: string; model: string },
  hasHooks: boolean,
  isBusy: boolean,
): Record<string, unknown> {
  return {
    commands: [
      { name: "compact", description: "Replaces the conversation by a summary", argumentHint: "[hint]" },
    ],
    output_style: "default",
    available_output_styles: ["default"],
    models: [
      { value: "default", resolvedModel: model, displayName: model, description: "A script, no model" },
    ],
    account: {},
    pid: process.pid,
    claude_code_version: VERSION,
    current_permission_mode: mode,
    ...(hasHooks ? { hooks_applied: true } : {}),
    session_state: isBusy ? "running" : "idle",
    capabilities: CAPABILITIES,
  };
}
