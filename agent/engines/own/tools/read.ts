/** Tool `read`: a file's lines with their numbers, or a picture. */
import { isUtf8 } from "node:buffer";
import * as z from "zod";
import { findImageType, IMAGE_BEGINNING_BYTES } from "../../../../shared/agent/attachments.ts";
import { formatCount } from "../../../../shared/format-count.ts";
import { quotedName } from "./names.ts";
import { isSameStamp, type OpenFile, stampOf, withFile } from "./open-file.ts";
import type { Tool, ToolResult } from "./tool.ts";
import { ToolError } from "./tool-error.ts";
import { isDelicate } from "./where.ts";

const DEFAULT_LINES = 2_000;
const MAX_LINES = 10_000;
const MAX_TEXT_BYTES = 64 * 1024;
const MAX_LINE_BYTES = 2_000;
/** A line further on is not looked for. */
const MAX_SCAN_BYTES = 256 * 1024 * 1024;
/** Providers refuse larger ones: as base64 it has 5 MB. */
const MAX_PICTURE_BYTES = 3_750_000;
const BEGINNING_BYTES = 8 * 1024;
const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 10;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

const input = z.strictObject({
  file_path: z.string().min(1).describe("From the thread's directory on, or absolute."),
  offset: z.int().min(1).optional().describe("The line to begin with. The first one is 1."),
  limit: z.int().min(1).max(MAX_LINES).optional().describe(`Lines; ${DEFAULT_LINES} if it is left out.`),
});
type Input = z.infer<typeof input>;

export const read: Tool<Input> = {
  name: "read",
  kind: "read",
  description:
    "Reads a file. A text comes with the number of each line and a tab before it, which are not part of the file. PNG, JPEG, GIF and WebP come as pictures.",
  input,
  isRepeatable: true,
  asksAs: ({ file_path }, where) => (isDelicate(file_path, where, "read") ? "always" : "nothing"),
  subject: ({ file_path }) => file_path,
  run: (call, context) => withFile(call.file_path, context, (file) => readFile(file, call, context.signal)),
};

async function readFile(file: OpenFile, call: Input, signal: AbortSignal): Promise<ToolResult> {
  const name = quotedName(call.file_path);
  const beginning = await readAt(file, 0, BEGINNING_BYTES);
  const mediaType = findImageType(beginning.subarray(0, IMAGE_BEGINNING_BYTES));
  if (mediaType !== undefined) return readPicture(file, name, mediaType);
  if (beginning.includes(0))
    throw new ToolError(`${name} is a binary file of ${formatCount(Number(file.stamp.size))} bytes.`);
  if (file.stamp.size === 0n && beginning.length === 0) return { text: `${name} is empty.` };
  const lines = new Lines(call.offset ?? 1, call.limit ?? DEFAULT_LINES);
  let bytes = 0;
  for (;;) {
    signal.throwIfAborted();
    const chunk = await readAt(file, bytes, CHUNK_BYTES);
    bytes += chunk.length;
    if (chunk.includes(0)) throw new ToolError(`${name} is a binary file: there is a NUL in it.`);
    if (chunk.length === 0) lines.end();
    else lines.push(chunk);
    if (chunk.length === 0 || lines.isFull) break;
    if (bytes >= MAX_SCAN_BYTES && !lines.hasSome)
      throw new ToolError(
        `The first ${formatCount(MAX_SCAN_BYTES)} bytes of ${name} have only ${formatCount(lines.count)} lines. Read further on with a command.`,
      );
  }
  const isChanged = !isSameStamp(file.stamp, await stampOf(file.handle));
  return { text: textOf(name, lines, isChanged) };
}

function textOf(name: string, lines: Lines, isChanged: boolean): string {
  const notes: string[] = [];
  if (!lines.hasSome) notes.push(`${name} has only ${formatCount(lines.count)} lines.`);
  else if (lines.isFull) notes.push(`There is more: go on with offset ${lines.next}.`);
  if (lines.hasCarriageReturns) notes.push("Its lines end in CRLF.");
  if (!lines.isUtf8) notes.push("It is not all UTF-8: � stands for other bytes.");
  if (isChanged) notes.push("The file was changed while it was read.");
  const body = lines.text();
  return notes.length === 0 ? body : `${body}${body === "" ? "" : "\n\n"}(${notes.join(" ")})`;
}

