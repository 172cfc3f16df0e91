/**
 * Notices two faults that a local model server does not report, so that the thread names each once: a conversation cut
 * at the front, and calls written as text.
 */
import type { ModelMessage } from "ai";
import type { EventBody } from "../../../shared/agent/events.ts";
import { formatCount } from "../../../shared/format-count.ts";
import type { Reply, ToolSpec } from "./call-model.ts";

/** Fewer characters make a token in any text that is more than blanks. */
const MAX_CHARACTERS_A_TOKEN = 12;
/** A request that has grown by so many characters has more tokens. */
const GROWN = 2_000;
const MAX_LOOKED_AT = 20_000;
const MAX_DEPTH = 50;

const CUT = "The server seems to cut the conversation at its front";
const AS_TEXT = "The model writes its calls as text, so nothing is run";

/** Marks with which models write a call that their server does not take for one. */
const MARKS = /<tool_call>|<function[=_]|\[TOOL_CALLS\]|<\|tool_call|<\|python_tag\|>|✿FUNCTION✿/;

export interface Sent {
  /** The request's length, without images. */
  characters: number;
}

export class LocalServer {
  #last: { by: string; characters: number; inputTokens: number } | undefined;

  /** @returns what is to be said of this answer, whether it was said before or not */
  look(
    by: string,
    { characters }: Sent,
    { pieces, usage }: Pick<Reply, "pieces" | "usage">,
    tools: readonly Pick<ToolSpec, "name">[],
  ): EventBody<"notice">[] {
    const { inputTokens = 0, cachedReadTokens = 0, cachedWriteTokens = 0 } = usage ?? {};
    const read = inputTokens + cachedReadTokens + cachedWriteTokens;
    const isCut = read > 0 && this.#isCut(by, characters, read);
    if (read > 0) this.#last = { by, characters, inputTokens: read };
    const said = pieces.flatMap((piece) => (piece.type === "text" ? [piece.text] : [])).join("\n");
    const hasCalls = pieces.some(({ type }) => type === "call");
    return [
      ...(isCut ? [notice(CUT, cutText(characters, read))] : []),
      ...(!hasCalls && looksLikeCall(said, tools) ? [notice(AS_TEXT, TEXT_CALLS)] : []),
    ];
  }

  #isCut(by: string, characters: number, read: number): boolean {
    if (characters > read * MAX_CHARACTERS_A_TOKEN) return true;
    const last = this.#last?.by === by ? this.#last : undefined;
    return last !== undefined && characters >= last.characters + GROWN && read <= last.inputTokens;
  }
}

export function charactersOf(
  system: string,
  messages: readonly ModelMessage[],
  tools: readonly ToolSpec[],
): number {
  return system.length + lengthOf(messages) + lengthOf(tools);
}

/** A model can nest a call's input as deep as it likes: what is too deep counts for nothing. */
function lengthOf(value: unknown, depth = 0): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return 0;
  if (depth > MAX_DEPTH) return 0;
  return Object.entries(value).reduce(
    (sum, [name, part]) => sum + name.length + lengthOf(part, depth + 1),
    0,
  );
}

const TEXT_CALLS =
  "Its server does not give it the tools in the form that it knows. Start the server with support for tool calls (llama-server: --jinja; vLLM: --enable-auto-tool-choice), or choose a model that has it.";

function cutText(characters: number, read: number): string {
  const about = formatCount(Math.round(characters / 4));
  return `It read ${formatCount(read)} tokens of about ${about}: the model may not know what it was asked. Give the server a longer context (ollama: OLLAMA_CONTEXT_LENGTH=64000; llama-server: --ctx-size), and threads a smaller one than that by params.maxInputTokens.`;
}

function notice(title: string, description: string): EventBody<"notice"> {
  return { type: "notice", severity: "warning", title, description };
}

function looksLikeCall(text: string, tools: readonly Pick<ToolSpec, "name">[]): boolean {
  const start = text.slice(0, MAX_LOOKED_AT);
  if (MARKS.test(start)) return true;
  const [, name] = /"(?:name|function|tool)"\s*:\s*"([\w-]{1,100})"/.exec(start) ?? [];
  const hasInput = /"(?:arguments|parameters|input|args)"\s*:\s*[{"]/.test(start);
  return name !== undefined && hasInput && tools.some((tool) => tool.name === name);
}
