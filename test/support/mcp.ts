/** Calls of a thread's own tools, as its engine makes them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** @returns what the model is told, a refusal too */
export async function callTool(
  { stateDir, url }: { stateDir: string; url: string },
  { threadId, name, input = {}, callId = "call" }: ToolUse,
): Promise<string> {
  const file = join(stateDir, "threads", threadId, "mcp.json");
  const { headers } = JSON.parse(readFileSync(file, "utf8")).mcpServers.threadmux;
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      ...headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-06-18",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name, arguments: input, _meta: { "claudecode/toolUseId": callId } },
    }),
  });
  const reply = (await response.json()) as { result: { content: { text: string }[] } };
  return reply.result.content[0]?.text ?? "";
}

export interface ToolUse {
  threadId: string;
  name: string;
  input?: object;
  /** The engine's id of the call. */
  callId?: string;
}
