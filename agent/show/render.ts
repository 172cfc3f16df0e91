/** A thread's events for people: lines of the pane and of transcript.md. Pure. */

import { changesText, undoText } from "../../shared/agent/change-text.ts";
import type { EventOf, ThreadEvent } from "../../shared/agent/events.ts";
import { opTarget } from "../../shared/agent/ops.ts";
import type { Block, ToolContent } from "../../shared/agent/values.ts";

const MAX_OUTPUT = 2_000;

/** Markdown of one event; empty if people need not see it. Ends with a newline. */
export function markdownOf(event: ThreadEvent): string {
  switch (event.type) {
    case "thread_start":
      return `# Thread ${event.threadId}\n`;
    case "initial_message":
      return `\n## Before this thread: ${event.role}\n\n${event.text}\n`;
    case "user_message":
      return `\n## ${event.source}\n\n${blocks(event.content)}\n`;
    case "message_edit":
      return event.applied ? `\n*${event.by} changed a message:*\n\n${blocks(event.content)}\n` : "";
    case "message_withdraw":
      return event.applied ? `\n*${event.by} took a message back.*\n` : "";
    case "agent_message":
      return `\n${event.text}\n`;
    case "tool_call":
      return `\n- ${event.title}\n`;
    case "step_start":
      return event.kind === "lock" || event.kind === "setup" ? `\n- ${event.title}\n` : "";
    case "tool_call_update":
      return toolUpdate(event);
    case "permission_request":
      return event.plan === undefined
        ? `\n**May it?** ${event.title}\n${event.trust ? `\n${event.description ?? ""}\n` : ""}`
        : `\n**A plan to approve:**\n\n${event.plan}\n`;
    case "permission_response":
      return `\n*${event.outcome === "selected" ? `${event.by ?? "somebody"}: ${event.optionId}` : `no answer (${event.reason ?? "ended"})`}*\n`;
    case "elicitation_request":
      return `\n**${event.message}**\n${event.questions.flatMap(({ options }) => options.map(({ label }) => `- ${label}\n`)).join("")}`;
    case "elicitation_response":
      return `\n*${event.action === "accept" ? Object.values(event.content ?? {}).join("; ") : event.action}*\n`;
    case "turn_changes":
      return event.problem === undefined ? `\n*${changesText(event)}*\n` : "";
    case "undo":
      return `\n*↩ ${undoText(event)}*\n`;
    case "turn_end":
      return turnEnd(event);
    case "compaction_update":
      return event.status === "in_progress" ? "" : `\n*Compaction: ${event.status}*\n`;
    case "current_mode_update":
      return `\n*Mode: ${event.modeId}*\n`;
    case "background_update":
      return event.tasks.length > 0
        ? `\n*In the background: ${event.tasks.map(({ title }) => title).join(", ")}*\n`
        : "";
    case "control":
      return `\n*${event.by}: ${[event.op, opTarget(event)].join(" ").trim()}${withdrawn(event)}*\n`;
    case "message_sent":
      return `\n## To thread:${event.threadId}\n\n${event.text}\n`;
    case "file_sent":
      return `\n*File: attachments/${event.name}*\n`;
    case "memory_write":
      return `\n*Memory: ${event.how} ${event.path}${event.state === "waiting" ? ", waits for a person" : ""}*\n`;
    case "failure":
      return `\n**Failed:** ${event.message}\n`;
    case "notice":
      return `\n> ${event.title}${event.description ? `: ${event.description}` : ""}\n`;
    case "engine_end":
      return event.reason === "idle" ? "" : `\n*The agent's program ended: ${event.reason}.*\n`;
    default:
      return "";
  }
}

/** As the pane shows it: the same words, without what only a file needs. */
export function paneText(event: ThreadEvent): string {
  const time = event.ts.slice(11, 19);
  if (event.type === "engine_start") {
    return `${time} ${event.engine} ${event.version}, ${event.model}${event.resumed ? ", resumed" : ""}\n`;
  }
  const text = markdownOf(event).trim();
  return text === "" ? "" : `${time} ${text.replaceAll("\n", "\n         ")}\n`;
}

function toolUpdate(event: Extract<ThreadEvent, { type: "tool_call_update" }>): string {
  if (event.status === "in_progress") return "";
  const body = (event.content ?? []).map(contentText).join("\n");
  const shown = body.length > MAX_OUTPUT ? `${body.slice(0, MAX_OUTPUT)}\n…` : body;
  const mark = event.status === "completed" ? "✓" : `✗ ${event.reason ?? "failed"}`;
  return shown === "" ? `  ${mark}\n` : `  ${mark}\n${fence(shown)}\n`;
}

function contentText(content: ToolContent): string {
  if (content.type === "content") return blocks([content.content]);
  const minus = (content.oldText ?? "").split("\n").map((line) => `-${line}`);
  const plus = content.newText.split("\n").map((line) => `+${line}`);
  return [content.path, ...(content.oldText === null ? [] : minus), ...plus].join("\n");
}

function fence(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const mark = "`".repeat(longest + 1);
  return `${mark}\n${text}\n${mark}`;
}

function turnEnd(event: Extract<ThreadEvent, { type: "turn_end" }>): string {
  const seconds = event.durationMs === undefined ? "" : ` · ${(event.durationMs / 1_000).toFixed(1)} s`;
  const cost = event.cost && event.cost.amount > 0 ? ` · $${event.cost.amount.toFixed(2)}` : "";
  const why = event.stopReason === "end_turn" ? "" : ` · ${event.stopReason}`;
  const error = event.error === undefined ? "" : `\n**${event.error}**\n`;
  return `${error}\n---${why}${seconds}${cost}\n`;
}

function blocks(content: readonly Block[]): string {
  return content
    .map((block) => (block.type === "text" ? block.text : `[${block.type} ${block.uri}]`))
    .join("\n\n");
}

function withdrawn(event: EventOf<"control">): string {
  return event.op === "rules" ? ` withdrawn: ${event.withdraw.join(", ")}` : "";
}
