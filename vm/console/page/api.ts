/** The sidecar's HTTP API as the page uses it: with the session's secret, from the same origin. */
import { z } from "zod";
import { errorReplySchema, listReplySchema, type Thread, threadSchema } from "../../../shared/api.ts";
import { authorizationOf, findSecret, forgetSecret, keepSecret } from "./session.ts";

/** `status` 0: no sidecar answered. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "ApiError";
    this.status = status;
  }
}

/** Takes the token once; from then on the session's secret does. */
export async function signIn(token: string): Promise<void> {
  const schema = z.object({ secret: z.string() });
  keepSecret((await call("POST", "/console/session", schema, `Bearer ${token}`)).secret);
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
  return call("GET", `/thread/${encodeURIComponent(threadId)}`, threadSchema);
}

async function call<S extends z.ZodType>(
  method: string,
  path: string,
  schema: S,
  authorization?: string,
): Promise<z.output<S>> {
  const secret = authorization === undefined ? findSecret() : undefined;
  const sent = authorization ?? (secret === undefined ? undefined : authorizationOf(secret));
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, {
      method,
      cache: "no-store",
      signal: AbortSignal.timeout(10_000),
      headers: sent === undefined ? {} : { authorization: sent },
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
