/**
 * The history as messages of a provider. The same history always gives the same messages, and what is added to it stands
 * at their end: so each request begins with the one before it, byte for byte, and the provider reads that from its cache.
 * The form of each part is the provider's file's (mapping.ts); the package that sends them checks what came of it.
 */
import type { ModelMessage, SystemModelMessage } from "ai";
import type { Call, History, Item, Piece } from "./history.ts";
import type { Mapping } from "./mapping.ts";
import type { Part } from "./protocol.ts";

export interface MessageTarget {
  /** Provider and model: thoughts of another one mean nothing to it. */
  by: string;
  mapping: Mapping;
  /** Gives an image of the thread's folder; undefined if it is gone. */
  readImage: (uri: string) => Buffer | undefined;
}

/** A message before it has its form: what follows may still belong to it. */
interface Draft {
  is: "said" | "answer" | "results";
  parts: unknown[];
}

/** @param last a text that the model is told at the end, beside the history */
export function toMessages(history: History, target: MessageTarget, last?: string): ModelMessage[] {
  const { mapping } = target;
  const drafts: Draft[] = [];
  if (history.summary !== undefined) hear(drafts, [mapping.summary({ text: history.summary })]);
  for (const item of history.items) {
    if (item.kind === "said")
      hear(
        drafts,
        item.parts.map((part) => userPart(part, target)),
      );
    else answer(drafts, item, history, target);
  }
  if (last !== undefined) hear(drafts, [mapping.text({ text: last })]);
  const { betweenTexts: between } = mapping;
  return drafts.map(({ is, parts }) => {
    const joined = is === "said" && between !== null ? joinTexts(parts, between) : parts;
    return mapping[is]({ parts: joined }) as ModelMessage;
  });
}

function joinTexts(parts: readonly unknown[], between: string): unknown[] {
  const joined: unknown[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (isText(last) && isText(part))
      joined[joined.length - 1] = { ...last, text: `${last.text}${between}${part.text}` };
    else joined.push(part);
  }
  return joined;
}

function isText(part: unknown): part is { type: "text"; text: string } {
  const { type, text } = (part ?? {}) as { type?: unknown; text?: unknown };
  return type === "text" && typeof text === "string";
}

/** Marks what the provider keeps in its cache. A mark is no part of what it reads. */
export function withCacheMarks(
  messages: readonly ModelMessage[],
  { cache }: Pick<Mapping, "cache">,
): ModelMessage[] {
  if (!cache) return [...messages];
  const places = messages.flatMap(({ role }, at) => (role === "assistant" ? [] : [at])).slice(-cache.newest);
  return messages.map((message, at) =>
    places.includes(at) ? { ...message, providerOptions: cache.mark } : message,
  );
}

export function systemMessage(text: string, { system }: Pick<Mapping, "system">): SystemModelMessage {
  return system({ text }) as SystemModelMessage;
}

/** Some local models take no two messages of one role in a row. */
function hear(drafts: Draft[], parts: readonly unknown[]): void {
  const last = drafts.at(-1);
  if (last?.is === "said") last.parts.push(...parts);
  else if (parts.length > 0) drafts.push({ is: "said", parts: [...parts] });
}

function userPart(part: Part, { mapping, readImage }: MessageTarget): unknown {
  if (part.type === "text") return mapping.text({ text: part.text });
  const data = readImage(part.uri);
  return data ? mapping.image({ mediaType: part.mimeType, data }) : mapping.goneImage({ uri: part.uri });
}

function answer(
  drafts: Draft[],
  { pieces }: Extract<Item, { kind: "answer" }>,
  history: History,
  target: MessageTarget,
): void {
  const calls = pieces.flatMap((piece) =>
    piece.type === "call" ? (history.calls.get(piece.callId) ?? []) : [],
  );
  const parts = pieces.flatMap((piece) => answerPart(piece, history, target));
  if (parts.length > 0) drafts.push({ is: "answer", parts });
  if (calls.length === 0) return;
  drafts.push({ is: "results", parts: calls.map((call) => resultPart(call, target)) });
  const { mapping } = target;
  if (mapping.resultImages.place === "result") return;
  const images = calls.flatMap((call) => imagesOf(call, target)).map(mapping.image);
  if (images.length > 0) hear(drafts, [mapping.resultImages.text({}), ...images]);
}

function answerPart(piece: Piece, { calls }: History, { by, mapping }: MessageTarget): unknown[] {
  const isOwn = piece.meta?.by === by;
  const options = isOwn ? piece.meta?.options : undefined;
  const part = formOf(piece, calls, isOwn, mapping);
  if (part === undefined) return [];
  return [options ? { ...(part as object), providerOptions: options } : part];
}

function formOf(piece: Piece, calls: History["calls"], isOwn: boolean, mapping: Mapping): unknown {
  if (piece.type === "call") {
    const call = calls.get(piece.callId);
    return call && mapping.call({ id: call.callId, name: call.name, input: call.input ?? {} });
  }
  if (piece.type === "text") return mapping.words({ text: piece.text });
  return isOwn ? mapping.thought?.({ text: piece.text }) : undefined;
}

function resultPart(call: Call, target: MessageTarget): unknown {
  const { callId: id, name, end } = call;
  const { result, failure, resultImages, ends } = target.mapping;
  const text = resultText(call, ends);
  if (end?.status === "failed") return failure({ id, name, text });
  const images = resultImages.place === "result" ? imagesOf(call, target) : [];
  if (resultImages.place !== "result" || images.length === 0) return result({ id, name, text });
  return resultImages.result({
    ...{ id, name },
    parts: [resultImages.text({ text }), ...images.map(resultImages.image)],
  });
}

/** The words that tell the model how a call ended. */
export function resultText({ end }: Pick<Call, "end">, ends: Mapping["ends"]): string {
  const texts = (end?.content ?? []).flatMap((part) =>
    part.type === "content" && part.content.type === "text" ? [part.content.text] : [],
  );
  if (texts.length > 0) return texts.join("\n");
  if (!end || end.reason === "interrupted") return ends.unknown;
  return end.status === "completed" ? ends.silent : ends.silentFailure;
}

/** The images of a call in the form that the model's wire takes. */
function imagesOf({ end }: Call, { readImage }: MessageTarget) {
  return (end?.content ?? []).flatMap((part) => {
    if (part.type !== "content" || part.content.type !== "image") return [];
    const data = readImage(part.content.uri);
    if (!data) return [];
    const { mimeType: mediaType } = part.content;
    return [
      {
        mediaType,
        data,
        get base64() {
          return data.toString("base64");
        },
      },
    ];
  });
}
