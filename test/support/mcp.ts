/** Calls of a thread's own tools, as its engine makes them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

interface Place {
  stateDir: string;
  url: string;
}

/** @returns what the model is told, a refusal too */
export async function callTool(
  place: Place,
  { threadId, name, input = {}, callId = "call" }: ToolUse,
): Promise<string> {
  const [said = ""] = await callTools(place, threadId, [{ name, input, callId }]);
  return said;
}

/** Calls that come in one request, all at the same instant. @returns as {@link callTool}, in their order */
export async function callTools(
  place: Place,
  threadId: string,
  calls: readonly Omit<ToolUse, "threadId">[],
): Promise<string[]> {
  const params = calls.map(({ name, input = {}, callId = "call" }) => ({
    name,
    arguments: input,
    _meta: { "claudecode/toolUseId": callId },
  }));
  const results = (await post(place, threadId, "tools/call", params)) as { content: { text: string }[] }[];
  return results.map(({ content }) => content[0]?.text ?? "");
}

/** All parts of what the model is told. */
export async function readAnswer(
  place: Place,
  { threadId, name, input = {}, callId = "call" }: ToolUse,
): Promise<{ type: string; text?: string; data?: string; mimeType?: string }[]> {
  const params = { name, arguments: input, _meta: { "claudecode/toolUseId": callId } };
  const [result] = await post(place, threadId, "tools/call", [params]);
  return (result as { content: Awaited<ReturnType<typeof readAnswer>> }).content;
}

/** @returns the names of all tools that a thread has */
export async function listTools(place: Place, threadId: string): Promise<string[]> {
  const [reply] = (await post(place, threadId, "tools/list", [{}])) as { tools: { name: string }[] }[];
  return reply?.tools.map(({ name }) => name) ?? [];
}

export interface ToolUse {
  threadId: string;
  name: string;
  input?: object;
  /** The engine's id of the call. */
  callId?: string;
}

async function post(
  { stateDir, url }: Place,
  threadId: string,
  method: string,
  params: readonly object[],
): Promise<unknown[]> {
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
    body: JSON.stringify(params.map((one, id) => ({ jsonrpc: "2.0", id, method, params: one }))),
  });
  const replies = [(await response.json()) as { result: unknown }[]].flat();
  return replies.map(({ result }) => result);
}
