/** An agent's transcript as an editor reads it over ACP: our words are ACP's already. Pure. */
import type { SessionUpdate, StopReason, ToolCallContent } from "@agentclientprotocol/sdk";
import type { EventOf, ThreadEvent } from "../../shared/agent/events.ts";
import type { Block, ToolContent } from "../../shared/agent/values.ts";
import { parsePrincipal } from "../../shared/principal.ts";

/** @param isOwn the message was typed in this editor, which shows it already */
export function updatesOf(event: ThreadEvent, isOwn: boolean): SessionUpdate[] {
  switch (event.type) {
    case "user_message": {
      const isOwner = parsePrincipal(event.source).kind === "owner";
      const from = isOwner ? "" : `[${event.source}] `;
      const text = from + event.content.map(textOf).join("\n");
      return isOwn ? [] : [{ sessionUpdate: "user_message_chunk", content: { type: "text", text } }];
    }
    case "agent_message":
      return [{ sessionUpdate: "agent_message_chunk", content: { type: "text", text: `${event.text}\n\n` } }];
    case "agent_thought":
      return [{ sessionUpdate: "agent_thought_chunk", content: { type: "text", text: event.text } }];
    case "tool_call": {
      const { toolCallId, title, kind, rawInput, locations = [] } = event;
      const shown = locations.map(({ path, line }) => ({ path, ...(line !== undefined && { line }) }));
      const call = { toolCallId, title, kind, rawInput, locations: shown };
      return [{ sessionUpdate: "tool_call", status: "pending", ...call }];
    }
    case "tool_call_update": {
      const { toolCallId, status, content } = event;
      const shown = content && { content: content.map(contentOf) };
      return [{ sessionUpdate: "tool_call_update", toolCallId, status, ...shown }];
    }
    case "plan":
      return [{ sessionUpdate: "plan", entries: event.entries }];
    case "elicitation_request": {
      const text = `The agent asks: ${event.message}\nAnswer it in Discord or with \`threadmux answer\`.\n\n`;
      return [{ sessionUpdate: "agent_message_chunk", content: { type: "text", text } }];
    }
    default:
      return [];
  }
}

/** Undefined of a turn that is taken up again. */
export function stopReasonOf(reason: EventOf<"turn_end">["stopReason"]): StopReason | "error" | undefined {
  return reason === "interrupted" ? undefined : reason;
}

function textOf(block: Block): string {
  return block.type === "text" ? block.text : `[${block.uri}]`;
}

function contentOf(content: ToolContent): ToolCallContent {
  if (content.type === "diff") return content;
  return { type: "content", content: { type: "text", text: textOf(content.content) } };
}
