/** Calls a server's tool over HTTP, as the engine does. */
import { readFileSync } from "node:fs";
import * as z from "zod";
import { bodyOf, readTextAtMost } from "../../../shared/read-at-most.ts";
import type { Call } from "./script.ts";
import { fault, type Outcome } from "./tools.ts";

const Config = z.object({
  mcpServers: z.record(z.string(), z.object({ url: z.string(), headers: z.record(z.string(), z.string()) })),
});
const Reply = z.object({
  result: z
    .object({
      content: z.array(z.object({ type: z.string(), text: z.string().optional() })).default([]),
      isError: z.boolean().optional(),
    })
    .optional(),
  error: z.object({ message: z.string() }).optional(),
});

const PROTOCOL_VERSION = "2025-06-18";
const MAX_REPLY_BYTES = 64 * 1024 * 1024;

/** `mcp__<server>__<tool>`. */
export async function callMcpTool(
  { name, input }: Call,
  toolUseId: string,
  configFile: string | undefined,
  signal: AbortSignal,
): Promise<Outcome> {
  const [, server = "", tool = ""] = /^mcp__(.+?)__([\s\S]+)$/.exec(name) ?? [];
  const found = configFile === undefined ? undefined : readConfig(configFile)?.mcpServers[server];
  if (!found) return fault(`<tool_use_error>Error: No such tool available: ${name}</tool_use_error>`);
  const post = async (message: object) => {
    const headers = {
      ...found.headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": PROTOCOL_VERSION,
    };
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    return fetch(found.url, { method: "POST", headers, body, signal });
  };
  try {
    const clientInfo = { name: "demo", version: "1" };
    await post({
      id: 1,
      method: "initialize",
      params: { protocolVersion: PROTOCOL_VERSION, capabilities: {}, clientInfo },
    });
    await post({ method: "notifications/initialized" });
    const params = { name: tool, arguments: input, _meta: { "claudecode/toolUseId": toolUseId } };
    const response = await post({ id: 2, method: "tools/call", params });
    const answer = await readTextAtMost(bodyOf(response), MAX_REPLY_BYTES);
    if (answer === undefined) throw new Error(`its answer has more than ${MAX_REPLY_BYTES} bytes`);
    const reply = Reply.parse(JSON.parse(answer));
    const text = (reply.result?.content ?? []).map((part) => part.text ?? "").join("\n");
    if (!reply.result || reply.result.isError) return fault(reply.error?.message ?? text);
    return { content: text, isError: false, result: reply.result.content };
  } catch (error) {
    signal.throwIfAborted();
    return fault(String(error));
  }
}

function readConfig(file: string): z.infer<typeof Config> | undefined {
  try {
    return Config.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return undefined; // such tools are not there
  }
}
