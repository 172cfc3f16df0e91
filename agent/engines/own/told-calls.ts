/** Events that tell the transcript of calls, and the state of a call that a death cut off. */
import type { EventBody } from "../../../shared/agent/events.ts";
import type { Block, ToolContent } from "../../../shared/agent/values.ts";
import { errorText } from "../../../shared/errors.ts";
import { type Call, textContent } from "./history.ts";
import { settleWrites } from "./tools/change-files.ts";
import type { ToolCall, ToolResult } from "./tools/tool.ts";

const MAX_TITLE = 200;

export async function runTool(call: ToolCall, context: Parameters<ToolCall["run"]>[0]): Promise<ToolResult> {
  try {
    return await call.run(context);
  } catch (error) {
    return { text: `The tool failed: ${errorText(error)}`, isError: true };
  }
}

export function failed(toolCallId: string, content: ToolContent[]) {
  const base = { type: "tool_call_update" as const, toolCallId, status: "failed" as const };
  return content.length > 0 ? { ...base, content } : base;
}

export function endOf(
  { callId: toolCallId }: Call,
  { text, isError, diffs = [] }: ToolResult,
  reason?: "interrupted",
  pictures: readonly Block[] = [],
): EventBody<"tool_call_update"> {
  const shown = diffs.map((diff): ToolContent => ({ type: "diff", ...diff }));
  const seen = pictures.map((content): ToolContent => ({ type: "content", content }));
  return {
    type: "tool_call_update",
    toolCallId,
    status: isError ? "failed" : "completed",
    content: [...(text === "" ? [] : [textContent(text)]), ...shown, ...seen],
    ...(reason && { reason }),
  };
}

/** The runner ended it when the process died: it knows nothing of the call. */
export function isBare({ end }: Call): boolean {
  return end?.reason === "interrupted" && end.content.length === 0;
}

/** Finds how far a call that had begun came: if it writes files, the files say so. */
export function stateOf({ callId, files }: Call): "completed" | "run" | "unknown" {
  if (files.length === 0) return "unknown";
  const changes = files.flatMap(({ path: file, before, after }) =>
    before === undefined || after === undefined ? [] : [{ file, old: before, new: after }],
  );
  return changes.length < files.length ? "unknown" : settleWrites(changes, callId);
}

export function titleOf(name: string, subject: string): string {
  const line = `${name} ${subject.replace(/\s+/g, " ").trim()}`.trim();
  return line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE - 1)}…` : line;
}

export function pathIn(input: unknown): string | undefined {
  const { file_path: path } = (input ?? {}) as { file_path?: unknown };
  return typeof path === "string" ? path : undefined;
}
