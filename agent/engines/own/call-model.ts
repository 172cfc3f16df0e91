/** One call of the model: what it said, piece by piece, or why it said nothing. */
import {
  jsonSchema,
  type LanguageModel,
  type LanguageModelUsage,
  type ModelMessage,
  streamText,
  type TextStreamPart,
  type ToolSet,
  tool,
} from "ai";
import type { Usage } from "../../../shared/agent/values.ts";
import type { Mapping } from "./mapping.ts";
import { systemMessage, withCacheMarks } from "./messages.ts";
import { LongAnswer, MAX_ANSWER_CHARACTERS } from "./transport.ts";

export type ProviderOptions = NonNullable<Parameters<typeof streamText>[0]["providerOptions"]>;

export interface ModelRequest {
  model: LanguageModel;
  /** The provider's own way to be given the system prompt and to be told what to cache. */
  mapping: Pick<Mapping, "system" | "cache">;
  system: string;
  messages: readonly ModelMessage[];
  tools: readonly ToolSpec[];
  /** False: it is to answer in words alone. */
  mayCall: boolean;
  maxOutputTokens: number;
  temperature: number | undefined;
  providerOptions: ProviderOptions;
  /** How long the whole answer may take. */
  timeoutMs: number | undefined;
  signal: AbortSignal;
  onText: (text: string, isThought: boolean) => void;
}

export interface ToolSpec {
  name: string;
  description: string;
  schema: Record<string, unknown>;
}

export type ReplyPiece =
  | { type: "text" | "thought"; text: string; options: unknown }
  | { type: "call"; name: string; input: unknown; problem?: string | undefined; options?: unknown };

export interface Reply {
  pieces: ReplyPiece[];
  usage: Usage | undefined;
  /** `length`: it was cut off by the largest length of an answer. */
  finish: string;
  ttftMs: number | undefined;
}

/** A stream that ends before its end: only that the reason for its end is missing tells it from a whole answer. */
export class CutStream extends Error {
  constructor() {
    super("its answer was cut off");
  }
}

/** It took longer than a call may take. */
export class LateAnswer extends Error {
  constructor(ms: number) {
    super(`its answer was not there after ${ms / 1_000} s`);
  }
}

/** The person has stopped it; `pieces` is what was said until then. */
export class Stopped extends Error {
  readonly pieces: ReplyPiece[];
  constructor(pieces: ReplyPiece[]) {
    super("stopped");
    this.pieces = pieces;
  }
}

/** @throws Stopped, CutStream, LateAnswer, LongAnswer, or what the provider or the network says */
export async function callModel(request: ModelRequest): Promise<Reply> {
  const { model, mapping, system, messages, tools, mayCall } = request;
  const { maxOutputTokens, temperature, timeoutMs, signal } = request;
  const late = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  const given = new AbortController();
  const startedMs = performance.now();
  const collector = new Collector(request.onText);
  const { fullStream } = streamText({
    model,
    system: systemMessage(system, mapping),
    messages: withCacheMarks(messages, mapping),
    tools: toolSet(tools),
    toolChoice: mayCall ? "auto" : "none",
    maxRetries: 0, // it would wait in silence, and not try again in the midst of an answer
    maxOutputTokens,
    ...(temperature !== undefined && { temperature }),
    providerOptions: request.providerOptions,
    abortSignal: AbortSignal.any([signal, given.signal, ...(late ? [late] : [])]),
    onError: () => {},
  });
  try {
    for await (const part of fullStream) {
      if (part.type === "error") throw part.error;
      if (part.type === "abort") break;
      collector.take(part, performance.now() - startedMs);
    }
  } catch (error) {
    given.abort(); // nobody reads the rest
    if (!signal.aborted && !late?.aborted) throw error;
  }
  if (signal.aborted) throw new Stopped(collector.pieces);
  if (late?.aborted) throw new LateAnswer(timeoutMs ?? 0);
  const { finish } = collector;
  if (finish === undefined) throw new CutStream();
  return { pieces: collector.pieces, usage: collector.usage, finish, ttftMs: collector.ttftMs };
}

class Collector {
  readonly pieces: ReplyPiece[] = [];
  usage: Usage | undefined;
  finish: string | undefined;
  ttftMs: number | undefined;
  readonly #onText: ModelRequest["onText"];
  #characters = 0;
  readonly #written = new Map<string, Extract<ReplyPiece, { text: string }>>();

  constructor(onText: ModelRequest["onText"]) {
    this.#onText = onText;
  }

  take(part: TextStreamPart<ToolSet>, ms: number): void {
    if (part.type === "tool-input-delta") this.#count(part.delta);
    if (part.type === "text-delta" || part.type === "reasoning-delta") this.#count(part.text);
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        this.#begin(part);
        return;
      case "text-delta":
      case "reasoning-delta": {
        this.ttftMs ??= Math.round(ms);
        const piece = this.#written.get(part.id);
        if (!piece) return;
        piece.text += part.text;
        piece.options = part.providerMetadata ?? piece.options;
        this.#onText(piece.text, piece.type === "thought");
        return;
      }
      case "text-end":
      case "reasoning-end": {
        const piece = this.#written.get(part.id);
        if (piece) piece.options = part.providerMetadata ?? piece.options;
        return;
      }
      case "tool-call": {
        const problem = part.invalid ? problemOf(part.error) : undefined;
        const { toolName: name, input, providerMetadata: options } = part;
        this.pieces.push({ type: "call", name, input: problem === undefined ? input : {}, problem, options });
        return;
      }
      case "finish-step":
        this.usage = usageOf(part.usage);
        this.finish = part.rawFinishReason ?? knownFinish(part.finishReason);
        return;
      default:
        return;
    }
  }

  /** @throws LongAnswer */
  #count({ length }: string): void {
    this.#characters += length;
    if (this.#characters > MAX_ANSWER_CHARACTERS) throw new LongAnswer();
  }

  #begin(part: { type: "text-start" | "reasoning-start"; id: string; providerMetadata?: unknown }): void {
    const type = part.type === "text-start" ? "text" : "thought";
    const piece = { type, text: "", options: part.providerMetadata } as const;
    const started = { ...piece };
    this.#written.set(part.id, started);
    this.pieces.push(started);
  }
}

/** Without a word of the provider these stand for "it ended somehow". */
function knownFinish(reason: string): string | undefined {
  return ["other", "unknown", "error"].includes(reason) ? undefined : reason;
}

function problemOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.length > 1_000 ? `${text.slice(0, 999)}…` : text;
}

/** The provider's count of what it read holds what came from its cache and went there. */
function usageOf({
  inputTokens = 0,
  outputTokens = 0,
  inputTokenDetails,
  outputTokenDetails,
}: LanguageModelUsage): Usage {
  const { cacheReadTokens: read, cacheWriteTokens: written } = inputTokenDetails;
  const { reasoningTokens: thought } = outputTokenDetails;
  return {
    inputTokens: Math.max(0, inputTokens - (read ?? 0) - (written ?? 0)),
    outputTokens,
    ...(read !== undefined && { cachedReadTokens: read }),
    ...(written !== undefined && { cachedWriteTokens: written }),
    ...(thought !== undefined && { thoughtTokens: thought }),
  };
}

/** Without a way to run them: the loop does that. */
function toolSet(specs: readonly ToolSpec[]): ToolSet {
  return Object.fromEntries(
    specs.map(({ name, description, schema }) => [
      name,
      tool({ description, inputSchema: jsonSchema(schema) }),
    ]),
  );
}
