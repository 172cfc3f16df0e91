/**
 * JSON-RPC with an agent, a line a message, over its standard input and output. A line is bounded, and one that is no
 * JSON is told once and left out.
 */
import type { Readable, Writable } from "node:stream";
import { type Message, messageSchema } from "./messages.ts";

/** A picture, or a file that was read, is one line. */
export const MAX_LINE_BYTES = 32 * 1024 * 1024;
const NOT_FOUND = -32601;
const INTERNAL = -32603;

/** The agent answered a request with an error of its own. */
export class AgentError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export interface RpcHandlers {
  /** @returns the result; undefined if we don't know the method */
  request(method: string, params: unknown, id: string): Promise<unknown> | undefined;
  notification(method: string, params: unknown): void;
  /** A line that is no message. */
  noise(text: string): void;
  /** A line is longer than it may be. The rest of the output is not read. */
  tooLong(): void;
}

export class Rpc {
  readonly #input: Writable;
  readonly #handlers: RpcHandlers;
  readonly #waiting = new Map<
    number,
    { resolve: (result: unknown) => void; reject: (error: Error) => void }
  >();
  #nextId = 1;
  #parts: Buffer[] = [];
  #bytes = 0;
  #isOver = false;

  constructor(input: Writable, output: Readable, handlers: RpcHandlers) {
    this.#input = input;
    this.#handlers = handlers;
    input.on("error", () => {}); // its end is told by the process
    output.on("data", (chunk: Buffer) => this.#take(chunk));
  }

  /** @throws AgentError its own error; Error if it does not answer in time, or is gone */
  request(method: string, params: object, timeoutMs?: number): Promise<unknown> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const timer = timeoutMs && setTimeout(() => this.#late(id, method, timeoutMs), timeoutMs);
      const settle =
        <T>(then: (value: T) => void) =>
        (value: T) => {
          clearTimeout(timer || undefined);
          then(value);
        };
      this.#waiting.set(id, { resolve: settle(resolve), reject: settle(reject) });
      this.#send({ id, method, params });
    });
  }

  notify(method: string, params: object): void {
    this.#send({ method, params });
  }

  /** Nothing more is read, and who waits hears why. */
  close(why: Error): void {
    this.#isOver = true;
    for (const { reject } of this.#waiting.values()) reject(why);
    this.#waiting.clear();
  }

  #late(id: number, method: string, timeoutMs: number): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    const seconds = Math.round(timeoutMs / 100) / 10;
    waiting?.reject(new Error(`it did not answer ${method} within ${seconds} seconds`));
  }

  #send(message: object): void {
    if (!this.#isOver) this.#input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  #take(chunk: Buffer): void {
    let rest = chunk;
    for (let end = rest.indexOf(10); end >= 0 && !this.#isOver; end = rest.indexOf(10)) {
      this.#keep(rest.subarray(0, end));
      const line = Buffer.concat(this.#parts);
      this.#parts = [];
      this.#bytes = 0;
      rest = rest.subarray(end + 1);
      if (!this.#isOver) this.#line(line.toString("utf8").trim());
    }
    if (!this.#isOver) this.#keep(rest);
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes <= MAX_LINE_BYTES) {
      this.#parts.push(part);
      return;
    }
    this.#parts = [];
    this.#isOver = true;
    this.#handlers.tooLong();
  }

  #line(text: string): void {
    if (text === "") return;
    const parsed = messageSchema.safeParse(parseJson(text));
    const { id, method, params } = parsed.data ?? {};
    if (!parsed.success) this.#handlers.noise(text);
    else if (method === undefined) this.#settle(parsed.data);
    else if (id === undefined || id === null) this.#handlers.notification(method, params);
    else this.#answer(id, method, params);
  }

  #settle({ id, result, error }: Message): void {
    const waiting = typeof id === "number" ? this.#waiting.get(id) : undefined;
    if (typeof id !== "number" || !waiting) return; // nobody asked, or nobody waits any more
    this.#waiting.delete(id);
    if (error) waiting.reject(new AgentError(error.code, wordsOf(error)));
    else waiting.resolve(result ?? {});
  }

  #answer(id: string | number, method: string, params: unknown): void {
    const answer = this.#handlers.request(method, params, JSON.stringify(id));
    if (!answer) {
      const error = {
        code: NOT_FOUND,
        message: `"Method not found": ${method} is not declared by this client`,
      };
      this.#send({ id, error });
      return;
    }
    answer.then(
      (result) => this.#send({ id, result }),
      (error: Error) => this.#send({ id, error: { code: INTERNAL, message: error.message } }),
    );
  }
}

const MAX_WORDS = 1_000;

function wordsOf({ message, data }: NonNullable<Message["error"]>): string {
  const details = (typeof data === "string" ? data : detailsIn(data))?.slice(0, MAX_WORDS);
  const said = message.slice(0, MAX_WORDS);
  const words = details === undefined || said.includes(details) ? said : `${said}: ${details}`;
  return words.slice(0, MAX_WORDS) || "it gave no reason";
}

function detailsIn(data: unknown): string | undefined {
  if (typeof data !== "object" || data === null) return undefined;
  const { details, message } = data as Record<string, unknown>;
  return [details, message].find((text) => typeof text === "string" && text !== "") as string | undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // told as noise
  }
}
