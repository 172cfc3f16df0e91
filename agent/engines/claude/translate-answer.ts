/** What the model says: the pieces as they come (for live.json), and each finished block. */
import type { EventBody } from "../../../shared/agent/events.ts";
import type { Line } from "../../../shared/agent/jsonl.ts";
import type { TranslateContext } from "../../engine.ts";
import type { ClaudeBlock, ClaudeLine } from "./lines.ts";
import type { ClaudeState } from "./state.ts";
import { asRecord, kindOf, locationsOf, titleOf } from "./tools.ts";
import { endChat } from "./translate-system.ts";
import { startTurn, type Translated } from "./translate-turn.ts";
import { contextTokens, usageOf } from "./usage.ts";

const LIVE_CHARACTERS = 1_000;
const SYNTHETIC = "<synthetic>";

/** One finished block of the model's answer; claude prints a line for each. */
export function assistantLine(
  state: ClaudeState,
  parsed: Extract<ClaudeLine, { type: "assistant" }>,
  line: Line,
  context: TranslateContext,
): Translated {
  const started = startTurn(state, line, context);
  const { id = "", content, model } = parsed.message;
  const at = parsed.uuid ?? "";
  const parent = parsed.parent_tool_use_id ? { parentToolCallId: parsed.parent_tool_use_id } : {};
  const events = [...started.events];
  let { tools } = started.state;
  for (const block of typeof content === "string" ? [{ type: "text", text: content }] : content) {
    const event = blockEvent(block as ClaudeBlock, { messageId: id, at, parent, cwd: context.config.dir });
    if (!event) continue;
    // Its own words for a failed call of the API come again in the result.
    if (model === SYNTHETIC && event.type === "agent_message") continue;
    events.push(event);
    if (event.type !== "tool_call") continue;
    const { plan } = asRecord(event.rawInput);
    const call = {
      name: event.name,
      startedMs: context.nowMs,
      ...(event.name === "ExitPlanMode" && typeof plan === "string" && { plan: plan.slice(0, 50_000) }),
    };
    tools = { ...tools, [event.toolCallId]: call };
  }
  const { text: _, ...live } = started.state.live;
  return { state: { ...started.state, tools, live }, events };
}

interface BlockPlace {
  messageId: string;
  at: string;
  parent: { parentToolCallId?: string };
  cwd: string;
}

function blockEvent(block: ClaudeBlock, { messageId, at, parent, cwd }: BlockPlace): EventBody | undefined {
  switch (block.type) {
    case "text":
      return block.text ? { type: "agent_message", messageId, at, text: block.text, ...parent } : undefined;
    case "thinking":
      return block.thinking
        ? { type: "agent_thought", messageId, at, text: block.thinking, ...parent }
        : undefined;
    case "tool_use": {
      const name = block.name ?? "";
      const locations = locationsOf(block.input, cwd);
      return {
        type: "tool_call",
        toolCallId: block.id ?? "",
        at,
        name,
        title: titleOf(name, block.input, cwd),
        kind: kindOf(name),
        rawInput: block.input ?? null,
        ...(locations && { locations }),
        ...parent,
      };
    }
    default:
      return undefined;
  }
}

/** Pieces of the answer while it is written. A subagent's pieces are not shown. */
export function streamLine(
  state: ClaudeState,
  parsed: Extract<ClaudeLine, { type: "stream_event" }>,
  context: TranslateContext,
): Translated {
  if (parsed.parent_tool_use_id) return { state, events: [] };
  const { event } = parsed;
  switch (event.type) {
    case "message_start": {
      const { id: messageId = "", model, usage } = event.message ?? {};
      const chat = state.chat && {
        ...state.chat,
        ...(parsed.ttft_ms !== undefined && { ttftMs: Math.trunc(parsed.ttft_ms) }),
        ...(model !== undefined && { model }),
        ...(usage && { usage: usageOf(usage) }),
      };
      return {
        state: { ...state, chat, live: { text: { messageId, text: "", thought: false } } },
        events: [],
      };
    }
    case "content_block_delta":
      return { state: { ...state, live: written(state.live, event.delta ?? {}) }, events: [] };
    case "message_delta": {
      if (!state.chat) return { state, events: [] };
      const usage = event.usage ? usageOf(event.usage) : state.chat.usage;
      const chat = { ...state.chat, ...(usage && { usage }) };
      const usedTokens = usage ? contextTokens(usage) : state.usedTokens;
      return endChat({ ...state, chat, usedTokens }, "completed", context);
    }
    default:
      return { state, events: [] };
  }
}

function written(
  live: ClaudeState["live"],
  delta: { text?: string | undefined; thinking?: string | undefined },
): ClaudeState["live"] {
  const piece = delta.text ?? delta.thinking;
  if (!piece || !live.text) return live;
  const thought = delta.text === undefined;
  const before = live.text.thought === thought ? live.text.text : "";
  const text = (before + piece).slice(-LIVE_CHARACTERS);
  return { text: { messageId: live.text.messageId, text, thought } };
}
