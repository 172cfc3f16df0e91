/** A request over a kept connection, and its whole answer. By hand, since `fetch` takes 0.5 ms more for each. */
import {
  Agent,
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { request as httpsRequest, Agent as TlsAgent } from "node:https";
import { urlToHttpOptions } from "node:url";
import { lazy } from "./lazy.ts";
import { onAbort } from "./lifecycle.ts";
import { trimEndOf } from "./trim-end.ts";

/**
 * A connection that nobody uses for so long is closed, well before the sidecar would close it. A server that announces
 * less (`Keep-Alive: timeout=…`) gets its way.
 */
const IDLE_MS = 60_000;
/** The largest answer of a sidecar's has about 30 MB: 4 MiB of output, escaped. A longer one costs us memory for nothing. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Connections that wait for the next request keep no process alive. */
const agent = new Agent({ keepAlive: true, timeout: IDLE_MS });
const tlsAgent = lazy(() => new TlsAgent({ keepAlive: true, timeout: IDLE_MS }));

/** Where requests go: what {@link serverAt} makes of a base address. */
export interface Server {
  open: (options: RequestOptions, onAnswer: (response: IncomingMessage) => void) => ClientRequest;
  /** What stands before every path; without a slash at its end. */
  basePath: string;
}

export interface Asked {
  method: string;
  /** With its query, escaped. */
  path: string;
  headers: Record<string, string>;
  body?: string | Uint8Array;
  /** For the request as a whole. */
  timeoutMs: number;
  /** Ends it. */
  signal?: AbortSignal | undefined;
  /** The most of the answer, {@link MAX_BYTES} if not given. */
  maxBytes?: number;
}

export interface WholeAnswer {
  status: number;
  /** The header's value. */
  contentType: string | undefined;
  text: string;
}

/** Somebody has taken the connection, and no whole answer came in the time that we wait. */
export class SlowAnswer extends Error {
  override readonly name = "SlowAnswer";
}

/** An answer that does not end, or not before it has cost too much memory. */
export class LargeAnswer extends Error {
  override readonly name = "LargeAnswer";

  constructor(maxBytes: number) {
    super(`its answer has more than ${maxBytes} bytes`);
  }
}

/** Takes an address apart once: for each request anew, that takes longer than to send it. @throws TypeError */
export function serverAt(url: string): Server {
  const base = new URL(url);
  const { protocol, hostname, port } = urlToHttpOptions(base);
  const isTls = protocol === "https:";
  return {
    basePath: trimEndOf(base.pathname, "/"),
    open: (options, onAnswer) =>
      isTls
        ? httpsRequest({ protocol, hostname, port, agent: tlsAgent(), ...options }, onAnswer)
        : httpRequest({ protocol, hostname, port, agent, ...options }, onAnswer),
  };
}

/**
 * Follows no redirect. A connection that breaks before the whole answer is there is an error.
 * @throws SlowAnswer; LargeAnswer; Error the signal's reason, or why there is no answer
 */
export function ask(
  server: Server,
  { method, path, headers, body, timeoutMs, signal, maxBytes = MAX_BYTES }: Asked,
): Promise<WholeAnswer> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const request = server.open({ method, path: server.basePath + path, headers }, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > maxBytes) giveUp(new LargeAnswer(maxBytes));
        else chunks.push(chunk);
      });
      response.on("error", reject);
      response.on("end", () => {
        const { statusCode: status = 0, headers: answered } = response;
        resolve({
          status,
          contentType: answered["content-type"],
          text: Buffer.concat(chunks).toString("utf8"),
        });
      });
    });
    const giveUp = (reason: unknown) => {
      reject(reason);
      request.destroy();
    };
    const abort = () => giveUp(signal?.reason);
    const isConnected = () => request.socket?.connecting === false;
    const timer = setTimeout(() => {
      const words = `took more than ${timeoutMs} ms`;
      giveUp(isConnected() ? new SlowAnswer(words) : new Error(words));
    }, timeoutMs);
    onAbort(signal, abort);
    request.on("error", reject);
    request.on("close", () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    });
    request.end(body);
  });
}
