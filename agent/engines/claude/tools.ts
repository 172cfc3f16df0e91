/** What people see of claude's tools: kinds, titles, places, results. Pure. */
import { relative } from "node:path";
import { subjectField } from "../../../shared/agent/detail.ts";
import type { ToolContent, ToolKind } from "../../../shared/agent/values.ts";
import { ownValue } from "../../../shared/own-value.ts";
import type { ClaudeBlock } from "./lines.ts";

const KINDS: Record<string, ToolKind> = {
  Bash: "execute",
  Read: "read",
  Write: "edit",
  Edit: "edit",
  NotebookEdit: "edit",
  Glob: "search",
  Grep: "search",
  WebSearch: "search",
  WebFetch: "fetch",
  Agent: "think",
  Task: "think",
  EnterPlanMode: "switch_mode",
  ExitPlanMode: "switch_mode",
};

const MAX_TITLE = 200;

export function kindOf(name: string): ToolKind {
  return ownValue(KINDS, name) ?? "other";
}

export function titleOf(name: string, input: unknown, cwd: string): string {
  const fields = asRecord(input);
  const field = subjectField(fields);
  const found = field === undefined ? undefined : fields[field];
  if (typeof found !== "string") return name;
  const subject = found.startsWith("/") ? within(found, cwd) : found;
  const line = `${name} ${subject.replace(/\s+/g, " ").trim()}`;
  return line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE - 1)}…` : line;
}

export function locationsOf(input: unknown, cwd: string): { path: string; line?: number }[] | undefined {
  const { file_path, notebook_path, path, offset } = asRecord(input);
  const found = [file_path, notebook_path, path].find((value) => typeof value === "string");
  if (typeof found !== "string") return undefined;
  return [{ path: within(found, cwd), ...(typeof offset === "number" && { line: Math.trunc(offset) }) }];
}

export function resultContent(block: ClaudeBlock, result: unknown, cwd: string): ToolContent[] {
  const { filePath, oldString, newString, originalFile, content, type } = asRecord(result);
  if (!block.is_error && typeof filePath === "string") {
    const path = within(filePath, cwd);
    if (typeof oldString === "string" && typeof newString === "string") {
      return [{ type: "diff", path, oldText: oldString, newText: newString }];
    }
    if (typeof content === "string" && (type === "create" || type === "update")) {
      const oldText = typeof originalFile === "string" ? originalFile : null;
      return [{ type: "diff", path, oldText, newText: content }];
    }
  }
  const text = textOf(block.content);
  return text === "" ? [] : [{ type: "content", content: { type: "text", text } }];
}

export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part) => {
      const { type, text } = asRecord(part);
      return typeof text === "string" ? text : `[${String(type)}]`;
    })
    .join("\n");
}

export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function within(path: string, cwd: string): string {
  const short = relative(cwd, path);
  return short === "" || short.startsWith("..") ? path : short;
}
