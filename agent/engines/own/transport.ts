/**
 * How requests reach a provider: by `node:http`, in the shape of `fetch` that the packages call. Node's own `fetch` takes
 * some 60 ms of CPU in each process before its first word, which is a third of a cold start. An answer is bounded: a
 * server that never ends it must not fill this process's memory. Redirects are not followed.
 */
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";

/** The most of one answer over the network, where each word stands in a line of its own. */
const MAX_BYTES = 64 * 1024 * 1024;
/** The most that a model may say in one answer. */
export const MAX_ANSWER_CHARACTERS = 4_000_000;
/** How long a server may say nothing, as with `fetch`. */
const SILENT_MS = 300_000;

/** The answer is longer than any that a model gives. */
export class LongAnswer extends Error {
  constructor() {
    super("its answer has no end");
  }
}

/** The connection ended in the midst of the answer. */
export class BrokenAnswer extends Error {
  constructor(cause: unknown) {
    super("its answer was cut off", { cause });
  }
}

/** The part of `Headers` that the packages use: names in lower case, in their order. */
export class PlainHeaders {
  readonly #values = new Map<string, string>();

  constructor(given: Iterable<readonly [string, string]> | Readonly<Record<string, string>> = []) {
    const entries = Symbol.iterator in given ? (given as Iterable<[string, string]>) : Object.entries(given);
    for (const [name, value] of entries) this.set(name, value);
  }

  get(name: string): string | null {
    return this.#values.get(name.toLowerCase()) ?? null;
  }

  has(name: string): boolean {
    return this.#values.has(name.toLowerCase());
  }

  set(name: string, value: string): void {
    this.#values.set(name.toLowerCase(), String(value));
  }

  delete(name: string): void {
    this.#values.delete(name.toLowerCase());
  }

  forEach(tell: (value: string, name: string) => void): void {
    for (const [name, value] of this) tell(value, name);
  }

  entries(): IterableIterator<[string, string]> {
    return [...this.#values].sort(([a], [b]) => (a < b ? -1 : 1)).values();
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }
}

/** The packages make `Headers` of their own, and the first use of Node's loads all of `fetch`. For a program of ours. */
export function useHeadersOfOurs(): void {
  Object.defineProperty(globalThis, "Headers", { value: PlainHeaders, writable: true, configurable: true });
}

/** Does the same as `fetch` for a request whose body is a text. @throws the network's failure, with its `code` */
export async function fetchByHttp(
  input: Parameters<typeof fetch>[0],
  { method = "GET", headers, body, signal }: RequestInit = {},
): Promise<Response> {
  const url = input instanceof URL ? input : new URL(typeof input === "string" ? input : input.url);
  const given = headers as ConstructorParameters<typeof PlainHeaders>[0];
  const text = typeof body === "string" ? body : "";
  const send = url.protocol === "https:" ? requestHttps : requestHttp;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = {
      method,
      headers: {
        ...{ accept: "*/*", "accept-encoding": "identity" },
        ...Object.fromEntries(new PlainHeaders(given)),
        "content-length": Buffer.byteLength(text),
      },
    };
    const request = send(url, options, resolve);
    request.setTimeout(SILENT_MS, () =>
      request.destroy(Object.assign(new Error("it says nothing"), { code: "ETIMEDOUT" })),
    );
    request.on("error", (error) => reject(signal?.aborted ? signal.reason : error));
    const abort = () => request.destroy();
    signal?.addEventListener("abort", abort, { once: true });
    request.once("close", () => signal?.removeEventListener("abort", abort));
    if (signal?.aborted) abort();
    request.end(text);
  });
  return answerOf(response, signal ?? undefined) as unknown as Response;
}

/** The part of `Response` that the packages use. */
function answerOf(response: IncomingMessage, signal: AbortSignal | undefined) {
  const { statusCode: status = 0, statusMessage: statusText = "" } = response;
  const headers = Object.entries(response.headers).map(
    ([name, value]) => [name, Array.isArray(value) ? value.join(", ") : (value ?? "")] as const,
  );
  const body = bodyOf(response, signal);
  return {
    ...{ ok: status >= 200 && status < 300, status, statusText, body },
    headers: new PlainHeaders(headers),
    text: async () => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of body) chunks.push(chunk);
      return Buffer.concat(chunks).toString("utf8");
    },
  };
}

function bodyOf(response: IncomingMessage, signal: AbortSignal | undefined): ReadableStream<Uint8Array> {
  response.on("error", () => {}); // whoever reads is told below; nobody reads on after an abort
  const chunks = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let bytes = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const { done, value } = await chunks.next();
          if (done) return controller.close();
          bytes += value.length;
          if (bytes > MAX_BYTES) throw new LongAnswer();
          controller.enqueue(value);
        } catch (error) {
          response.destroy();
          if (signal?.aborted) controller.error(signal.reason);
          else controller.error(error instanceof LongAnswer ? error : new BrokenAnswer(error));
        }
      },
      cancel: () => void response.destroy(),
    },
    { highWaterMark: 0 },
  );
}
