/** One request to the sidecar: its deadline, its token, and its answer, checked. */
import * as z from "zod";
import { errorReplySchema } from "./api.ts";
import { AppError, ERROR_STATUS, errorText } from "./errors.ts";
import { lazy } from "./lazy.ts";
import { PERSON_HEADER, ROLES_HEADER } from "./principal.ts";
import { trimEndOf } from "./trim-end.ts";
import { ask, type Server, serverAt, type WholeAnswer } from "./whole-answer.ts";

const NO_JSON = z.undefined();

/** A Discord user. */
export interface NamedPerson {
  discordId: string;
  /** At Discord, by their ids. */
  roles?: readonly string[] | undefined;
}

export interface HttpCallOptions {
  /** Base address, such as `http://127.0.0.1:3001`. */
  url: string;
  token: string;
  /** For each request as a whole. */
  timeoutMs: number;
  /** In whose name. */
  person?: NamedPerson | undefined;
}

export interface CallOptions {
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is, instead of `body`. */
  bytes?: Uint8Array<ArrayBuffer>;
  query?: Record<string, unknown>;
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

/** Every method rejects with an {@link AppError}: the sidecar's own, or `unavailable` if no sidecar answered. */
export class HttpCall {
  readonly #base: string;
  readonly #server: () => Server;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeoutMs: number;

  constructor({ url, token, timeoutMs, person }: HttpCallOptions) {
    this.#base = trimEndOf(url, "/");
    this.#server = lazy(() => serverAt(this.#base));
    this.#headers = {
      authorization: `Bearer ${token}`,
      ...(person && { [PERSON_HEADER]: person.discordId }),
      ...(person?.roles && { [ROLES_HEADER]: person.roles.join(",") }),
    };
    this.#timeoutMs = timeoutMs;
  }

  /** @returns the answer, as the schema reads it; without a JSON schema, nothing is expected */
  async json(
    method: string,
    path: string,
    schema: z.ZodType | string | undefined,
    options: CallOptions = {},
  ): Promise<unknown> {
    const { timeoutMs = this.#timeoutMs, signal } = options;
    const asked = { method, path: withQuery(path, options.query), timeoutMs, signal, ...this.#sent(options) };
    let answer: WholeAnswer;
    try {
      answer = await ask(this.#server(), asked);
    } catch (cause) {
      throw this.#unreachable(cause);
    }
    const { status } = answer;
    const isOk = status >= 200 && status < 300;
    const json = parseJson(answer.text);
    const reply = (typeof schema === "object" ? schema : NO_JSON).safeParse(json);
    // A health reply comes with 503 too.
    if (reply.success && (isOk || status === ERROR_STATUS.unavailable)) return reply.data;
    if (isOk) {
      throw new AppError(
        "unavailable",
        `The sidecar at ${this.#base} answered ${method} ${path} in a form this version does not know; sidecar and relay should be of the same version.`,
        { cause: reply.error },
      );
    }
    throw this.#refusal(status, json);
  }

  /**
   * The answer's bytes as they come. Nothing of them is kept, so they may be any number; a reader that is slow, or
   * stops, slows or ends the download. `signal` ends it too, also while nothing comes.
   */
  async *download(
    path: string,
    query: Record<string, unknown> = {},
    signal?: AbortSignal,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const controller = new AbortController();
    // The time for the answer to begin: how long the download takes is the reader's affair.
    const timer = setTimeout(() => controller.abort(new Error("timed out")), this.#timeoutMs);
    const ended = signal ? AbortSignal.any([controller.signal, signal]) : controller.signal;
    try {
      const response = await fetch(this.#base + withQuery(path, query), {
        headers: this.#headers,
        signal: ended,
        redirect: "manual",
      });
      clearTimeout(timer);
      if (!response.ok) throw this.#refusal(response.status, parseJson(await response.text()));
      if (response.body) yield* response.body;
    } catch (error) {
      throw error instanceof AppError ? error : this.#unreachable(error);
    } finally {
      clearTimeout(timer);
      controller.abort();
    }
  }

  #sent({ body, bytes }: CallOptions): {
    headers: Record<string, string>;
    body?: string | Uint8Array<ArrayBuffer>;
  } {
    const headers = this.#headers;
    if (bytes) return { headers: { ...headers, "content-type": "application/octet-stream" }, body: bytes };
    if (body === undefined) return { headers: { ...headers } };
    return { headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) };
  }

  #unreachable(cause: unknown): AppError {
    const reason =
      cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : errorText(cause);
    return new AppError("unavailable", `The sidecar at ${this.#base} does not answer: ${reason}.`, { cause });
  }

  #refusal(status: number, json: unknown): AppError {
    const error = errorReplySchema.safeParse(json);
    if (error.success) return new AppError(error.data.code, error.data.error);
    return new AppError("unavailable", `What answers at ${this.#base} is no sidecar: HTTP ${status}.`);
  }
}

function withQuery(path: string, query: Record<string, unknown> | undefined): string {
  if (query === undefined) return path;
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    const values = Array.isArray(value) ? value : [value];
    for (const one of values) if (one !== undefined) params.append(name, String(one));
  }
  return params.size > 0 ? `${path}?${params}` : path;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // not JSON: the schemas say what is wrong with it
  }
}
