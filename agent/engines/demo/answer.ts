/** Prints one answer of the scripted model as the engine prints a model's: deltas, then each block whole. */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import type { Output, Usage } from "./output.ts";
import type { Round } from "./script.ts";
import type { Block } from "./session-file.ts";

export interface Answer {
  messageId: string;
  model: string;
  inputTokens: number;
  /** Fields of the first line that a turn prints of its answers. */
  first: Record<string, unknown>;
  /** Called with each block when it is complete, its line already printed. */
  onBlock: (block: Block, uuid: string, message: Record<string, unknown>) => void;
}

/**
 * Waits for what the round waits for, then prints it.
 * @returns what it used.
 * @throws the signal's reason if the turn is interrupted; the part of a text that was printed is then a block too.
 */
export async function printAnswer(
  output: Output,
  round: Round,
  answer: Answer,
  signal: AbortSignal,
): Promise<Usage> {
  const usage = usageOf(round, answer.inputTokens);
  const message = {
    id: answer.messageId,
    type: "message",
    role: "assistant",
    model: answer.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usage, output_tokens: 1 },
  };
  const stream = (event: Record<string, unknown>, fields = {}) =>
    output.stream(event, answer.messageId, fields);
  stream({ type: "message_start", message }, { ttft_ms: 1, ...answer.first });
  let first = answer.first;
  const end = (stop_reason: string) => {
    stream({ type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage });
    stream({ type: "message_stop" });
    return usage;
  };
  for (const [index, block] of blocksOf(round).entries()) {
    const { start, deltas } = piecesOf(block);
    stream({ type: "content_block_start", index, content_block: start });
    for (const [at, delta] of deltas.entries()) {
      try {
        if (at > 0 && round.pieceMs) await sleep(round.pieceMs, undefined, { signal });
        if (at > 0 && block.type === "text" && round.pauseFor) await appears(round.pauseFor, signal);
        signal.throwIfAborted();
      } catch (error) {
        if (block.type === "text") printPart(output, deltas.slice(0, at), message, first, answer);
        stream({ type: "content_block_stop", index });
        end("end_turn");
        throw error;
      }
      if (block.type === "thinking" && at === 0) {
        output.system("thinking_tokens", {
          estimated_tokens: 1,
          estimated_tokens_delta: 1,
          ...("user_message_uuid" in first ? { user_message_uuid: first["user_message_uuid"] } : {}),
        });
      }
      stream({ type: "content_block_delta", index, delta });
    }
    const uuid = output.assistant({ ...message, content: [block] }, first);
    first = {};
    answer.onBlock(block, uuid, message);
    await setImmediate(); // its call may begin while the answer goes on
    stream({ type: "content_block_stop", index });
  }
  return end(round.tools?.length ? "tool_use" : "end_turn");
}

/** Resolves when the file exists. */
export async function appears(file: string, signal: AbortSignal): Promise<void> {
  while (!existsSync(file)) await sleep(20, undefined, { signal });
}

export function usageOf(round: Round, inputTokens: number): Usage {
  return {
    input_tokens: round.inputTokens ?? inputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: round.outputTokens ?? tokensOf(JSON.stringify(round)),
  };
}

export const tokensOf = (text: string): number => Math.ceil(text.length / 4);

function printPart(
  output: Output,
  deltas: readonly Record<string, unknown>[],
  message: Record<string, unknown>,
  first: Record<string, unknown>,
  answer: Answer,
): void {
  const text = deltas.map((delta) => delta["text"]).join("");
  if (text === "") return;
  const block = { type: "text", text };
  const uuid = output.assistant({ ...message, content: [block] }, { aborted: true, ...first });
  answer.onBlock(block, uuid, message);
}

function blocksOf({ thinking, text, tools }: Round): Block[] {
  return [
    ...(thinking ? [{ type: "thinking", thinking, signature: "c2ln" }] : []),
    ...(text ? [{ type: "text", text }] : []),
    ...(tools ?? []).map((call) => ({ type: "tool_use", id: `toolu_${randomUUID()}`, ...call })),
  ];
}

/** A block as it begins, and the deltas that complete it. */
function piecesOf(block: Block): { start: object; deltas: Record<string, unknown>[] } {
  if (block.type === "thinking") {
    const deltas = cut(String(block["thinking"])).map((thinking) => ({ type: "thinking_delta", thinking }));
    const signature = { type: "signature_delta", signature: block["signature"] };
    return { start: { type: "thinking", thinking: "", signature: "" }, deltas: [...deltas, signature] };
  }
  if (block.type === "text") {
    const deltas = cut(block.text ?? "").map((text) => ({ type: "text_delta", text }));
    return { start: { type: "text", text: "" }, deltas };
  }
  const deltas = cut(JSON.stringify(block.input)).map((partial_json) => ({
    type: "input_json_delta",
    partial_json,
  }));
  return { start: { ...block, input: {} }, deltas };
}

/** Pieces of 40 characters, at most 100 of them, no character cut in two. */
export function cut(text: string): string[] {
  const characters = Array.from(text);
  const length = Math.max(40, Math.ceil(characters.length / 100));
  const count = Math.ceil(characters.length / length);
  return Array.from({ length: count }, (_, at) => characters.slice(at * length, (at + 1) * length).join(""));
}