/** Those that are wanted, of a file that comes in pieces. */
class Lines {
  readonly #first: number;
  readonly #limit: number;
  readonly #shown: string[] = [];
  #bytes = 0;
  /** The beginning of the line that has not ended. */
  #open: Buffer[] = [];
  #openBytes = 0;
  #keptBytes = 0;
  /** Lines that have ended. */
  count = 0;
  isFull = false;
  isUtf8 = true;
  hasCarriageReturns = false;

  constructor(first: number, limit: number) {
    this.#first = first;
    this.#limit = limit;
  }

  get hasSome(): boolean {
    return this.#shown.length > 0;
  }

  /** The line after the last one that is shown. */
  get next(): number {
    return this.#first + this.#shown.length;
  }

  push(chunk: Buffer): void {
    let start = this.#skip(chunk);
    for (
      let at = chunk.indexOf(NEWLINE, start);
      at >= 0 && !this.isFull;
      at = chunk.indexOf(NEWLINE, start)
    ) {
      this.#add(chunk.subarray(start, at));
      this.#endLine();
      start = at + 1;
    }
    if (!this.isFull && start < chunk.length) this.#add(chunk.subarray(start));
  }

  end(): void {
    if (this.#openBytes > 0) this.#endLine();
  }

  text(): string {
    return this.#shown.join("\n");
  }

  /** Passes by lines that are not wanted. @returns where the first one begins that may be */
  #skip(chunk: Buffer): number {
    let start = 0;
    while (this.count + 1 < this.#first) {
      const at = chunk.indexOf(NEWLINE, start);
      if (at < 0) break;
      this.count++;
      this.#openBytes = 0;
      start = at + 1;
    }
    return start;
  }

  #add(part: Buffer): void {
    this.#openBytes += part.length;
    const room = MAX_LINE_BYTES + 4 - this.#keptBytes;
    if (this.count + 1 < this.#first || room <= 0) return;
    this.#open.push(part.subarray(0, room));
    this.#keptBytes += Math.min(room, part.length);
  }

  #endLine(): void {
    const number = this.count + 1;
    if (number >= this.#first) this.#show(number, Buffer.concat(this.#open), this.#openBytes);
    if (!this.isFull) this.count = number;
    this.#open = [];
    this.#openBytes = 0;
    this.#keptBytes = 0;
  }

  #show(number: number, bytes: Buffer, length: number): void {
    const line = `${number}\t${this.#lineText(number, bytes, length)}`;
    const size = Buffer.byteLength(line) + 1;
    if (this.#shown.length >= this.#limit || this.#bytes + size > MAX_TEXT_BYTES) {
      this.isFull = true;
      return;
    }
    this.#bytes += size;
    this.#shown.push(line);
  }

  #lineText(number: number, bytes: Buffer, length: number): string {
    const isLong = length > MAX_LINE_BYTES + 4;
    const start = number === 1 && bytes.subarray(0, 3).equals(BOM) ? 3 : 0;
    const kept = isLong ? wholeCharacters(bytes.subarray(start, MAX_LINE_BYTES)) : bytes.subarray(start);
    if (!isUtf8(kept)) this.isUtf8 = false;
    const text = kept.toString("utf8");
    if (isLong) return `${text}… ${formatCount(length - start - kept.length)} more bytes in this line …`;
    if (!text.endsWith("\r")) return text;
    this.hasCarriageReturns = true;
    return text.slice(0, -1);
  }
}

/** Without the part of a character that the end cuts. */
function wholeCharacters(bytes: Buffer): Buffer {
  let end = bytes.length;
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) break;
    if (byte >= 0xc0) {
      const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      if (needed > back) end = bytes.length - back;
      break;
    }
  }
  return bytes.subarray(0, end);
}

async function readPicture(file: OpenFile, name: string, mediaType: string): Promise<ToolResult> {
  const size = Number(file.stamp.size);
  if (size > MAX_PICTURE_BYTES)
    throw new ToolError(
      `${name} is a picture of ${formatCount(size)} bytes. Pictures of more than ${formatCount(MAX_PICTURE_BYTES)} can't be looked at: make it smaller first.`,
    );
  const data = await readAt(file, 0, size);
  return {
    text: `${name}: a picture (${mediaType}) of ${formatCount(data.length)} bytes.`,
    images: [{ mediaType, data }],
  };
}

async function readAt({ handle }: OpenFile, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}
