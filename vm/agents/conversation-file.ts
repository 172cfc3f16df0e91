/**
 * A conversation in a file of claude's: what a person is shown of it, and where a fork can leave it. By experiment with
 * 2.1.330: a line a message, by hand with `entrypoint` `cli`, in programs with `sdk-cli`; each of a message's parts has
 * a line and a `uuid` of its own. The format is private, and any program of the person's can write such a file, so
 * whatever does not fit is passed over, and all that is read has a bound.
 */
import type { FileHandle } from "node:fs/promises";
import * as z from "zod";
import {
  type InitialMessage,
  MAX_INITIAL_BYTES,
  MAX_INITIAL_MESSAGES,
} from "../../shared/agent/initial-messages.ts";
import { openRegularFile } from "../../shared/regular-file.ts";

const CHUNK_BYTES = 256 * 1024;
/** A longer line, such as a picture's, is not parsed: others wait meanwhile. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;
/** The length at which the thread cuts a message. */
const MAX_TEXT = 16 * 1024;
/** The program itself notes these as a person's messages: its commands, their output, reminders. */
const NOT_SAID = /^\s*<[a-z]+(?:-[a-z]+)+>|^\[Request interrupted by user/;
const SPOKEN = /"type":"(?:user|assistant)"/;
/** Lines that hold a title, which claude or a person gave the conversation. The last one of each kind counts. */
const TITLED = /^\{"type":"(?:custom-title|ai-title)"/;
const MAX_TITLE_UNITS = 1_000;
const titleEntry = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("custom-title"), customTitle: z.string() }),
  z.looseObject({ type: z.literal("ai-title"), aiTitle: z.string() }),
]);

const block = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  id: z.string().optional(),
  tool_use_id: z.string().optional(),
});
const entry = z.looseObject({
  type: z.enum(["user", "assistant"]),
  uuid: z.string(),
  timestamp: z.iso.datetime().optional(),
  cwd: z.string().optional(),
  entrypoint: z.string().optional(),
  isSidechain: z.boolean().optional(),
  isMeta: z.boolean().optional(),
  message: z.looseObject({ content: z.union([z.string(), z.array(block)]) }),
});
type Entry = z.infer<typeof entry>;

export interface Told {
  /** The directory in which it was begun. */
  cwd: string | undefined;
  /** A program spoke last, such as a thread's own engine in a fork: the lines of the source keep their `entrypoint`. */
  isProgram: boolean;
  startedAt: string | undefined;
  /** The person's name for it, or else claude's own; empty if there is neither. */
  title: string;
  /** The first text of the person. */
  firstWords: string;
  /** How often the person spoke. */
  prompts: number;
  /** The newest line at which no call waits for its result. */
  at: string | undefined;
  /** The newest texts of both sides that fit. */
  messages: InitialMessage[];
  /** All of the file was read. */
  isWhole: boolean;
  bytes: number;
  writtenMs: number;
}

/**
 * @param maxBytes so much is read, from the beginning
 * @returns undefined if it is no file of its own: a link could lead to anything that the person may read
 */
export async function readConversation(file: string, maxBytes: number): Promise<Told | undefined> {
  let handle: FileHandle;
  try {
    handle = await openRegularFile(file, false);
  } catch {
    return undefined; // gone, a link, no file, or not ours to read
  }
  try {
    const stats = await handle.stat();
    const reading = new Reading();
    for await (const line of linesOf(handle, Math.min(stats.size, maxBytes))) reading.take(line);
    const isWhole = stats.size <= maxBytes;
    return { ...reading.told(), isWhole, bytes: stats.size, writtenMs: stats.mtimeMs };
  } finally {
    await handle.close();
  }
}

