/**
 * A stand-in for a model's HTTP API on 127.0.0.1: Anthropic Messages, chat completions, OpenAI Responses, and Google's
 * generateContent, each with server-sent events. It answers by the script that the conversation carries (agent/engines/demo/script.ts) and keeps every request.
 */
import { existsSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { nextRound, type Round, type Spoken } from "../../agent/engines/demo/script.ts";
import { until } from "../support/wait.ts";
import { messagesOfChat, sendChat } from "./chat-wire.ts";
import { messagesOfContents, messagesOfItems, sendItems, sendParts } from "./other-wires.ts";

interface Block {
  type: string;
  text?: string;
  id?: string;
  [field: string]: unknown;
}

/** A message as the API has it; system texts that came in mid-conversation have the role `system`. */
export interface ApiMessage {
  role: "user" | "assistant" | "system";
  content: string | Block[];
}

export interface ModelRequest {
  at: number;
  model: string;
  messages: ApiMessage[];
  system?: unknown;
  tools?: { name: string }[];
  /** In the place of `messages`, in the formats of OpenAI's Responses and of Google. */
  input?: unknown;
  contents?: unknown;
  headers?: IncomingHttpHeaders;
}

export interface Model {
  url: string;
  /** Every request for an answer, in order; counting of tokens is none. */
  requests: ModelRequest[];
  /** Its next answers, one each, are faulty in this way. */
  faults: Fault[];
  /** How often this text stands in the messages of the newest request. */
  timesInContext(text: string): number;
  close(): Promise<void>;
}

export interface Fault {
  /** It refuses in the place of the answer that the conversation's script has. */
  refuses?: { status: number; message: string };
  /** The stream ends before its end. */
  isCut?: boolean;
  /** In the place of each call's arguments: it need be no JSON. */
  rawArguments?: string;
  /** Ids of calls in chat completions as local servers give them: none, or one id for all, at index 0. */
  ids?: "none" | "same";
}

export interface ModelOptions {
  /** Whether the model calls again what a restart asks it to. */
  callsAgain?: boolean;
  /** Makes its answer from the conversation alone, in the place of the scripts that messages carry. */
  say?: (messages: readonly ApiMessage[]) => Round;
  /** What it answers when it is asked to sum up the conversation. */
  summary?: () => string;
}

export async function startModel(options: ModelOptions = {}): Promise<Model> {
  const requests: ModelRequest[] = [];
  const attempts = new Map<string, number>();
  const failures: unknown[] = [];
  const faults: Fault[] = [];
  const closing = new AbortController();
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (!closing.signal.aborted && !request.destroyed && !response.destroyed) failures.push(error);
      response.destroy();
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", "http://model").pathname;
    const text = await bodyOf(request);
    if (path.endsWith("/count_tokens")) return sendJson(response, 200, { input_tokens: tokensOf(text) });
    const wire = wireOf(path);
    if (!wire) return sendJson(response, 404, {});
    const asked = JSON.parse(text) as ModelRequest & { stream?: boolean };
    const raw = asked[wire.field] as never;
    requests.push({ ...asked, messages: raw, at: Date.now(), headers: request.headers });
    const body = { ...asked, messages: wire.read(raw), stream: asked.stream ?? wire.streams };
    const { refuses } = faults[0] ?? {};
    if (refuses) {
      faults.shift();
      return refuse(response, refuses);
    }
    const round = roundFor(body, options);
    if (round.waitFor) await appears(round.waitFor, closing.signal);
    if (round.delayMs) await sleep(round.delayMs, undefined, { signal: closing.signal });
    if (round.error && isRefused(round, body, attempts)) return refuse(response, round.error);
    const message = messageOf(round, body, tokensOf(text));
    if (!body.stream) return sendJson(response, 200, message);
    const fault = faults.shift() ?? {};
    const pause = async () => {
      if (round.pauseFor) await appears(round.pauseFor, closing.signal);
    };
    if (wire.send) await wire.send(response, message, fault, pause);
    else await stream(response, message, { ...round, ...fault }, closing.signal);
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    faults,
    timesInContext: (text) => (requests.length === 0 ? 0 : timesIn(requests[requests.length - 1]!, text)),
    close: async () => {
      closing.abort();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      if (failures.length > 0) throw new AggregateError(failures, "the loopback model failed");
    },
  };
}

