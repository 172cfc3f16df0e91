/**
 * Which tool calls claude has saved. It saves a call some 50 ms after it has begun it; killed before that, it knows
 * nothing of the call when it is resumed, the model calls again, and the effect happens twice. So a call may begin
 * only when it is in the file.
 */
import * as z from "zod";
import { LineFile } from "../../folder/line-file.ts";

const entry = z.looseObject({
  type: z.literal("assistant"),
  message: z.looseObject({
    content: z.array(z.looseObject({ type: z.string(), id: z.string().optional() })),
  }),
});

const MAX_LINE_BYTES = 64 * 1024 * 1024;

export class SavedCalls {
  readonly #find: () => string | undefined;
  readonly #ids = new Set<string>();
  #file: LineFile | undefined;

  /** @param find the conversation's file, once it is there */
  constructor(find: () => string | undefined) {
    this.#find = find;
  }

  has(toolCallId: string): boolean {
    if (!this.#ids.has(toolCallId)) this.#read();
    return this.#ids.has(toolCallId);
  }

  close(): void {
    this.#file?.close();
  }

  #read(): void {
    if (!this.#file) {
      const path = this.#find();
      if (path === undefined) return;
      this.#file = new LineFile(path, 0, MAX_LINE_BYTES, true);
    }
    for (let lines = this.#file.read(); lines.length > 0; lines = this.#file.read()) {
      for (const { text } of lines) if (text.includes('"tool_use"')) this.#add(text);
    }
  }

  #add(text: string): void {
    const parsed = entry.safeParse(parseJson(text));
    if (!parsed.success) return; // a line of another kind that only speaks of a call
    for (const { type, id } of parsed.data.message.content) {
      if (type === "tool_use" && id !== undefined) this.#ids.add(id);
    }
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // what a claude that was killed left torn
  }
}