/** The whole lines; undefined in place of one that is too long. */
async function* linesOf(handle: FileHandle, end: number): AsyncGenerator<string | undefined> {
  const chunk = Buffer.alloc(CHUNK_BYTES);
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  for (let position = 0; position < end; ) {
    const { bytesRead } = await handle.read(chunk, 0, Math.min(chunk.length, end - position), position);
    if (bytesRead === 0) return;
    position += bytesRead;
    let start = 0;
    for (let at = chunk.indexOf("\n"); at >= 0 && at < bytesRead; at = chunk.indexOf("\n", start)) {
      const bytes = pendingBytes + at - start;
      pending.push(chunk.subarray(start, at));
      yield bytes > MAX_LINE_BYTES ? undefined : Buffer.concat(pending).toString("utf8");
      pending = [];
      pendingBytes = 0;
      start = at + 1;
    }
    pendingBytes += bytesRead - start;
    if (pendingBytes <= MAX_LINE_BYTES) pending.push(Buffer.from(chunk.subarray(start, bytesRead)));
    else pending = [];
  }
}

class Reading {
  #cwd: string | undefined;
  #isProgram = false;
  #startedAt: string | undefined;
  #firstWords = "";
  #prompts = 0;
  #at: string | undefined;
  #messages: InitialMessage[] = [];
  #messageBytes = 0;
  readonly #titles = new Map<"custom-title" | "ai-title", string>();
  readonly #openCalls = new Set<string>();

  take(line: string | undefined): void {
    // It may have been the result of any call.
    if (line === undefined) this.#openCalls.clear();
    if (line !== undefined && TITLED.test(line)) this.#takeTitle(line);
    if (line === undefined || !SPOKEN.test(line)) return;
    const parsed = entry.safeParse(parseJson(line));
    if (parsed.success && !parsed.data.isSidechain) this.#takeEntry(parsed.data);
  }

  told(): Omit<Told, "isWhole" | "bytes" | "writtenMs"> {
    return {
      cwd: this.#cwd,
      isProgram: this.#isProgram,
      startedAt: this.#startedAt,
      title: this.#titles.get("custom-title") || this.#titles.get("ai-title") || "",
      firstWords: this.#firstWords,
      prompts: this.#prompts,
      at: this.#at,
      messages: this.#messages,
    };
  }

  #takeTitle(line: string): void {
    const { data } = titleEntry.safeParse(parseJson(line));
    if (!data) return;
    const title = data.type === "custom-title" ? data.customTitle : data.aiTitle;
    this.#titles.set(data.type, title.slice(0, MAX_TITLE_UNITS));
  }

  #takeEntry({ type, uuid, timestamp, cwd, entrypoint, isMeta, message }: Entry): void {
    this.#cwd ??= cwd;
    this.#startedAt ??= timestamp;
    this.#isProgram = entrypoint?.startsWith("sdk") ?? false;
    const { content } = message;
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const isResult = blocks.some((one) => one.type === "tool_result");
    // A person's text ends what was asked before, also if a call of that has no result: it was cut off.
    if (type === "user" && !isResult) this.#openCalls.clear();
    for (const one of blocks) {
      if (one.type === "tool_use" && one.id !== undefined) this.#openCalls.add(one.id);
      if (one.type === "tool_result" && one.tool_use_id !== undefined)
        this.#openCalls.delete(one.tool_use_id);
    }
    if (this.#openCalls.size === 0) this.#at = uuid;
    const text = blocks
      .flatMap((one) => (one.type === "text" && one.text ? [one.text] : []))
      .join("\n")
      .replaceAll("\0", "\ufffd")
      .slice(0, MAX_TEXT)
      .trim();
    if (isMeta || text === "" || (type === "user" && NOT_SAID.test(text))) return;
    if (type === "user") this.#prompts += 1;
    if (type === "user" && this.#firstWords === "") this.#firstWords = text;
    this.#say({ role: type, text });
  }

  #say(message: InitialMessage): void {
    this.#messages.push(message);
    this.#messageBytes += Buffer.byteLength(message.text);
    while (this.#messages.length > MAX_INITIAL_MESSAGES || this.#messageBytes > MAX_INITIAL_BYTES) {
      const oldest = this.#messages.shift();
      this.#messageBytes -= Buffer.byteLength(oldest?.text ?? "");
    }
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the last line of one that writes, or no line of claude's
  }
}