interface Wire {
  /** The conversation's, in a request. */
  field: "messages" | "input" | "contents";
  read: (conversation: never) => ApiMessage[];
  /** Whether it streams if the request does not say so. */
  streams: boolean;
  /** Undefined for the format in which an answer is made. */
  send?: (
    response: ServerResponse,
    message: Answer,
    fault: Fault,
    pause: () => Promise<void>,
  ) => Promise<void>;
}

function wireOf(path: string): Wire | undefined {
  if (path.endsWith("/v1/messages"))
    return { field: "messages", read: (messages) => messages, streams: false };
  if (path.endsWith("/v1/chat/completions"))
    return { field: "messages", read: messagesOfChat, streams: false, send: sendChat };
  if (path.endsWith("/v1/responses"))
    return {
      field: "input",
      read: messagesOfItems,
      streams: false,
      send: (to, one, _, pause) => sendItems(to, one, pause),
    };
  if (!path.endsWith(":streamGenerateContent")) return undefined;
  const send: Wire["send"] = (to, one, _, pause) => sendParts(to, one, pause);
  return { field: "contents", read: messagesOfContents, streams: true, send };
}

/** How often this text stands in the request's messages, tool results included. */
export function timesIn({ messages }: ModelRequest, text: string): number {
  return strings(messages).reduce((sum, one) => sum + one.split(text).length - 1, 0);
}

function strings(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (value === null || typeof value !== "object") return [];
  return Object.values(value).flatMap(strings);
}

function roundFor({ messages, tools }: ModelRequest, { callsAgain, say, summary }: ModelOptions): Round {
  const conversation = messages.flatMap(spoken);
  const last = conversation[conversation.length - 1]?.text ?? "";
  if (/create a detailed summary|^Summarise this conversation/im.test(last))
    return { text: summary?.() ?? "<summary>The conversation so far.</summary>" };
  // A request without tools is one beside the conversation, such as for a title.
  if (!tools?.length) return { text: "A title" };
  if (say) return say(messages);
  return nextRound(conversation, callsAgain === undefined ? {} : { callsAgain }) ?? { text: "All said." };
}

/** What was said; the engine's own remarks are left out, but for the one that carries a message of the user's. */
function spoken({ role, content }: ApiMessage): Spoken[] {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const texts = blocks.flatMap(({ type, text }) => (type === "text" && text ? [text] : []));
  if (role === "assistant") return [{ role, text: texts.join("\n") }];
  const isRemark = (text: string) => role === "system" || text.startsWith("<system-reminder>");
  const isSaid = (text: string) => !isRemark(text) || text.includes("The user sent a new message");
  return texts.filter(isSaid).map((text) => ({ role: "user", text }));
}

function isRefused({ error }: Round, { messages }: ModelRequest, attempts: Map<string, number>): boolean {
  const key = JSON.stringify(messages.flatMap(spoken));
  const attempt = (attempts.get(key) ?? 0) + 1;
  attempts.set(key, attempt);
  return attempt <= (error?.times ?? Number.POSITIVE_INFINITY);
}

const ERROR_TYPES: Record<number, string> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
  529: "overloaded_error",
};

function refuse(response: ServerResponse, { status, message, limit }: NonNullable<Round["error"]>): void {
  const type = ERROR_TYPES[status] ?? "api_error";
  if (limit) for (const [name, value] of limitHeaders(limit)) response.setHeader(name, value);
  sendJson(response, status, {
    type: "error",
    error: { type, message: message ?? `refused with ${status}` },
  });
}

