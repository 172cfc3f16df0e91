/** The wire format "chat completions", for the stand-in for a model's API (model.ts). */
import type { ServerResponse } from "node:http";

interface ChatMessage {
  role: "system" | "user" | "assistant" | "tool";
  content?: string | { type: string; text?: string }[] | null;
}

interface Spoken {
  role: "user" | "assistant";
  content: { type: string; text?: string }[];
}

/** What a request says, as messages of the other format: texts alone. */
export function messagesOfChat(messages: readonly ChatMessage[]): Spoken[] {
  return messages.flatMap(({ role, content }): Spoken[] => {
    if (role === "system" || role === "tool") return [];
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
    return [{ role, content: blocks }];
  });
}

interface Block {
  type: string;
  [field: string]: unknown;
}

/**
 * @param rawArguments in the place of each call's arguments, whatever they are
 * @param pause after the first text
 */
export async function sendChat(
  response: ServerResponse,
  { id, model, content, usage }: { id: string; model: string; content: Block[]; usage: Usage },
  { rawArguments, isCut = false, ids }: { rawArguments?: string; isCut?: boolean; ids?: "none" | "same" },
  pause: () => Promise<void>,
): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (more: object) =>
    response.write(
      `data: ${JSON.stringify({ id, object: "chat.completion.chunk", created: 1, model, ...more })}\n\n`,
    );
  const delta = (delta: object) => send({ choices: [{ index: 0, delta, finish_reason: null }] });
  let calls = 0;
  for (const block of content) {
    if (block.type === "thinking") delta({ reasoning_content: block["thinking"] });
    if (block.type === "text") {
      delta({ content: block["text"] });
      await pause();
    }
    if (block.type !== "tool_use") continue;
    const args = rawArguments ?? JSON.stringify(block["input"]);
    const called = { name: block["name"], arguments: args };
    const id = ids === undefined ? { id: block["id"] } : ids === "same" ? { id: "call_0" } : {};
    delta({ tool_calls: [{ index: ids === "same" ? 0 : calls, ...id, type: "function", function: called }] });
    calls += 1;
  }
  if (isCut) return void response.end();
  send({ choices: [{ index: 0, delta: {}, finish_reason: calls > 0 && !ids ? "tool_calls" : "stop" }] });
  const { input_tokens: prompt_tokens, output_tokens: completion_tokens } = usage;
  const total_tokens = prompt_tokens + completion_tokens;
  send({ choices: [], usage: { prompt_tokens, completion_tokens, total_tokens } });
  response.end("data: [DONE]\n\n");
}

interface Usage {
  input_tokens: number;
  output_tokens: number;
}
