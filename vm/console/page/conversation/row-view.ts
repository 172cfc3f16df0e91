/** A row of the transcript as an element. Everything foreign becomes text, with nothing hidden in it. */

import { changesText, undoText } from "../../../../shared/agent/change-text.ts";
import type { EventOf, ThreadEvent } from "../../../../shared/agent/events.ts";
import { opTarget } from "../../../../shared/agent/ops.ts";
import { plainRemarkOf } from "../../../../shared/agent/plain-remark.ts";
import { REST_TEXTS, type TurnRest } from "../../../../shared/agent/turn-rest.ts";
import type { Block } from "../../../../shared/agent/values.ts";
import { cleanLine, cleanLines } from "../../../../shared/clean-text.ts";
import { formatThousands } from "../../../../shared/format-count.ts";
import { make } from "../dom.ts";
import { nameOf } from "../people.ts";
import { describeDecision, type Response } from "./decision.ts";
import { formatDuration } from "./format.ts";
import { cutTexts } from "./long-text.ts";
import { renderMarkdown } from "./markdown.ts";
import type { SourceKind } from "./sources.ts";
import { drawStep } from "./step-view.ts";
import type { Row } from "./story.ts";

export interface RowContext {
  threadId: string;
  /** Rows that somebody has opened, by their event. */
  opened: ReadonlySet<number>;
  onToggle: (row: Row) => void;
  /** Tells whose an event is in a stream with several sources. */
  sourceOf: (event: ThreadEvent) => SourceKind | undefined;
}

export function drawRow(row: Row, context: RowContext): HTMLElement {
  const { event, ending, seq } = row;
  const element = make("article", `row ${event.type}`, drawContent(row, context));
  element.dataset["seq"] = String(seq);
  const source = context.sourceOf(event);
  if (source !== undefined) element.dataset["source"] = source;
  if (ending) element.dataset["ending"] = String(ending.seq);
  if ("parentToolCallId" in event && event.parentToolCallId !== undefined) element.classList.add("inner");
  element.title = new Date(event.ts).toLocaleString();
  return element;
}

function drawContent(row: Row, context: RowContext): HTMLElement[] {
  const { event } = row;
  switch (event.type) {
    case "initial_message":
      return drawInitial(event, context.threadId);
    case "user_message":
      return drawMessage(event, context.threadId);
    case "agent_message":
      return [renderMarkdown(event.text), ...cutTexts(context.threadId, event)];
    case "tool_call":
    case "tool_call_update":
      return drawStep(row, { ...context, isOpen: context.opened.has(row.seq) });
    case "agent_thought":
      return drawThought(row, event, context);
    case "permission_request":
    case "elicitation_request":
      return drawAsk(event, row);
    case "permission_response":
    case "elicitation_response":
      return [remark(`Decision on an ask further up: ${describeDecision(undefined, event)}`)];
    case "plan":
      return drawTodo(event);
    case "turn_end":
      return drawEnd(event, row.rest);
    case "failure":
      return [remark(`The agent can't go on. ${cleanLines(event.message)}`, "bad")];
    case "voice_message":
      return drawSaid(event);
    case "message_sent":
      return [remark(`To #${event.number ?? "?"}: ${cleanLines(event.text)}`)];
    case "file_sent":
      return [
        remark(
          `File: ${cleanLine(event.name)} (${event.bytes} bytes) ${cleanLine(event.caption ?? "")}`.trim(),
        ),
      ];
    case "memory_write": {
      const waits = event.state === "waiting" ? " (waits for a person)" : "";
      return [remark(`Memory: ${event.how} ${cleanLine(event.path)}${waits}\n${cleanLines(event.text)}`)];
    }
    default:
      return [drawPlain(event) ?? remark(describe(event))];
  }
}

function remark(text: string, className = ""): HTMLElement {
  return make("p", `remark ${className}`.trim(), [text]);
}

function drawPlain(event: ThreadEvent): HTMLElement | undefined {
  const plain = plainRemarkOf(event);
  if (!plain) return undefined;
  const words = plain.text === "" ? "" : `\n${cleanLines(plain.text)}`;
  return remark(`${cleanLine(plain.title)}${words}`, plain.severity === "info" ? "" : "bad");
}

/** An agent that hears several sources knows each by its handle. */
function drawMessage(
  { source, handle, content, ts, when, blobs }: EventOf<"user_message">,
  threadId: string,
): HTMLElement[] {
  const waits = when === "next_turn" ? " · for the next turn" : "";
  const who = handle === undefined ? nameOf(source) : cleanLine(handle);
  const head = `${who} · ${timeOf(ts)}${waits}`;
  return [
    make("p", "who", [head]),
    make("div", "words", [textOf(content)]),
    ...cutTexts(threadId, blobs ? { blobs } : {}),
  ];
}

