/** The thread's own tools, and other servers of its configuration, over MCP by HTTP. */
import { readFileSync } from "node:fs";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import * as z from "zod";
import { findImageType, IMAGE_BEGINNING_BYTES } from "../../../shared/agent/attachments.ts";
import { errorText } from "../../../shared/errors.ts";
import { formatCount } from "../../../shared/format-count.ts";
import { readTextAtMost } from "../../../shared/read-at-most.ts";
import type { AnyTool, ToolContext, ToolResult } from "./tools/tool.ts";

const configSchema = z.object({
  mcpServers: z.record(
    z.string(),
    z.object({ url: z.string(), headers: z.record(z.string(), z.string()).default({}) }),
  ),
});
type Server = z.infer<typeof configSchema>["mcpServers"][string];

const listSchema = z.object({
  tools: z.array(
    z.object({
      name: z.string(),
      description: z.string().default(""),
      inputSchema: z.record(z.string(), z.unknown()),
    }),
  ),
});
const resultSchema = z.object({
  content: z
    .array(
      z.object({
        type: z.string(),
        text: z.string().optional(),
        /** The image, in base64. */
        data: z.string().optional(),
      }),
    )
    .default([]),
  isError: z.boolean().default(false),
});
const replySchema = z.object({
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});

const PROTOCOL_VERSION = "2025-06-18";
const LIST_MS = 5_000;
const MAX_SUBJECT = 100;
/** More than the text and the images that the model is given of one result. */
const MAX_REPLY_BYTES = 64 * 1024 * 1024;
/** The longest text of one result: as much as the longest of our own, a page of `read`. */
const MAX_TEXT_BYTES = 64 * 1024;
/** The most images of one result. */
const MAX_IMAGES = 4;
/** In base64, of one image. */
const MAX_IMAGE_CHARACTERS = 5_000_000;

/** The servers of a thread, and what of them needs no ask. */
export interface McpServers {
  /** The file that names them; undefined if there are none. */
  file: string | undefined;
  /** The tools, or whole servers (`mcp__threadmux`), that are not asked about. */
  allowed: readonly string[];
}

export interface McpTools {
  tools: AnyTool[];
  /** Names of the servers that did not answer. */
  missing: string[];
  /** A sentence for people about each of those. */
  problems: string[];
}

/** @param only asks the servers of these names; left out, all. */
export async function findMcpTools(
  { file, allowed }: McpServers,
  { only, signal }: { only?: readonly string[]; signal?: AbortSignal } = {},
): Promise<McpTools> {
  const found: McpTools = { tools: [], missing: [], problems: [] };
  if (file === undefined) return found;
  const { mcpServers } = configSchema.parse(JSON.parse(readFileSync(file, "utf8")));
  for (const [name, server] of Object.entries(mcpServers)) {
    if (only && !only.includes(name)) continue;
    const late = AbortSignal.timeout(LIST_MS);
    try {
      const listed = await post(server, "tools/list", {}, signal ? AbortSignal.any([signal, late]) : late);
      const { tools } = listSchema.parse(listed);
      found.tools.push(...tools.map((tool) => toolOf(name, server, tool, allowed)));
    } catch (error) {
      found.missing.push(name);
      found.problems.push(
        `The tools of ${name} are not there: ${errorText(error)}. They are looked for again before each call of the model.`,
      );
    }
  }
  return found;
}

function toolOf(
  serverName: string,
  server: Server,
  { name: toolName, description, inputSchema: schema }: z.infer<typeof listSchema>["tools"][number],
  allowed: readonly string[],
): AnyTool {
  const name = `mcp__${serverName}__${toolName}`;
  const isAllowed = allowed.includes(name) || allowed.includes(`mcp__${serverName}`);
  return {
    name,
    description,
    schema,
    kind: "other",
    isRepeatable: false,
    call: (input) => ({
      asksAs: () => (isAllowed ? "nothing" : "tool"),
      subject: subjectOf(input),
      writes: () => [],
      run: (context) => callTool(server, toolName, input, context),
    }),
  };
}

async function callTool(
  server: Server,
  name: string,
  input: unknown,
  { callId, signal }: ToolContext,
): Promise<ToolResult> {
  try {
    const params = { name, arguments: input ?? {}, _meta: { "threadmux/callId": callId } };
    const { content, isError } = resultSchema.parse(await post(server, "tools/call", params, signal));
    const images = imagesOf(content);
    return {
      text: bounded(content.flatMap(({ text }) => text ?? []).join("\n")),
      isError,
      ...(images.length > 0 && { images }),
    };
  } catch (error) {
    const text = signal.aborted ? "The turn was stopped." : errorText(error);
    return { text: bounded(text), isError: true };
  }
}

/** The beginning and the end of a text that is too long for a conversation. */
function bounded(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= MAX_TEXT_BYTES) return text;
  const half = MAX_TEXT_BYTES / 2;
  const leftOut = formatCount(bytes.length - MAX_TEXT_BYTES);
  const [head, tail] = [bytes.subarray(0, half), bytes.subarray(-half)].map((part) => part.toString("utf8"));
  return `${head}\n\n… ${leftOut} bytes are left out …\n\n${tail}`;
}

/** Those that models take, by what they are and not by what the server says. */
function imagesOf(content: z.infer<typeof resultSchema>["content"]): NonNullable<ToolResult["images"]> {
  return content
    .filter(({ type, data }) => type === "image" && data !== undefined && data.length <= MAX_IMAGE_CHARACTERS)
    .slice(0, MAX_IMAGES)
    .flatMap(({ data: base64 = "" }) => {
      const data = Buffer.from(base64, "base64");
      const mediaType = findImageType(data.subarray(0, IMAGE_BEGINNING_BYTES));
      return mediaType ? [{ mediaType, data }] : [];
    });
}

/** A call may wait for another thread for a day: it ends when the server answers, or the person stops it. */
async function post(server: Server, method: string, params: object, signal: AbortSignal): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const headers = {
    ...server.headers,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": PROTOCOL_VERSION,
  };
  const send = server.url.startsWith("https:") ? requestHttps : requestHttp;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = send(server.url, { method: "POST", headers, signal }, resolve);
    request.on("error", reject);
    request.end(body);
  });
  const text = await readTextAtMost(response, MAX_REPLY_BYTES);
  if (text === undefined) throw new Error(`its answer has more than ${MAX_REPLY_BYTES} bytes`);
  if (response.statusCode !== 200) throw new Error(`it answers with ${response.statusCode}`);
  const { result, error } = replySchema.parse(JSON.parse(text));
  if (error) throw new Error(error.message);
  return result;
}

/** The part of the call that people see: its first word of text. */
function subjectOf(input: unknown): string {
  const first = Object.values((input ?? {}) as Record<string, unknown>).find(
    (value) => typeof value === "string" && value !== "",
  );
  return String(first ?? "").slice(0, MAX_SUBJECT);
}
