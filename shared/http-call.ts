/** One request to the sidecar: its deadline, its token, and its answer, checked. */
import * as z from "zod";
import { errorReplySchema } from "./api.ts";
import { AppError, ERROR_STATUS } from "./errors.ts";
import { lazy } from "./lazy.ts";
import { PERSON_HEADER, ROLES_HEADER } from "./principal.ts";
import { type ParamsOf, pathOf, type Route } from "./protocol/route.ts";
import { bodyOf, readTextAtMost } from "./read-at-most.ts";
import { isOfType, StrangeAnswer, strangeAnswer } from "./strange-answer.ts";
import { trimEndOf } from "./trim-end.ts";
import { ask, type Server, serverAt, type WholeAnswer } from "./whole-answer.ts";

const NO_JSON = z.undefined();
const MAX_REFUSAL_BYTES = 64 * 1024;

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
    this.#base = trimEndOf(withoutSecret(url), "/");
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
    return this.#judge(method, path, schema, answer);
  }

  /** @returns the reply that an answer holds. @throws AppError the sidecar's own, or `unavailable` if it is not one's */
  #judge(
    method: string,
    path: string,
    schema: z.ZodType | string | undefined,
    { status, contentType, text }: WholeAnswer,
  ): unknown {
    const isOk = status >= 200 && status < 300;
    const json = parseJson(text);
    const strange = { method, url: this.#base + path, status, contentType };
    const isExpected = typeof schema === "object";
    // Neither JSON nor nothing: a page, whatever its status says.
    if (json === undefined && isOk && (isExpected || text !== ""))
      throw strangeAnswer({ ...strange, wanted: isExpected ? "JSON" : "nothing" });
    const reply = (isExpected ? schema : NO_JSON).safeParse(json);
    // A health reply comes with 503 too.
    if (reply.success && (isOk || status === ERROR_STATUS.unavailable)) return reply.data;
    if (!isOk) throw refusalOf(json) ?? strangeAnswer(strange);
    throw new AppError(
      "unavailable",
      `The sidecar at ${this.#base} answered ${method} ${path} in a form this version does not know; both should be of the same version.`,
      { cause: new StrangeAnswer("of another version", { cause: reply.error }) },
    );
  }

  /**
   * The answer's bytes as they come. Nothing of them is kept, so they may be any number; a reader that is slow, or
   * stops, slows or ends the download. `signal` ends it too, also while nothing comes.
   * @throws AppError also if the answer's content type is not the route's: then nothing of it is given out
   */
  async *download<const R extends Route>(
    route: R,
    params: ParamsOf<R>,
    query: Record<string, unknown> = {},
    signal?: AbortSignal,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const path = pathOf(route, params);
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
      await this.#judgeDownload(response, path, typesOf(route));
      if (response.body) yield* response.body;
    } catch (error) {
      throw error instanceof AppError ? error : this.#unreachable(error);
    } finally {
      clearTimeout(timer);
      controller.abort();
    }
  }

  /** @throws AppError the sidecar's refusal, or `unavailable` if the answer is not one of its downloads */
  async #judgeDownload(response: Response, path: string, types: readonly string[]): Promise<void> {
    const { status, ok: isOk, headers } = response;
    const contentType = headers.get("content-type") ?? undefined;
    const strange = { method: "GET", url: this.#base + path, status, contentType };
    if (!isOk) throw refusalOf(parseJson(await readRefusal(response))) ?? strangeAnswer(strange);
    if (!isOfType(contentType, types)) throw strangeAnswer({ ...strange, wanted: types.join(" or ") });
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
    return new AppError("unavailable", `The sidecar at ${this.#base} does not answer: ${reasonOf(cause)}.`, {
      cause,
    });
  }
}

function typesOf({ reply, otherType }: Route): string[] {
  return [reply, otherType].filter((type) => typeof type === "string");
}

/** The sidecar's own words. */
function refusalOf(json: unknown): AppError | undefined {
  const error = errorReplySchema.safeParse(json);
  return error.success ? new AppError(error.data.code, error.data.error) : undefined;
}

/** A refusal is short; anything longer is none. */
async function readRefusal(response: Response): Promise<string> {
  return (await readTextAtMost(bodyOf(response), MAX_REFUSAL_BYTES)) ?? "";
}

/** Why nobody was reached. `fetch` hides it in a cause, and several addresses that all fail make an error without words. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0)
    return [...new Set(error.errors.map(reasonOf))].join(", ");
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reasonOf(error.cause);
  return error.message || (error as NodeJS.ErrnoException).code || error.name;
}

/** Who may read what we say is not who may read a password. */
function withoutSecret(url: string): string {
  if (!URL.canParse(url)) return url;
  const parsed = new URL(url);
  if (parsed.username === "" && parsed.password === "") return url;
  parsed.username = "";
  parsed.password = "";
  return parsed.href;
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
