/** claude's `system` lines: what it is doing, its mode, compactions, background tasks. */
import type { EventBody } from "../../../shared/agent/events.ts";
import type { Line } from "../../../shared/agent/jsonl.ts";
import type { TranslateContext } from "../../engine.ts";
import type { ClaudeLine } from "./lines.ts";
import { type ClaudeState, hearState, startEngine } from "./state.ts";
import { startTurn, type Translated } from "./translate-turn.ts";

type SystemLine = Extract<ClaudeLine, { type: "system" }>;

export function systemLine(
  state: ClaudeState,
  parsed: SystemLine,
  line: Line,
  context: TranslateContext,
): Translated {
  switch (parsed.subtype) {
    case "init":
      return initLine(state, parsed, context);
    case "status":
      return statusLine(state, parsed, line, context);
    case "session_state_changed":
      return { state: hearState(state, parsed.state), events: [] };
    case "compact_boundary":
      return boundaryLine(state, parsed, context);
    case "background_tasks_changed": {
      const tasks = (parsed.tasks ?? []).map((task) => ({
        taskId: task.task_id,
        title: task.description ?? task.task_id,
      }));
      return { state, events: [{ type: "background_update", tasks }] };
    }
    case "api_retry":
      return retryLine(state, parsed);
    default:
      return { state, events: [] };
  }
}

/** Printed at each turn's begin: the model and mode that it has by now. */
function initLine(state: ClaudeState, parsed: SystemLine, context: TranslateContext): Translated {
  const { model, permissionMode, claude_code_version: version = "unknown", capabilities = [] } = parsed;
  if (!state.isStarted) {
    const modeId = permissionMode ?? "default";
    return startEngine(state, { version, model: model ?? "default", modeId, capabilities }, context);
  }
  const events: EventBody[] = [];
  if (model && model !== state.model) events.push({ type: "config_update", model });
  if (permissionMode && permissionMode !== state.modeId) {
    events.push({ type: "current_mode_update", modeId: permissionMode });
  }
  return {
    state: { ...state, model: model ?? state.model, modeId: permissionMode ?? state.modeId },
    events,
  };
}

function statusLine(
  state: ClaudeState,
  parsed: SystemLine,
  line: Line,
  context: TranslateContext,
): Translated {
  if (parsed.status === "requesting") {
    const started = startTurn(state, line, context);
    const ended = endChat(started.state, "failed", context);
    const stepId = `s${state.generation}-${line.byte}`;
    return {
      state: { ...ended.state, chat: { stepId, startedMs: context.nowMs } },
      events: [
        ...started.events,
        ...ended.events,
        { type: "step_start", stepId, kind: "chat", title: "Calling LLM" },
      ],
    };
  }
  if (parsed.status === "compacting") {
    const stepId = `compact-${state.generation}-${line.byte}`;
    return {
      state: { ...state, compacting: { stepId, startedMs: context.nowMs } },
      events: [
        { type: "compaction_update", status: "in_progress" },
        { type: "step_start", stepId, kind: "compact", title: "Compacting the conversation" },
      ],
    };
  }
  const events: EventBody[] = [];
  const modeId = parsed.permissionMode;
  if (modeId && modeId !== state.modeId) events.push({ type: "current_mode_update", modeId });
  const next = { ...state, modeId: modeId ?? state.modeId };
  if (parsed.compact_result && parsed.compact_result !== "success") {
    return endCompaction(next, { status: "failed", error: parsed.compact_result }, events, context);
  }
  return { state: next, events };
}

function boundaryLine(state: ClaudeState, parsed: SystemLine, context: TranslateContext): Translated {
  const { trigger, pre_tokens, post_tokens } = parsed.compact_metadata ?? {};
  return endCompaction(
    state,
    {
      status: "completed",
      trigger: trigger === "auto" ? "auto" : "manual",
      ...(pre_tokens !== undefined && { tokensBefore: Math.trunc(pre_tokens) }),
      ...(post_tokens !== undefined && { tokensAfter: Math.trunc(post_tokens) }),
    },
    [],
    context,
  );
}

type Compaction = Omit<Extract<EventBody, { type: "compaction_update" }>, "type" | "meta">;

export function endCompaction(
  state: ClaudeState,
  update: Compaction,
  before: readonly EventBody[],
  { nowMs }: TranslateContext,
): Translated {
  const events: EventBody[] = [...before, { type: "compaction_update", ...update }];
  if (state.compacting) {
    const { stepId, startedMs } = state.compacting;
    const status = update.status === "completed" ? "completed" : "failed";
    events.push({ type: "step_end", stepId, status, durationMs: Math.max(0, nowMs - startedMs) });
  }
  return { state: { ...state, compacting: null }, events };
}

/** In the engine's own words; the third attempt is worth a line of its own. */
function retryLine(state: ClaudeState, parsed: SystemLine): Translated {
  const attempt = Math.trunc(parsed.attempt ?? 1);
  const words = typeof parsed.error === "string" ? parsed.error : "the model's API failed";
  const error = parsed.error_status ? `${words} (${parsed.error_status})` : words;
  const live = { ...state.live, retry: { attempt, error } };
  const events: EventBody[] =
    attempt === 3 ? [{ type: "notice", severity: "warning", title: `${error}: retrying, 3rd time` }] : [];
  return { state: { ...state, live }, events };
}

/** Ends the call of the model that runs, if one does. */
export function endChat(
  state: ClaudeState,
  status: "completed" | "failed" | "cancelled",
  { nowMs }: TranslateContext,
): Translated {
  if (!state.chat) return { state, events: [] };
  const { stepId, startedMs, ...told } = state.chat;
  const durationMs = Math.max(0, nowMs - startedMs);
  return {
    state: { ...state, chat: null, live: {} },
    events: [{ type: "step_end", stepId, status, durationMs, ...told }],
  };
}
