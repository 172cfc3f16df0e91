/** A transcript's events as lines for a terminal: each is written once and never changed. */

import { changesText, undoText } from "../../shared/agent/change-text.ts";
import type { EventOf, ThreadEvent } from "../../shared/agent/events.ts";
import { opTarget } from "../../shared/agent/ops.ts";
import { changeOf, failureOf } from "../../shared/agent/outcome.ts";
import { plainRemarkOf } from "../../shared/agent/plain-remark.ts";
import { REST_TEXTS, restOf } from "../../shared/agent/turn-rest.ts";
import { cleanLine, cleanLines } from "../../shared/clean-text.ts";
import { trimEndOf } from "../../shared/trim-end.ts";
import { formatDuration } from "../table.ts";
import { askLines, MAX_DETAIL_LINES } from "./ask-text.ts";

const WORTH_TELLING_MS = 1_000;

type Ask = EventOf<"permission_request"> | EventOf<"elicitation_request">;
type Answer = EventOf<"permission_response"> | EventOf<"elicitation_response">;

export class TranscriptText {
  readonly #thread: string;
  /** Calls that have not ended, by id. */
  readonly #calls = new Map<string, EventOf<"tool_call">>();
  /** Asks that are open, by id. */
  readonly #asks = new Map<string, Ask>();
  /** The call whose line was the last. */
  #last: string | undefined;
  /** The steps of this turn; undefined if its beginning was not read. */
  #steps: number | undefined;
  #changes = "";

  /** @param thread what names it in a command, fit for a shell. */
  constructor(thread: string) {
    this.#thread = thread;
  }

  /** The event's lines, without their ends; none if people need not see it. */
  add(event: ThreadEvent): string[] {
    const lines = this.#lines(event);
    if (lines.length > 0) this.#last = event.type === "tool_call" ? event.toolCallId : undefined;
    return lines;
  }

