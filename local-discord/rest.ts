/** The REST side over HTTP: version, route, token, rate limits, faults, body, handler, answer. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { pause } from "../shared/lifecycle.ts";
import { isSameSecret } from "./access.ts";
import { DiscordError, plainRefusal, rateLimited, refuse } from "./discord-error.ts";
import type { Fault, FaultHook } from "./faults.ts";
import { parseRequestBody, readBody } from "./http-body.ts";
import type { RateLimiter } from "./rate-limits.ts";
import { matchRoute, type RouteContext, type RouteMatch } from "./route.ts";
import { appRoutes } from "./routes-app.ts";
import { channelRoutes } from "./routes-channels.ts";
import { messageRoutes } from "./routes-messages.ts";
import type { World } from "./state.ts";
import type { RequestRecord, Stats } from "./stats.ts";

const ROUTES = [...appRoutes, ...messageRoutes, ...channelRoutes];

export type RestOptions = {
  world: World;
  limiter: RateLimiter;
  stats: Stats;
  /** Asked for every request. */
  findFault: FaultHook;
  gatewayUrl: string;
  sessionStarts: RouteContext["sessionStarts"];
  /** Called before each request: what the clock does by itself happens first. */
  tick: () => void;
};

type Answer = { status: number; body?: unknown; headers?: Record<string, string>; isHtml?: boolean };

/** Answers requests below `/api/`. */
export class RestServer {
  readonly #options: RestOptions;

  constructor(options: RestOptions) {
    this.#options = options;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { world, stats } = this.#options;
    this.#options.tick();
    const url = new URL(request.url ?? "/", "http://localhost");
    const method = request.method ?? "GET";
    const path = url.pathname.replace(/^\/api(\/v\d+)?/, "");
    const match = matchRoute(ROUTES, method, path);
    const record: RequestRecord = {
      at: world.now(),
      method,
      route: "route" in match ? `${method} ${match.route.path}` : "unknown",
      path,
      status: 0,
      isGlobalExempt: "route" in match && match.route.auth === "token",
    };
    stats.add(record);

    let answer: Answer;
    let fault: Fault | undefined;
    try {
      const bytes = await readBody(request, world.limits.requestBytes);
      const contentType = request.headers["content-type"];
      const parsed = await parseRequestBody(contentType, bytes).catch((error: unknown) => ({ error }));
      const body = "error" in parsed ? undefined : parsed.body;
      fault = this.#options.findFault({ method, route: record.route, path, body });
      if (fault?.latencyMs) await pause(fault.latencyMs);
      if (isLost(fault)) return endConnection(request, fault);
      answer = faultAnswer(fault) ?? this.#work(request, url, match, parsed);
    } catch (error) {
      answer = errorAnswer(error);
    }
    if (fault?.kind === "stall" || fault?.kind === "drop") return endConnection(request, fault);
    record.status = answer.status;
    const scope = answer.headers?.["x-ratelimit-scope"];
    if (scope !== undefined) record.scope = scope;
    send(response, answer, fault?.kind === "stall-body");
  }

  /** Everything synchronous: a request takes effect at one moment. */
  #work(
    request: IncomingMessage,
    url: URL,
    match: ReturnType<typeof matchRoute>,
    parsed: Awaited<ReturnType<typeof parseRequestBody>> | { error: unknown },
  ): Answer {
    const version = /^\/api\/v(\d+)/.exec(url.pathname)?.[1];
    if (version !== undefined && version !== "9" && version !== "10") return errorAnswer(refuse(50041));
    if (!("route" in match)) return errorAnswer(plainRefusal(match.status));
    if (match.route.auth === "bot" && !this.#isBot(request)) return errorAnswer(plainRefusal(401));
    const verdict = this.#options.limiter.take({
      route: `${match.route.method} ${match.route.path}`,
      major: match.major,
      isGlobalExempt: match.route.auth === "token",
    });
    if (!verdict.isAllowed) {
      const refused = errorAnswer(rateLimited(verdict));
      return { ...refused, headers: { ...verdict.headers, ...refused.headers } };
    }
    try {
      if ("error" in parsed) throw parsed.error;
      const reply = match.route.handle(this.#context(match, url, parsed));
      return { ...reply, headers: verdict.headers };
    } catch (error) {
      const refused = errorAnswer(error);
      return { ...refused, headers: { ...verdict.headers, ...refused.headers } };
    }
  }

  #context(match: RouteMatch, url: URL, parsed: Awaited<ReturnType<typeof parseRequestBody>>): RouteContext {
    const { world, limiter, gatewayUrl, sessionStarts } = this.#options;
    return {
      world,
      limiter,
      params: match.params,
      query: url.searchParams,
      body: parsed.body,
      files: parsed.files,
      botId: world.data.applicationId,
      gatewayUrl,
      sessionStarts,
    };
  }

  #isBot(request: IncomingMessage): boolean {
    const given = /^Bot (.+)$/.exec(request.headers.authorization ?? "")?.[1];
    return given !== undefined && isSameSecret(given, this.#options.world.data.botToken);
  }
}

function errorAnswer(error: unknown): Answer {
  if (error instanceof DiscordError) {
    return { status: error.status, body: error.body, headers: error.headers };
  }
  // A bug of ours: shown as it is, since only tests and local runs see it.
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { status: 500, body: { message: `500: Internal Server Error (${message})`, code: 0 } };
}

/** Faults that answer instead of the work. */
function faultAnswer(fault: Fault | undefined): Answer | undefined {
  if (fault?.kind === "status") {
    if (fault.isHtml) {
      return { status: fault.status, body: `<html><title>${fault.status}</title></html>`, isHtml: true };
    }
    return {
      status: fault.status,
      body: fault.body ?? { message: `${fault.status}: fault on demand`, code: 0 },
    };
  }
  if (fault?.kind === "rate-limit") {
    const refused = errorAnswer(rateLimited(fault));
    if (fault.hasHeaders === false) return { status: refused.status, body: refused.body };
    if (fault.scope !== "user") return refused;
    const wait = (fault.retryAfterMs / 1000).toFixed(3);
    return {
      ...refused,
      headers: {
        ...refused.headers,
        "x-ratelimit-limit": "5",
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset-after": wait,
      },
    };
  }
  return undefined;
}

/** The request never reached Discord's handlers. */
function isLost(fault: Fault | undefined): fault is Fault {
  return (fault?.kind === "stall" || fault?.kind === "drop") && !fault.isApplied;
}

/** No answer: the connection is left hanging, ended or reset. */
function endConnection(request: IncomingMessage, fault: Fault): void {
  if (fault.kind !== "drop") return;
  if (fault.how === "rst") request.socket.resetAndDestroy();
  else request.socket.end();
}

function send(response: ServerResponse, answer: Answer, isHalf: boolean): void {
  const text =
    answer.body === undefined ? "" : answer.isHtml ? String(answer.body) : JSON.stringify(answer.body);
  const bytes = Buffer.from(text);
  response.writeHead(answer.status, {
    ...(text === "" ? {} : { "content-type": answer.isHtml ? "text/html" : "application/json" }),
    ...(answer.status === 204 ? {} : { "content-length": bytes.byteLength }),
    "cache-control": "no-store",
    ...answer.headers,
  });
  if (isHalf) response.write(bytes.subarray(0, Math.floor(bytes.byteLength / 2)));
  else response.end(bytes);
}
