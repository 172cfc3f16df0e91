/**
 * The Model Context Protocol over HTTP, without sessions: each request stands for itself, so a restart of the sidecar
 * breaks nothing for an engine that goes on.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import * as z from "zod";
import { findCallId } from "../../shared/agent/engines/engines.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { lazy } from "../../shared/lazy.ts";
import type { Log } from "../../shared/log.ts";
import { VERSION } from "../../shared/version.ts";
import type { MayUse } from "./may-use.ts";
import type { Tool, ToolAnswer } from "./tool.ts";

/** It is written into transcripts. */
const MAX_CALL_ID = 200;
/** How many calls of one thread may be under way: each may read or wait, and one request may hold thousands. */
const MAX_CALLS = 50;

export interface McpRequest {
  threadId: ThreadId;
  request: IncomingMessage;
  response: ServerResponse;
  body: unknown;
  signal: AbortSignal;
}

export interface McpServerOptions {
  mayUse: MayUse;
  log: Log;
}

export class McpServer {
  readonly #tools: readonly Tool[];
  /** Made for the first engine that asks. */
  readonly #descriptions: () => ReturnType<typeof describe>[];
  readonly #mayUse: McpServerOptions["mayUse"];
  readonly #log: Log;
  /** By thread: how many calls are under way. */
  readonly #calls = new Map<string, number>();

  constructor(tools: readonly Tool[], { mayUse, log }: McpServerOptions) {
    this.#tools = tools;
    this.#descriptions = lazy(() => tools.map(describe));
    this.#mayUse = mayUse;
    this.#log = log;
  }

  async handle({ threadId, request, response, body, signal }: McpRequest): Promise<void> {
    const { Server, CallToolRequestSchema, ListToolsRequestSchema, Transport } = await loadSdk();
    const server = new Server({ name: "threadmux", version: VERSION }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: this.#listFor(threadId) }));
    server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
      const callId = findCallId(params._meta);
      const told = { threadId, input: params.arguments ?? {}, signal };
      return this.#call(params.name, { ...told, callId: typeof callId === "string" ? callId : undefined });
    });
    const transport = new Transport({ enableJsonResponse: true });
    response.once("close", () => {
      void transport.close();
      void server.close();
    });
    // The SDK's types are not made for exact optional properties.
    await server.connect(transport as Parameters<typeof server.connect>[0]);
    await transport.handleRequest(request, response, body);
  }

  #listFor(threadId: ThreadId) {
    return this.#descriptions().filter((_, at) => this.#tools[at]?.isFor?.(threadId) ?? true);
  }

  async #call(name: string, call: Parameters<Tool["run"]>[0]) {
    const { threadId } = call;
    const named = this.#tools.filter((one) => one.name === name);
    const tool = named.find(({ isFor }) => isFor?.(threadId) ?? true) ?? named[0];
    const underWay = this.#calls.get(threadId) ?? 0;
    this.#calls.set(threadId, underWay + 1);
    try {
      if (underWay >= MAX_CALLS)
        throw new AppError("rate_limited", `${underWay} calls of this thread are under way; wait for them.`);
      if (call.callId !== undefined && call.callId.length > MAX_CALL_ID)
        throw new AppError("invalid_request", `The call's id is longer than ${MAX_CALL_ID} characters.`);
      if (!tool) throw new AppError("not_found", `There is no tool ${JSON.stringify(name)}.`);
      if (tool.right !== "none") await this.#mayUse(threadId, tool.right);
      this.#log.info({ threadId, tool: name }, "an agent uses a tool");
      return { content: contentOf(await tool.run(call)) };
    } catch (error) {
      return {
        content: [{ type: "text" as const, text: this.#sentenceOf(error, threadId, name) }],
        isError: true,
      };
    } finally {
      const left = (this.#calls.get(threadId) ?? 1) - 1;
      if (left > 0) this.#calls.set(threadId, left);
      else this.#calls.delete(threadId);
    }
  }

  #sentenceOf(error: unknown, threadId: ThreadId, tool: string): string {
    if (error instanceof AppError && error.code !== "internal") return error.message;
    if (error instanceof z.ZodError) return `The input is wrong: ${z.prettifyError(error)}`;
    this.#log.error({ threadId, tool, err: error }, "a tool failed");
    return "Something went wrong in threadmux; its log says what.";
  }
}

function contentOf(answer: string | ToolAnswer) {
  if (typeof answer === "string") return [{ type: "text" as const, text: answer }];
  const { text, picture } = answer;
  const image = { type: "image" as const, data: picture.toString("base64"), mimeType: "image/png" };
  return [{ type: "text" as const, text }, image];
}

function describe({ name, description, inputSchema }: Tool) {
  const { $schema, ...schema } = z.toJSONSchema(inputSchema, { io: "input" });
  return { name, description, inputSchema: { ...schema, type: "object" as const } };
}

/** Loaded when the first engine asks: it is half of what the sidecar would load at its start. */
async function loadSdk() {
  const [{ Server }, { StreamableHTTPServerTransport }, types] = await Promise.all([
    import("@modelcontextprotocol/sdk/server/index.js"),
    import("@modelcontextprotocol/sdk/server/streamableHttp.js"),
    import("@modelcontextprotocol/sdk/types.js"),
  ]);
  const { CallToolRequestSchema, ListToolsRequestSchema } = types;
  return { Server, Transport: StreamableHTTPServerTransport, CallToolRequestSchema, ListToolsRequestSchema };
}
