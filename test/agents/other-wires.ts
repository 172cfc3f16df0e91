/** The wire formats "Responses" of OpenAI and "generateContent" of Google, for the stand-in for a model's API (model.ts). */
import type { ServerResponse } from "node:http";

interface Spoken {
  role: "user" | "assistant";
  content: { type: string; text?: string }[];
}

interface Item {
  type?: string;
  role?: string;
  content?: string | { text?: string }[];
}

const CALLS = ["function_call", "custom_tool_call", "local_shell_call", "reasoning"];

/** @param input a request's items. An answer of the model is one message, of however many items it was. */
export function messagesOfItems(input: string | readonly Item[]): Spoken[] {
  if (typeof input === "string") return [{ role: "user", content: [{ type: "text", text: input }] }];
  const messages: Spoken[] = [];
  let isAnswer = false;
  for (const { type = "message", role, content } of input) {
    const isOfModel = role === "assistant" || CALLS.includes(type);
    if (!isOfModel && role !== "user") isAnswer = false;
    if (!isOfModel && role !== "user") continue;
    const texts = typeof content === "string" ? [{ text: content }] : (content ?? []);
    const blocks = texts.map(({ text = "" }) => ({ type: "text", text }));
    if (isOfModel && isAnswer) messages.at(-1)?.content.push(...blocks);
    else messages.push({ role: isOfModel ? "assistant" : "user", content: blocks });
    isAnswer = isOfModel;
  }
  return messages;
}

/** @param contents a request's turns, whose parts are texts, calls and results of calls */
export function messagesOfContents(
  contents: readonly { role?: string; parts?: { text?: string; thought?: boolean }[] }[],
): Spoken[] {
  return contents.flatMap(({ role, parts = [] }): Spoken[] => {
    const content = parts.flatMap(({ text, thought }) => (text && !thought ? [{ type: "text", text }] : []));
    if (role === "model") return [{ role: "assistant", content }];
    return content.length === 0 ? [] : [{ role: "user", content }];
  });
}

interface Answer {
  id: string;
  model: string;
  content: { type: string; [field: string]: unknown }[];
  usage: { input_tokens: number; output_tokens: number };
}

export async function sendItems(
  response: ServerResponse,
  { id, model, content, usage }: Answer,
  pause: () => Promise<void>,
): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (type: string, fields: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
  const base = { id: `resp_${id}`, created_at: 1, model };
  send("response.created", { response: { ...base, status: "in_progress", output: [] } });
  const items = content.flatMap((block, at) => itemOf(block, `${id}_${at}`));
  for (const [output_index, item] of items.entries()) {
    const at = { output_index, item_id: item["id"], content_index: 0 };
    send("response.output_item.added", {
      output_index,
      item: { ...item, content: [], status: "in_progress" },
    });
    if (item["type"] === "message") {
      const { text = "" } = (item["content"] as { text?: string }[])[0] ?? {};
      send("response.content_part.added", { ...at, part: { type: "output_text", text: "" } });
      send("response.output_text.delta", { ...at, delta: text });
      await pause();
      send("response.output_text.done", { ...at, text });
    }
    send("response.output_item.done", { output_index, item });
  }
  const total_tokens = usage.input_tokens + usage.output_tokens;
  const details = {
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };
  send("response.completed", {
    response: { ...base, status: "completed", output: items, usage: { ...usage, ...details, total_tokens } },
  });
  response.end();
}

function itemOf(block: Answer["content"][number], id: string): Record<string, unknown>[] {
  if (block.type === "text") {
    const content = [{ type: "output_text", text: block["text"], annotations: [] }];
    return [{ type: "message", id: `msg_${id}`, role: "assistant", status: "completed", content }];
  }
  if (block.type !== "tool_use") return [];
  const called = { name: block["name"], arguments: JSON.stringify(block["input"]) };
  return [{ type: "function_call", id: `fc_${id}`, call_id: block["id"], status: "completed", ...called }];
}

export async function sendParts(
  response: ServerResponse,
  { content, usage }: Answer,
  pause: () => Promise<void>,
): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (candidate: object, more: object = {}) =>
    response.write(`data: ${JSON.stringify({ candidates: [{ index: 0, ...candidate }], ...more })}\n\n`);
  for (const block of content) {
    const call = { functionCall: { name: block["name"], args: block["input"] } };
    const parts = block.type === "tool_use" ? [call] : block.type === "text" ? [{ text: block["text"] }] : [];
    if (parts.length > 0) send({ content: { role: "model", parts } });
    await pause();
  }
  const counts = { promptTokenCount: usage.input_tokens, candidatesTokenCount: usage.output_tokens };
  const totalTokenCount = usage.input_tokens + usage.output_tokens;
  send(
    { content: { role: "model", parts: [{ text: "" }] }, finishReason: "STOP" },
    { usageMetadata: { ...counts, totalTokenCount } },
  );
  response.end();
}