  #lines(event: ThreadEvent): string[] {
    switch (event.type) {
      case "user_message":
        return ["", `› ${cleanLine(event.source)}:`, ...quote(event.content), ""];
      case "message_edit":
        if (!event.applied) return [];
        return [`› ${cleanLine(event.by)} changed a message:`, ...quote(event.content)];
      case "message_withdraw":
        return event.applied ? [`› ${cleanLine(event.by)} took a message back`] : [];
      case "turn_start":
        this.#steps = 0;
        return event.cause === "resume" ? ["↻ goes on where it was cut off"] : [];
      case "agent_message":
        return event.parentToolCallId === undefined ? toLines(event.text) : [];
      case "tool_call":
        if (event.parentToolCallId !== undefined) return [];
        if (this.#steps !== undefined) this.#steps += 1;
        this.#calls.set(event.toolCallId, event);
        return [`▸ ${cleanLine(event.title)}`];
      case "step_start":
      case "step_update":
        return waitLines(event);
      case "tool_call_update":
        return this.#endCall(event);
      case "permission_request":
      case "elicitation_request": {
        this.#asks.set(event.requestId, event);
        const call = this.#calls.get(event.toolCallId) ?? null;
        const isOneOfMany = this.#asks.size > 1;
        const options = { thread: this.#thread, maxLines: MAX_DETAIL_LINES, isOneOfMany };
        return askLines({ request: event, call }, options);
      }
      case "permission_response":
      case "elicitation_response":
        return [this.#endAsk(event)];
      case "turn_end":
        this.#calls.clear();
        return endLines(event, this.#steps, this.#takeChanges());
      case "engine_end": {
        const rest = restOf(event, [...this.#asks.values()]);
        return rest === undefined ? [] : [`· ${REST_TEXTS[rest].toLowerCase()}`];
      }
      case "compaction_update":
        return event.status === "in_progress" ? [] : [`· compaction ${event.status}`];
      case "current_mode_update":
        return [`· mode ${cleanLine(event.modeId)}`];
      case "config_update":
        return event.model === undefined ? [] : [`· model ${cleanLine(event.model)}`];
      case "control":
        return [`· ${[event.op, cleanLine(opTarget(event))].join(" ").trim()} by ${cleanLine(event.by)}`];
      case "turn_changes":
        this.#changes = changesText(event);
        return [];
      case "undo":
        return [`↩ ${undoText(event)} (${cleanLine(event.undoId)}) by ${cleanLine(event.by)}`];
      case "failure":
        return [`! failed: ${cleanLine(event.message)}`];
      default:
        return toldText(event);
    }
  }

  /** What the turn changed, for its end. */
  #takeChanges(): string {
    const changes = this.#changes;
    this.#changes = "";
    return changes;
  }

  #endCall(event: EventOf<"tool_call_update">): string[] {
    const call = this.#calls.get(event.toolCallId);
    if (!call || event.status === "in_progress") return [];
    this.#calls.delete(event.toolCallId);
    const took = (event.durationMs ?? 0) < WORTH_TELLING_MS ? "" : formatDuration(event.durationMs ?? 0);
    const parts = [changeOf(event), cleanLine(failureOf(event)), took].filter((part) => part !== "");
    const mark = event.status === "failed" ? "✗" : "✓";
    if (this.#last === event.toolCallId)
      return [`  ${[mark, ...(parts.length > 0 ? [parts.join(" · ")] : [])].join(" ")}`];
    return [[`${mark} ${cleanLine(call.title)}`, ...parts].join(" · ")];
  }

  /** What was decided, by whom. */
  #endAsk(event: Answer): string {
    const ask = this.#asks.get(event.requestId);
    this.#asks.delete(event.requestId);
    const by = event.by === undefined ? "" : ` by ${cleanLine(event.by)}`;
    if (event.type === "elicitation_response") {
      if (event.action === "cancel") return closed(event.reason);
      if (event.action === "decline") return `  ✗ not answered${by}`;
      return `  ✓ answered${by}: ${Object.values(event.content ?? {})
        .map(cleanLine)
        .join("; ")}`;
    }
    if (event.outcome === "cancelled") return closed(event.reason);
    const options = ask?.type === "permission_request" ? ask.options : [];
    const option = options.find(({ optionId }) => optionId === event.optionId);
    const mark = option?.kind.startsWith("allow") ? "✓" : "✗";
    const because = event.message === undefined ? "" : `: ${cleanLine(event.message)}`;
    return `  ${mark} ${cleanLine(option?.name ?? event.optionId ?? "decided")}${by}${because}`;
  }
}

function textOf(content: EventOf<"user_message">["content"]): string[] {
  return content.flatMap((block) =>
    block.type === "text" ? toLines(block.text) : [`[${cleanLine(block.uri)}]`],
  );
}

function closed(reason: string | undefined): string {
  return `  ⏹ not asked any more${reason === undefined ? "" : ` (${reason.replaceAll("_", " ")})`}`;
}

function endLines(
  { stopReason, error, durationMs, usage, cost }: EventOf<"turn_end">,
  steps: number | undefined,
  changes: string,
): string[] {
  const parts = [
    stopReason === "end_turn" ? "" : stopReason.replaceAll("_", " "),
    !steps ? "" : `${steps} ${steps === 1 ? "step" : "steps"}`,
    durationMs === undefined ? "" : formatDuration(durationMs),
    usage === undefined ? "" : `${usage.inputTokens + usage.outputTokens} tokens`,
    (cost?.amount ?? 0) < 0.005 ? "" : `$${(cost?.amount ?? 0).toFixed(2)}`,
    changes,
  ].filter((part) => part !== "");
  const failed = error === undefined ? [] : [`! ${cleanLine(error)}`];
  return [...failed, `— ${parts.join(" · ")}`.trimEnd(), ""];
}

function toLines(text: string): string[] {
  return cleanLines(trimEndOf(text, "\n")).split("\n");
}

function quote(content: EventOf<"user_message">["content"]): string[] {
  return textOf(content).map((line) => `› ${line}`);
}

/** What the thread waits for, beside people. */
function waitLines(event: EventOf<"step_start"> | EventOf<"step_update">): string[] {
  const isWait = event.type === "step_update" || event.kind === "lock" || event.kind === "place";
  return isWait ? [`◌ ${cleanLine(event.title)}`] : [];
}

/** What is told outside of turns. */
function toldText(event: ThreadEvent): string[] {
  switch (event.type) {
    case "initial_message":
      return [`‹ before this thread, ${event.role}:`, ...toLines(event.text).map((line) => `‹ ${line}`), ""];
    case "file_sent":
      return [
        `+ file ${cleanLine(event.name)} (${event.bytes} bytes) ${cleanLine(event.caption ?? "")}`.trim(),
      ];
    case "memory_write": {
      const waits = event.state === "waiting" ? ", waits for a person" : "";
      return [
        `+ memory: ${event.how} ${cleanLine(event.path)}${waits}`,
        ...(event.text === "" ? [] : toLines(event.text).map((line) => `+ ${line}`)),
      ];
    }
    case "message_sent":
      return [
        "",
        `‹ to ${cleanLine(event.number === undefined ? event.threadId : `#${event.number}`)}:`,
        ...toLines(event.text).map((line) => `‹ ${line}`),
        "",
      ];
    default: {
      const remark = plainRemarkOf(event);
      if (!remark) return []; // says nothing to people
      return [`! ${cleanLine(remark.title)}${remark.text === "" ? "" : `: ${cleanLine(remark.text)}`}`];
    }
  }
}
