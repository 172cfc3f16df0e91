/** What became of tool calls: claude prints it as messages of the user. */
import type { EventBody, EventOf } from "../../../shared/agent/events.ts";
import { ownValue, without } from "../../../shared/own-value.ts";
import type { TranslateContext } from "../../engine.ts";
import type { ClaudeLine } from "./lines.ts";
import type { ClaudeState } from "./state.ts";
import { resultContent } from "./tools.ts";
import type { Translated } from "./translate-turn.ts";

export function toolResults(
  state: ClaudeState,
  parsed: Extract<ClaudeLine, { type: "user" }>,
  { config, fold, nowMs }: TranslateContext,
): Translated {
  const { content } = parsed.message;
  if (typeof content === "string") return { state, events: [] };
  const events: EventBody[] = [];
  let tools = state.tools;
  for (const block of content) {
    if (block.type !== "tool_result" || block.tool_use_id === undefined) continue;
    const toolCallId = block.tool_use_id;
    const call = ownValue(tools, toolCallId);
    tools = without(tools, toolCallId);
    const kind = parsed.tool_result_meta?.find((meta) => meta.id === toolCallId)?.non_execution_kind;
    const shown = resultContent(block, parsed.tool_use_result, config.dir);
    events.push({
      type: "tool_call_update",
      toolCallId,
      ...(parsed.uuid !== undefined && { at: parsed.uuid }),
      status: block.is_error ? "failed" : "completed",
      ...(call && { durationMs: Math.max(0, nowMs - call.startedMs) }),
      ...(shown.length > 0 && { content: shown }),
      ...(kind !== undefined && { reason: reasonOf(kind, fold.lockedOut?.includes(toolCallId) ?? false) }),
    });
  }
  return { state: { ...state, tools }, events };
}

function reasonOf(kind: string, isLockedOut: boolean): EventOf<"tool_call_update">["reason"] {
  if (kind === "user-rejected") return "interrupted";
  return isLockedOut ? "locked" : "denied";
}
