/**
 * The history as messages of a provider. The same history always gives the same messages, and what is added to it stands
 * at their end: so each request begins with the one before it, byte for byte, and the provider reads that from its cache.
 */
import type { FilePart, ImagePart, ModelMessage, TextPart, ToolResultPart } from "ai";
import type { Call, History, Item, Piece } from "./history.ts";
import type { Part } from "./protocol.ts";

export interface MessageTarget {
  /** Provider and model: thoughts of another one mean nothing to it. */
  by: string;
  /** Results of tools may hold images. If not, they stand in a message behind the results. */
  takesResultImages: boolean;
  /** Gives an image of the thread's folder; undefined if it is gone. */
  readImage: (uri: string) => Buffer | undefined;
}

type UserContent = (TextPart | FilePart | ImagePart)[];
type AssistantContent = Exclude<Extract<ModelMessage, { role: "assistant" }>["content"], string>;

const CACHE = { anthropic: { cacheControl: { type: "ephemeral" } } };
const UNKNOWN_OUTCOME =
  "[Interrupted: the session was restarted while this ran, so its outcome is unknown. Check whether it took effect before you run it again.]";

export function toMessages(history: History, target: MessageTarget): ModelMessage[] {
  const messages: ModelMessage[] = [];
  if (history.summary !== undefined)
    hear(messages, [{ type: "text", text: `<summary>\n${history.summary}\n</summary>` }]);
  for (const item of history.items) {
    if (item.kind === "said")
      hear(
        messages,
        item.parts.map((part) => userPart(part, target)),
      );
    else answer(messages, item, history, target);
  }
  return messages;
}

/** Marks what the provider keeps in its cache. A mark is no part of what it reads. */
export function withCacheMarks(messages: readonly ModelMessage[]): ModelMessage[] {
  const places = messages.flatMap(({ role }, at) => (role === "assistant" ? [] : [at])).slice(-2);
  return messages.map((message, at) =>
    places.includes(at) ? { ...message, providerOptions: CACHE } : message,
  );
}

export function systemMessage(text: string) {
  return { role: "system" as const, content: text, providerOptions: CACHE };
}

/** Some local models take no two messages of one role in a row. */
export function hear(messages: ModelMessage[], content: UserContent): void {
  const last = messages.at(-1);
  if (last?.role === "user" && typeof last.content !== "string") last.content.push(...content);
  else if (content.length > 0) messages.push({ role: "user", content: [...content] });
}

function userPart(part: Part, { readImage }: MessageTarget): TextPart | FilePart {
  if (part.type === "text") return part;
  const data = readImage(part.uri);
  if (!data) return { type: "text", text: `[The image ${part.uri} is gone.]` };
  return { type: "file", mediaType: part.mimeType, data };
}

function answer(
  messages: ModelMessage[],
  { pieces }: Extract<Item, { kind: "answer" }>,
  history: History,
  target: MessageTarget,
): void {
  const calls = pieces.flatMap((piece) =>
    piece.type === "call" ? (history.calls.get(piece.callId) ?? []) : [],
  );
  const content = pieces.flatMap((piece) => assistantPart(piece, history, target));
  if (content.length > 0) messages.push({ role: "assistant", content });
  if (calls.length === 0) return;
  messages.push({ role: "tool", content: calls.map((call) => resultPart(call, target)) });
  if (target.takesResultImages) return;
  const images = calls.flatMap((call) => imagesOf(call, target));
  if (images.length > 0)
    hear(messages, [{ type: "text", text: "The images of the results above:" }, ...images]);
}

function assistantPart(piece: Piece, { calls }: History, { by }: MessageTarget): AssistantContent {
  const isOwn = piece.meta?.by === by;
  const options = isOwn ? piece.meta?.options : undefined;
  const providerOptions = options as TextPart["providerOptions"];
  const more = providerOptions ? { providerOptions } : {};
  if (piece.type === "call") {
    const call = calls.get(piece.callId);
    if (!call) return [];
    const { callId: toolCallId, name: toolName, input } = call;
    return [{ type: "tool-call", toolCallId, toolName, input: input ?? {}, ...more }];
  }
  if (piece.type === "text") return [{ type: "text", text: piece.text, ...more }];
  return isOwn ? [{ type: "reasoning", text: piece.text, ...more }] : [];
}

function resultPart(call: Call, target: MessageTarget): ToolResultPart {
  const { callId: toolCallId, name: toolName, end } = call;
  const text = resultText(call);
  const base = { type: "tool-result" as const, toolCallId, toolName };
  if (end?.status === "failed") return { ...base, output: { type: "error-text", value: text } };
  const images = target.takesResultImages ? imagesOf(call, target) : [];
  if (images.length === 0) return { ...base, output: { type: "text", value: text } };
  const shown = images.map(({ mediaType, data }) => ({
    type: "image-data" as const,
    mediaType,
    data: (data as Buffer).toString("base64"),
  }));
  return { ...base, output: { type: "content", value: [{ type: "text", text }, ...shown] } };
}

/** What the model is told of a call. */
export function resultText({ end }: Pick<Call, "end">): string {
  const texts = (end?.content ?? []).flatMap((part) =>
    part.type === "content" && part.content.type === "text" ? [part.content.text] : [],
  );
  if (texts.length > 0) return texts.join("\n");
  if (!end || end.reason === "interrupted") return UNKNOWN_OUTCOME;
  return end.status === "completed" ? "(no output)" : "(it failed without a word)";
}

function imagesOf({ end }: Call, { readImage }: MessageTarget): FilePart[] {
  return (end?.content ?? []).flatMap((part): FilePart[] => {
    if (part.type !== "content" || part.content.type !== "image") return [];
    const data = readImage(part.content.uri);
    return data ? [{ type: "file", mediaType: part.content.mimeType, data }] : [];
  });
}