/** By which a subscription's API says that the account has reached its limit. */
function limitHeaders({ resetsInSeconds }: { resetsInSeconds?: number | undefined }): [string, string][] {
  const prefix = "anthropic-ratelimit-unified";
  const resetsAt = Math.ceil(Date.now() / 1_000) + (resetsInSeconds ?? 0);
  return [
    [`${prefix}-status`, "rejected"],
    [`${prefix}-representative-claim`, "five_hour"],
    ["x-should-retry", "false"],
    ...(resetsInSeconds === undefined ? [] : [[`${prefix}-reset`, String(resetsAt)] as [string, string]]),
  ];
}

let lastId = 0;
type Answer = ReturnType<typeof messageOf>;

function messageOf(round: Round, { model }: ModelRequest, inputTokens: number) {
  const content: Block[] = [];
  if (round.thinking) content.push({ type: "thinking", thinking: round.thinking, signature: "c2ln" });
  if (round.text) content.push({ type: "text", text: round.text });
  for (const { name, input } of round.tools ?? []) {
    content.push({ type: "tool_use", id: `toolu_${process.pid}_${++lastId}`, name, input });
  }
  return {
    id: `msg_${process.pid}_${++lastId}`,
    type: "message" as const,
    role: "assistant" as const,
    model,
    content,
    stop_reason: round.tools?.length ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: {
      input_tokens: round.inputTokens ?? inputTokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: round.outputTokens ?? tokensOf(JSON.stringify(content)),
    },
  };
}

const tokensOf = (text: string): number => Math.ceil(text.length / 4);

async function stream(
  response: ServerResponse,
  message: ReturnType<typeof messageOf>,
  round: Round & Fault,
  signal: AbortSignal,
): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  const send = (type: string, fields: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
  const { content, stop_reason, stop_sequence, usage } = message;
  send("message_start", {
    message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
  });
  for (const [index, block] of content.entries()) {
    const { start, deltas } = pieces(block, round.rawArguments);
    send("content_block_start", { index, content_block: start });
    for (const [at, delta] of deltas.entries()) {
      if (at > 0 && round.pieceMs) await sleep(round.pieceMs, undefined, { signal });
      send("content_block_delta", { index, delta });
      if (at === 0 && block.type === "text" && round.pauseFor) await appears(round.pauseFor, signal);
    }
    send("content_block_stop", { index });
  }
  if (round.isCut) return void response.end();
  send("message_delta", { delta: { stop_reason, stop_sequence }, usage });
  send("message_stop", {});
  response.end();
}

/** A block as it begins, and the deltas that complete it. */
function pieces(block: Block, rawArguments?: string): { start: object; deltas: object[] } {
  if (block.type === "thinking") {
    const deltas = [
      ...cut(String(block["thinking"])).map((thinking) => ({ type: "thinking_delta", thinking })),
      { type: "signature_delta", signature: block["signature"] },
    ];
    return { start: { type: "thinking", thinking: "", signature: "" }, deltas };
  }
  if (block.type === "text") {
    const deltas = cut(block.text ?? "").map((text) => ({ type: "text_delta", text }));
    return { start: { type: "text", text: "" }, deltas };
  }
  const deltas = cut(rawArguments ?? JSON.stringify(block["input"])).map((partial_json) => ({
    type: "input_json_delta",
    partial_json,
  }));
  return { start: { ...block, input: {} }, deltas };
}

/** Words by tens, or characters by thousands, whichever is longer: a long input is not a hundred thousand lines. */
function cut(text: string): string[] {
  const length = Math.max(40, Math.ceil(text.length / 100));
  const count = Math.ceil(text.length / length);
  return Array.from({ length: count }, (_, index) => text.slice(index * length, (index + 1) * length));
}

async function appears(file: string, signal: AbortSignal): Promise<void> {
  await until(`the file ${file}`, () => signal.aborted || existsSync(file), { timeoutMs: 600_000 });
  signal.throwIfAborted();
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
