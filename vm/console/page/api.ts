/** The sidecar's HTTP API as the page uses it: with the cookie, from the same origin. */
import { z } from "zod";
import { errorReplySchema, listReplySchema, type Thread, threadSchema } from "../../../shared/api.ts";

/** `status` 0: no sidecar answered. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "ApiError";
    this.status = status;
  }
}

/** Takes the token once; from then on the cookie does. */
export async function signIn(token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  await call("POST", "/console/session", z.object({ expiresAt: z.string() }), { headers });
}

export async function isSignedIn(): Promise<boolean> {
  return (await call("GET", "/console/session", z.object({ isSignedIn: z.boolean() }))).isSignedIn;
}

export async function signOut(): Promise<void> {
  await call("DELETE", "/console/session", z.undefined());
}

export async function listThreads(status: "open" | "ended"): Promise<Thread[]> {
  return (await call("GET", `/threads?status=${status}`, listReplySchema)).threads;
}

export async function getThread(threadId: string): Promise<Thread> {
  return call("GET", `/thread/${encodeURIComponent(threadId)}`, threadSchema);
}

async function call<S extends z.ZodType>(
  method: string,
  path: string,
  schema: S,
  init: RequestInit = {},
): Promise<z.output<S>> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, { method, cache: "no-store", signal: AbortSignal.timeout(10_000), ...init });
    text = await response.text();
  } catch (cause) {
    throw new ApiError(0, "The sidecar does not answer.", { cause });
  }
  const json = parseJson(text);
  if (response.ok) return schema.parse(json);
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
