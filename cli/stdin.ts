/** Standard input as text: line by line for a terminal, as a whole for an agent. */
import { isUtf8 } from "node:buffer";
import { MAX_BODY_BYTES, MAX_COMMAND_BYTES } from "../shared/api.ts";
import { AppError } from "../shared/errors.ts";
import { formatCount } from "../shared/format-count.ts";

const MAX_MEMORY_TEXT = 64 * 1024;
const CARRIAGE_RETURN = 0x0d;

/** Its lines, without their ends. @throws AppError `too_large` */
export async function* readLines(stdin: NodeJS.ReadableStream): AsyncGenerator<Buffer, void, undefined> {
  let rest = Buffer.alloc(0);
  for await (const chunk of stdin) {
    rest = Buffer.concat([rest, chunk as Buffer]);
    let start = 0;
    for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n", start)) {
      yield rest.subarray(start, rest[end - 1] === CARRIAGE_RETURN && end > start ? end - 1 : end);
      start = end + 1;
    }
    rest = rest.subarray(start);
    if (rest.length > MAX_BODY_BYTES) {
      throw new AppError("too_large", "standard input: has a line over 1 MiB");
    }
  }
  if (rest.length > 0) yield rest;
}

/** What is no text can't be typed: better refused than changed. @throws AppError `invalid_request` */
export function toText(line: Buffer, number: number): string {
  if (!isUtf8(line)) throw new AppError("invalid_request", "must be UTF-8");
  const text = line.toString();
  return number === 1 ? text.replace(/^\ufeff/, "") : text; // a byte order mark
}

/** An error about one line, with its number and what became of the lines before it. */
export function atLine(number: number, error: unknown, sent: string): unknown {
  if (!(error instanceof AppError)) return error;
  const sentence = `standard input, line ${number}: ${error.message} (${sent})`;
  return new AppError(error.code, sentence, { cause: error });
}

/** All of it as an agent's one message. @throws AppError `too_large`, `invalid_request` */
export function readMessage(stdin: NodeJS.ReadableStream): Promise<string> {
  return readWhole(stdin, MAX_COMMAND_BYTES, "an agent's message");
}

/** All of it as one paste, without its last line end. @throws AppError `too_large`, `invalid_request` */
export function readPaste(stdin: NodeJS.ReadableStream): Promise<string> {
  return readWhole(stdin, MAX_BODY_BYTES, "a paste (--no-paste types line by line)");
}

/** All of it, for a file of memory. @throws AppError `too_large`, `invalid_request` */
export function readNote(stdin: NodeJS.ReadableStream): Promise<string> {
  return readWhole(stdin, MAX_MEMORY_TEXT, "a file of memory");
}

async function readWhole(stdin: NodeJS.ReadableStream, maxBytes: number, name: string): Promise<string> {
  const all: Buffer[] = [];
  let bytes = 0;
  for await (const line of readLines(stdin)) {
    all.push(line);
    bytes += line.length + 1;
    if (bytes > maxBytes + 1)
      throw new AppError(
        "too_large",
        `standard input: ${name} may have at most ${formatCount(maxBytes)} bytes`,
      );
  }
  const text = all.map((line, index) => {
    try {
      return toText(line, index + 1);
    } catch (error) {
      throw atLine(index + 1, error, "nothing was sent");
    }
  });
  return text.join("\n");
}
