/** Lines for claude's standard input. Pure. */
import type { RecordedAnswer } from "../../../shared/agent/fold-types.ts";
import type { ContentPart, DeliveryMarks, EngineControl, OpenRequest, Refusal } from "../../engine.ts";
import { permissionResult } from "./asks.ts";
import { askedRules } from "./guard.ts";
import { type ClaudeRequest, parseClaudeLine } from "./lines.ts";

export const OPEN_ID = "init";
/** Before the id of the request that waits for the reply. */
export const COST_ID = "cost-";
/** Before the id of the runner's ping. */
export const PING_ID = "ping-";

/** Without an answer in time a hook fails closed: the longest that it is to wait. */
const HOOK_TIMEOUT_SECONDS = 86_400;
/** The hook before each call. */
export const BEFORE_CALL = "pre";
/** The hook after all calls of a round, before the model is called again. */
export const AFTER_CALLS = "batch";
/** The hook after each call. */
export const AFTER_CALL = "post";

/** The hook before a turn ends. */
export const BEFORE_END = "stop";
/** The hook after a compaction, before the model is called again. */
export const AFTER_COMPACTION = "compacted";

/** @param hasEndGate somebody decides whether a turn may end */
export function openLine(hasEndGate = false): string {
  return controlLine(OPEN_ID, {
    subtype: "initialize",
    hooks: {
      PreToolUse: [{ hookCallbackIds: [BEFORE_CALL], timeout: HOOK_TIMEOUT_SECONDS }],
      PostToolUse: [{ hookCallbackIds: [AFTER_CALL], timeout: HOOK_TIMEOUT_SECONDS }],
      PostToolBatch: [{ hookCallbackIds: [AFTER_CALLS], timeout: HOOK_TIMEOUT_SECONDS }],
      SessionStart: [
        { matcher: "compact", hookCallbackIds: [AFTER_COMPACTION], timeout: HOOK_TIMEOUT_SECONDS },
      ],
      ...(hasEndGate && { Stop: [{ hookCallbackIds: [BEFORE_END], timeout: HOOK_TIMEOUT_SECONDS }] }),
    },
  });
}

/** claude's own words of a message that is `isSynthetic`. */
const NOT_THE_USER = "[MESSAGE FROM NON-USER SOURCE - NOT USER INPUT]";

/**
 * In mid-turn claude says of a message that the user sent it, unless it is `isSynthetic`; then claude marks it. At rest
 * we mark it: a turn that an `isSynthetic` message began is not taken up if the process is killed before the model
 * answered (seen of 2.1.330).
 */
export function deliveryLine(
  deliveryId: string,
  parts: readonly ContentPart[],
  { isPlain, isForeign, isMidTurn }: Partial<DeliveryMarks> = {},
): string {
  const isAtRest = isForeign && !isMidTurn;
  const marked = isAtRest ? [{ type: "text" as const, text: NOT_THE_USER }, ...parts] : parts;
  const content = marked.map((part) =>
    part.type === "text"
      ? part
      : { type: "image", source: { type: "base64", media_type: part.mimeType, data: part.base64 } },
  );
  return JSON.stringify({
    type: "user",
    message: { role: "user", content },
    parent_tool_use_id: null,
    session_id: "",
    uuid: deliveryId,
    ...(isPlain && { client_composed: true }),
    ...(isForeign && isMidTurn && { isSynthetic: true }),
  });
}

/** @param asked claude's own line that asked */
export function answerLine(answer: RecordedAnswer | Refusal, ask: OpenRequest, asked: string): string {
  const parsed = parseClaudeLine(asked);
  if (parsed?.type !== "control_request")
    throw new Error(`no request at byte ${ask.byte} of the engine's output`);
  return responseLine(ask.requestId, permissionResult(answer, parsed satisfies ClaudeRequest));
}

function responseLine(requestId: string, response: object): string {
  return JSON.stringify({
    type: "control_response",
    response: { subtype: "success", request_id: requestId, response },
  });
}

/** @param news for the model; of the hooks after a round of calls and after a compaction alone */
export function goOnLine(
  { requestId, isAfterCompaction }: Pick<OpenRequest, "requestId" | "isAfterCompaction">,
  news?: string,
): string {
  const hookEventName = isAfterCompaction ? "SessionStart" : "PostToolBatch";
  const output = { hookEventName, additionalContext: news };
  return responseLine(requestId, news === undefined ? {} : { hookSpecificOutput: output });
}

/** The answer to the hook before a call. */
export function stopCallLine(requestId: string, reason: string): string {
  return responseLine(requestId, {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: "deny",
      permissionDecisionReason: reason,
    },
  });
}

/** The answer to the hook before a turn's end: the model goes on with the reason. */
export function keepOnLine(requestId: string, reason: string): string {
  return responseLine(requestId, { decision: "block", reason });
}

export function refusalLine(requestId: string): string {
  const response = {
    subtype: "error",
    request_id: requestId,
    error: "this client does not know such requests",
  };
  return JSON.stringify({ type: "control_response", response });
}

/** Ids name the control and the transcript's line that ordered it: the reply says what it confirms. */
export function engineControlLine(control: EngineControl): string {
  switch (control.op) {
    case "interrupt":
      return controlLine(`interrupt-${control.seq}`, { subtype: "interrupt" });
    case "mode":
      return controlLine(`mode-${control.seq}`, { subtype: "set_permission_mode", mode: control.modeId });
    case "model":
      return controlLine(`model-${control.seq}`, { subtype: "set_model", model: control.model });
    case "end_task":
      return controlLine(`end_task-${control.seq}`, { subtype: "stop_task", task_id: control.taskId });
    case "rules":
      // What is to be asked about stands above what is allowed, wherever that was granted.
      return controlLine(`rules-${control.seq}`, {
        subtype: "apply_flag_settings",
        settings: { permissions: { ask: [...askedRules(control.isMarked), ...control.ask] } },
      });
    case "cost":
      return controlLine(`${COST_ID}${control.id}`, { subtype: "get_usage", skip_behaviors: true });
    case "compact":
      return deliveryLine(compactId(control.seq), [{ type: "text", text: compactText(control.text) }]);
    case "end":
      return controlLine("end", { subtype: "end_session" });
  }
}

/** Its reply, whatever that says, tells that all lines before it were read. */
export function pingLine(id: string): string {
  return controlLine(`${PING_ID}${id}`, { subtype: "get_usage", skip_behaviors: true });
}

/** A uuid like every message's, but none of a delivery. */
function compactId(seq: number): string {
  return `00000000-0000-4000-8000-${String(seq).padStart(12, "0")}`;
}

function compactText(hint: string | undefined): string {
  return hint ? `/compact ${hint.replace(/\s+/g, " ")}` : "/compact";
}

function controlLine(requestId: string, request: object): string {
  return JSON.stringify({ type: "control_request", request_id: requestId, request });
}