function timeOf(ts: string): string {
  return new Date(ts).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

/** What it says with a tool is all that others read of it. */
function drawSaid({ address, text, files = [], ts }: EventOf<"voice_message">): HTMLElement[] {
  const names = files.map((name) => `\n[file ${cleanLine(name)}]`).join("");
  return [
    make("p", "who", [`to ${cleanLine(address)} · ${timeOf(ts)}`]),
    make("div", "words", [`${cleanLines(text)}${names}`]),
  ];
}

function drawInitial(event: EventOf<"initial_message">, threadId: string): HTMLElement[] {
  return [
    make("p", "who", [`Before this thread · ${event.role}`]),
    make("div", "words", [cleanLines(event.text)]),
    ...cutTexts(threadId, event),
  ];
}

function textOf(content: readonly Block[]): string {
  const parts = content.map((block) => {
    if (block.type === "text") return cleanLines(block.text);
    return block.type === "image" ? `[picture ${cleanLine(block.uri)}]` : `[file ${cleanLine(block.name)}]`;
  });
  return parts.join("\n");
}

function drawThought(row: Row, event: EventOf<"agent_thought">, { opened, onToggle }: RowContext) {
  const isOpen = opened.has(row.seq);
  const first = cleanLine(event.text.trim().split("\n", 1)[0] ?? "").slice(0, 120);
  const head = make("button", "step thought", [
    make("span", "mark", ["…"]),
    make("span", "title", [isOpen ? "Thinking" : first]),
  ]);
  head.type = "button";
  head.setAttribute("aria-expanded", String(isOpen));
  head.addEventListener("click", () => onToggle(row));
  return isOpen ? [head, renderMarkdown(event.text)] : [head];
}

function drawAsk(event: EventOf<"permission_request" | "elicitation_request">, row: Row): HTMLElement[] {
  const what =
    event.type === "elicitation_request"
      ? `Asked: ${event.questions.map(({ question }) => cleanLine(question)).join(" · ") || cleanLine(event.message)}`
      : event.plan === undefined
        ? `Asked to do: ${cleanLine(event.title)}`
        : "Asked to approve a plan";
  const parts: HTMLElement[] = [make("p", "question", [what])];
  if (event.type === "permission_request" && event.plan !== undefined) parts.push(renderMarkdown(event.plan));
  if (row.ending && row.ending.type !== "tool_call_update") {
    parts.push(make("p", "decision", [describeDecision(event, row.ending as Response)]));
  } else if (row.isOpen) {
    parts.push(make("p", "decision open", ["Waits for an answer."]));
  }
  return parts;
}

const PLAN_MARKS = { pending: "☐", in_progress: "◌", completed: "☑" } as const;

function drawTodo({ entries }: EventOf<"plan">): HTMLElement[] {
  const items = entries.map(({ content, status }) =>
    make("li", status, [`${PLAN_MARKS[status]} ${cleanLine(content)}`]),
  );
  return [make("ul", "todo", items)];
}

const HOW: Record<EventOf<"turn_end">["stopReason"], string> = {
  end_turn: "Done",
  cancelled: "Stopped",
  interrupted: "Cut off",
  error: "The turn failed",
  refusal: "The model refused",
  max_tokens: "The answer reached its longest length",
  max_turn_requests: "The turn reached its limit of calls",
};

function drawEnd(
  { stopReason, error, durationMs, usage, cost }: EventOf<"turn_end">,
  rest: TurnRest | undefined,
): HTMLElement[] {
  const isQuiet = stopReason === "cancelled" || stopReason === "interrupted";
  const hasNoResult = stopReason === "end_turn" && error !== undefined;
  const how = hasNoResult ? [] : [rest ? REST_TEXTS[rest] : HOW[stopReason]];
  const parts = [
    [...how, ...(error === undefined || isQuiet ? [] : [cleanLines(error)])].join(": "),
    durationMs === undefined || durationMs < 1_000 ? "" : formatDuration(durationMs),
    usage ? `${formatThousands(usage.inputTokens + usage.outputTokens)} tokens` : "",
    cost && cost.amount >= 0.005 ? `$${cost.amount.toFixed(2)}` : "",
  ];
  const isBad = hasNoResult || (stopReason !== "end_turn" && !isQuiet);
  return [remark(parts.filter((part) => part !== "").join(" · "), isBad ? "end bad" : "end")];
}

/** What needs one line. */
function describe(event: ThreadEvent): string {
  const by = "by" in event && event.by !== undefined ? ` by ${nameOf(event.by)}` : "";
  switch (event.type) {
    case "message_edit":
      return event.applied
        ? `A message was changed${by}: ${textOf(event.content)}`
        : `A message was changed${by} after the agent had read it`;
    case "message_withdraw":
      return `A message was taken back${by}${event.applied ? "" : " after the agent had read it"}`;
    case "control":
      return `${[CONTROLS[event.op] ?? event.op, cleanLine(opTarget(event))].join(" ").trim()}${by}`;
    case "turn_start":
      return event.cause === "resume" ? "↻ Goes on where it was cut off" : "↻ A background task has news";
    case "step_start":
      return `◌ ${cleanLine(event.title)}`;
    case "engine_end":
      return event.reason === "crashed"
        ? "The agent's program ended unexpectedly"
        : `The agent's program ended: ${cleanLine(event.error ?? event.reason)}`;
    case "compaction_update":
      return event.status === "completed"
        ? "The conversation was made shorter for the model"
        : `The conversation could not be made shorter: ${cleanLine(event.error ?? "")}`;
    case "current_mode_update":
      return `Mode ${cleanLine(event.modeId)}${by}`;
    case "config_update":
      return `Model ${cleanLine(event.model ?? "")}${by}`;
    case "voice_unanswered":
      return event.messageIds.length === 1
        ? "A message was read, and not answered"
        : `${event.messageIds.length} messages were read, and not answered`;
    case "turn_changes":
      return changesText(event);
    case "undo":
      return `${undoText(event)}${by}`;
    case "thread_spawned":
      return `Began thread ${cleanLine(event.title)}`;
    case "thread_ended":
      return `Thread ${cleanLine(event.threadId)} ended: ${cleanLine(event.stopReason)}`;
    default:
      return event.type;
  }
}

const CONTROLS: Record<EventOf<"control">["op"], string> = {
  interrupt: "Stop asked for",
  pause: "Paused",
  resume: "Told to go on",
  compact: "Told to make the conversation shorter",
  kill: "Ended",
  mode: "Told to change to mode",
  model: "Told to change to model",
  end_task: "Told to end a background task",
  limit: "Told other limits",
  undo: "Told to undo",
  rules: "Told to ask again",
  mark: "Asks about everything from here on: it reads",
  unmark: "What it has read is trusted",
};
