/** Matches a line of ours with claude's echo of it, or its reply. Pure. */
import type { Receipt } from "../../folder/sent-lines.ts";
import { asRecord } from "./tools.ts";

/** Undefined of lines of all other kinds. */
export function receiptOf(line: string): Receipt | undefined {
  if (!line.includes('"control_re')) return undefined;
  const { type, request_id: requestId, response } = asRecord(JSON.parse(line));
  if (type === "control_request") return { kind: "request", id: String(requestId), body: "" };
  if (type !== "control_response") return undefined;
  return { kind: "answer", id: String(asRecord(response)["request_id"]), body: inOrder(response) };
}

/** The same text for the same value, in whatever order its fields come. */
function inOrder(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    part !== null && typeof part === "object" && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
