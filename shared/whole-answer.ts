/** A request over a kept connection, and its whole answer. By hand, since `fetch` takes 0.5 ms more for each. */
import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest, Agent as TlsAgent } from "node:https";
import { lazy } from "./lazy.ts";

/**
 * A connection that nobody uses for so long is closed, well before the sidecar would close it. A server that announces
 * less (`Keep-Alive: timeout=…`) gets its way.
 */
const IDLE_MS = 60_000;

/** Connections that wait for the next request keep no process alive. */
const agent = new Agent({ keepAlive: true, timeout: IDLE_MS });
const tlsAgent = lazy(() => new TlsAgent({ keepAlive: true, timeout: IDLE_MS }));

export interface Asked {
  method: string;
  headers: Record<string, string>;
  body?: string | Uint8Array;
}

export interface WholeAnswer {
  status: number;
  text: string;
}

/**
 * Follows no redirect. A connection that breaks before the whole answer is there is an error.
 * @param signal ends it; it must be of this one request
 * @throws Error the signal's reason, or why there is no answer
 */
export function ask(url: string, { body, ...asked }: Asked, signal: AbortSignal): Promise<WholeAnswer> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const request = open(url, asked, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") });
      });
    });
    request.on("error", reject);
    signal.addEventListener("abort", () => {
      reject(signal.reason);
      request.destroy();
    });
    request.end(body);
  });
}

function open(
  url: string,
  asked: Omit<Asked, "body">,
  onAnswer: (response: IncomingMessage) => void,
): ClientRequest {
  if (!url.startsWith("https:")) return httpRequest(url, { ...asked, agent }, onAnswer);
  return httpsRequest(url, { ...asked, agent: tlsAgent() }, onAnswer);
}
