/** The sidecar's HTTP API as the page uses it: with the session's secret, from the same origin. */
import * as z from "zod";
import {
  type AnswerRequest,
  type AskReply,
  answerReplySchema,
  asksReplySchema,
  type BlobReply,
  blobReplySchema,
  controlReplySchema,
  type TranscriptReply,
  transcriptReplySchema,
} from "../../../shared/agent/api.ts";
import {
  errorReplySchema,
  type InputReply,
  inputReplySchema,
  listReplySchema,
  type Thread,
  threadSchema,
} from "../../../shared/api.ts";
import { authorizationOf, findSecret, forgetSecret, keepSecret } from "./session.ts";

/** `status` 0: no sidecar answered. */
export class ApiError extends Error {
  readonly status: number;

  /** The sidecar did not do it for now, or nobody knows whether it did: the same may be tried again. */
  get isPassing(): boolean {
    return this.status === 0 || this.status >= 500;
  }

  constructor(status: number, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "ApiError";
    this.status = status;
  }
}

/** Takes the token once; from then on the session's secret does. */
export async function signIn(token: string): Promise<void> {
  const schema = z.object({ secret: z.string() });
  keepSecret((await call("POST", "/console/session", schema, { authorization: `Bearer ${token}` })).secret);
}

export async function signOut(): Promise<void> {
  const secret = findSecret();
  try {
    await call("DELETE", "/console/session", z.undefined());
  } finally {
    forgetSecret(secret);
  }
}

export async function listThreads(status: "open" | "ended"): Promise<Thread[]> {
  return (await call("GET", `/threads?status=${status}`, listReplySchema)).threads;
}

export async function getThread(threadId: string): Promise<Thread> {
  return call("GET", threadPath(threadId), threadSchema);
}

export interface TranscriptQuery {
  since: number;
  limit: number;
  waitMs?: number;
  /** What the caller knows: anything else is news. */
  status?: string;
  live?: string;
}

/** @param signal ends a request that waits. */
export async function readTranscript(
  threadId: string,
  { since, limit, waitMs = 0, status, live }: TranscriptQuery,
  signal?: AbortSignal,
): Promise<TranscriptReply> {
  const query = new URLSearchParams({ since: String(since), limit: String(limit), waitMs: String(waitMs) });
  if (status !== undefined) query.set("status", status);
  if (live !== undefined) query.set("live", live);
  const path = `${threadPath(threadId)}/transcript?${query}`;
  return call("GET", path, transcriptReplySchema, { timeoutMs: TIMEOUT_MS + waitMs, signal });
}

export async function listAsks(threadId: string): Promise<AskReply[]> {
  return (await call("GET", `${threadPath(threadId)}/asks`, asksReplySchema)).asks;
}

export async function readBlob(threadId: string, sha256: string, since: number): Promise<BlobReply> {
  return call("GET", `${threadPath(threadId)}/blobs/${sha256}?since=${since}`, blobReplySchema);
}

export async function answerAsk(threadId: string, requestId: string, answer: AnswerRequest): Promise<void> {
  const path = `${threadPath(threadId)}/asks/${encodeURIComponent(requestId)}`;
  await call("POST", path, answerReplySchema, { body: answer });
}

export async function sendMessage(threadId: string, text: string, inputId: string): Promise<InputReply> {
  return call("POST", `${threadPath(threadId)}/input`, inputReplySchema, { body: { text, inputId } });
}

/** Whoever answers or controls from here is the console: the sidecar says so, whatever stands in a body. */
export const CONSOLE = "api:console";

/** @param turnId of the turn that the person sees: another one is left alone. */
export async function stopTurn(threadId: string, turnId: string | undefined): Promise<void> {
  const body = { by: CONSOLE, ...(turnId === undefined ? {} : { turnId }) };
  await call("POST", `${threadPath(threadId)}/interrupt`, controlReplySchema, { body });
}

/** After a pause or a failure. */
export async function goOn(threadId: string): Promise<void> {
  await call("POST", `${threadPath(threadId)}/resume`, controlReplySchema, { body: { by: CONSOLE } });
}

function threadPath(threadId: string): string {
  return `/thread/${encodeURIComponent(threadId)}`;
}

const TIMEOUT_MS = 10_000;

interface CallOptions {
  /** Instead of the session's secret. */
  authorization?: string;
  body?: unknown;
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

async function call<S extends z.ZodType>(
  method: string,
  path: string,
  schema: S,
  { authorization, body, timeoutMs = TIMEOUT_MS, signal }: CallOptions = {},
): Promise<z.output<S>> {
  const secret = authorization === undefined ? findSecret() : undefined;
  const sent = authorization ?? (secret === undefined ? undefined : authorizationOf(secret));
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, {
      method,
      cache: "no-store",
      signal: signal
        ? AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
        : AbortSignal.timeout(timeoutMs),
      headers: {
        ...(sent === undefined ? {} : { authorization: sent }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    text = await response.text();
  } catch (cause) {
    throw new ApiError(0, "The sidecar does not answer.", { cause });
  }
  const json = parseJson(text);
  if (response.ok) return schema.parse(json);
  if (response.status === 401) forgetSecret(secret);
  const error = errorReplySchema.safeParse(json);
  throw new ApiError(
    response.status,
    error.success ? error.data.error : `The sidecar answered ${response.status}.`,
  );
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // not JSON: the schemas say what is wrong with it
  }
}
