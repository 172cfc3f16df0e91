/** A step: one line that says what was done and what came of it; opened, its input, output and diff. */

import { type DiffLine, diffLines } from "../../../../shared/agent/diff.ts";
import type { EventOf } from "../../../../shared/agent/events.ts";
import { changeOf, failureOf } from "../../../../shared/agent/outcome.ts";
import { cleanLine, writeOutHidden } from "../../../../shared/clean-text.ts";
import { make } from "../dom.ts";
import { formatDuration } from "./format.ts";
import { cutTexts, longText } from "./long-text.ts";
import type { Row } from "./story.ts";

type Call = EventOf<"tool_call">;
type Result = EventOf<"tool_call_update">;

const MAX_DIFF_LINES = 600;
const WORTH_TELLING_MS = 1_000;

export interface StepContext {
  threadId: string;
  isOpen: boolean;
  onToggle: (row: Row) => void;
}

/** @param row of a call, or of a result whose call is not loaded. */
export function drawStep(row: Row, { threadId, isOpen, onToggle }: StepContext): HTMLElement[] {
  const call = row.event.type === "tool_call" ? row.event : undefined;
  const result = (call ? row.ending : row.event) as Result | undefined;
  const state = result ? result.status : row.isOpen ? "running" : "unknown";
  const mark = make("span", `mark ${state}`, [MARKS[state] ?? ""]);
  mark.setAttribute("role", "img");
  mark.setAttribute("aria-label", NAMES[state] ?? state);
  const title = call ? cleanLine(call.title) : "Result of a step further up";
  const head = make("button", "step", [
    mark,
    make("span", "title", [title]),
    make("span", "outcome", [outcomeOf(result, state)]),
  ]);
  head.type = "button";
  head.setAttribute("aria-expanded", String(isOpen));
  head.addEventListener("click", () => onToggle(row));
  return isOpen ? [head, drawBody(threadId, call, result, state)] : [head];
}

const MARKS: Record<string, string> = { completed: "✓", failed: "✗", running: "◌", unknown: "·" };
const NAMES: Record<string, string> = {
  completed: "done",
  failed: "failed",
  running: "running",
  unknown: "no result here",
};

function drawBody(
  threadId: string,
  call: Call | undefined,
  result: Result | undefined,
  state: string,
): HTMLElement {
  const body = make("div", "step-body");
  if (call) body.append(section("Input", [drawInput(call.rawInput), ...cutTexts(threadId, call)]));
  for (const part of result?.content ?? []) {
    if (part.type === "diff") {
      const path = make("code", "", [cleanLine(part.path)]);
      body.append(section("Change", [path, drawDiff(part.oldText ?? "", part.newText)]));
    } else if (part.content.type === "text") {
      body.append(section("Output", [longText(part.content.text)]));
    } else {
      body.append(section("Output", [make("code", "", [cleanLine(part.content.uri)])]));
    }
  }
  if (result) body.append(...cutTexts(threadId, result));
  if (result && !result.content?.length) body.append(make("p", "quiet", ["It put out nothing."]));
  if (state === "running") body.append(make("p", "quiet", ["It runs …"]));
  if (state === "unknown") {
    body.append(make("p", "quiet", ["Its result is further down, or it was cut off and has none."]));
  }
  return body;
}

function section(name: string, parts: readonly HTMLElement[]): HTMLElement {
  return make("section", "", [make("h4", "", [name]), ...parts]);
}

/** The part of a call's input that decides: the command, the change, the text; all of it for other tools. */
export function drawInput(rawInput: unknown, isOpen = false): HTMLElement {
  const input = isRecord(rawInput) ? rawInput : {};
  const { command, old_string: before, new_string: after, content, file_path: path } = input;
  const named = typeof path === "string" ? [make("code", "path", [writeOutHidden(path)])] : [];
  if (typeof command === "string") return withRest(longText(command, { isOpen }), input, ["command"]);
  if (typeof before === "string" && typeof after === "string") {
    const drawn = make("div", "", [...named, drawDiff(before, after, isOpen)]);
    return withRest(drawn, input, ["old_string", "new_string", "file_path"]);
  }
  if (typeof content === "string") {
    const drawn = make("div", "", [...named, longText(content, { isOpen })]);
    return withRest(drawn, input, ["content", "file_path"]);
  }
  const text = typeof rawInput === "string" ? rawInput : JSON.stringify(rawInput, null, 2);
  return longText(text ?? "", { isOpen });
}

/** What else the input says: nothing of what is asked about is left out. */
function withRest(drawn: HTMLElement, input: Record<string, unknown>, told: readonly string[]): HTMLElement {
  const rest = Object.fromEntries(Object.entries(input).filter(([name]) => !told.includes(name)));
  if (Object.keys(rest).length === 0) return drawn;
  return make("div", "", [drawn, longText(JSON.stringify(rest), { className: "rest" })]);
}

export function drawDiff(oldText: string, newText: string, isOpen = false): HTMLElement {
  const lines = diffLines(oldText, newText);
  const shown = isOpen ? lines : lines.slice(0, MAX_DIFF_LINES);
  const pre = make("pre", "text diff", shown.map(drawDiffLine));
  pre.tabIndex = 0;
  if (shown.length < lines.length) pre.append(`… ${lines.length - shown.length} lines more`);
  return pre;
}

const CLASSES: Record<DiffLine["sign"], string> = {
  "+": "added",
  "-": "removed",
  " ": "same",
  "…": "skipped",
};

function drawDiffLine({ sign, text }: DiffLine): HTMLElement {
  return make("span", CLASSES[sign], [`${sign} ${writeOutHidden(text)}\n`]);
}

function outcomeOf(result: Result | undefined, state: string): string {
  if (!result) return state === "running" ? "running" : "";
  const parts = [changeOf(result), cleanLine(failureOf(result)), durationOf(result)];
  return parts.filter((part) => part !== "").join(" · ");
}

function durationOf({ durationMs = 0 }: Result): string {
  return durationMs < WORTH_TELLING_MS ? "" : formatDuration(durationMs);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
