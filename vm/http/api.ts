/** The HTTP API: finds a request's route, and does with it what every route needs. No decision is made here. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { parse as parseQuery } from "node:querystring";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { Principal } from "../../shared/principal.ts";
import { PARAMS, type ParamName, type Route } from "../../shared/protocol/route.ts";
import { API } from "../../shared/protocol/routes.ts";
import type { Right } from "../../shared/rights.ts";
import type { People } from "../callers/people.ts";
import type { Jobs } from "../jobs/jobs.ts";
import type { Voice } from "../mcp/voice.ts";
import type { Homes } from "../threads/homes.ts";
import { isOfType, readJson } from "./body.ts";
import { type Asked, demandsOf } from "./demands.ts";
import { answer, parse } from "./exchange.ts";
import { answerFailure } from "./failures.ts";
import type { Guard } from "./guard.ts";
import type { Call, Handlers } from "./handlers/handler.ts";

export type ApiHandlers = { [Noun in keyof typeof API]: Handlers<(typeof API)[Noun]> };

export interface ApiServices {
  handlers: ApiHandlers;
  guard: Guard;
  homes: Pick<Homes, "resolve" | "find" | "channelOf" | "channelOfMain">;
  jobs: Pick<Jobs, "channelOf">;
  people: Pick<People, "may" | "judge" | "judgeAnywhere">;
  voice: Pick<Voice, "channelsOf">;
  log: Log;
}

/** Any route's handler. {@link ApiHandlers} has checked that it fits its route. */
type AnyHandler = (call: Call<Route>) => unknown;

interface Entry {
  route: Route;
  handler: AnyHandler;
  segments: readonly string[];
}

/** A request's route, found by its method and path. */
export interface Match {
  route: Route;
  handler: AnyHandler;
  /** Still escaped. */
  values: ReadonlyMap<ParamName, string>;
  query: string;
}

export class Api {
  readonly #entries = new Map<string, Entry[]>();
  readonly #services: ApiServices;

  constructor(services: ApiServices) {
    this.#services = services;
    for (const [noun, routes] of Object.entries(API)) {
      const handlers = services.handlers[noun as keyof ApiHandlers] as Record<string, unknown>;
      for (const [name, route] of Object.entries(routes as Record<string, Route>)) {
        const segments = route.path.split("/");
        const key = keyOf(route.method, segments);
        const entries = this.#entries.get(key) ?? [];
        entries.push({ route, segments, handler: handlers[name] as AnyHandler });
        // `/threads/output` goes before a path with a name in that place.
        entries.sort((one, other) => paramCount(one) - paramCount(other));
        this.#entries.set(key, entries);
      }
    }
  }

  /** Undefined if the API has no such route. */
  find({ method = "", url = "" }: IncomingMessage): Match | undefined {
    const [path = "", query = ""] = split(url.replace(/^https?:\/\/[^/?]*/i, ""), "?");
    const segments = path.split("/");
    // An answer to HEAD is that to GET; Node leaves its body out.
    const key = keyOf(method === "HEAD" ? "get" : method.toLowerCase(), segments);
    for (const { route, handler, segments: wanted } of this.#entries.get(key) ?? []) {
      const values = match(wanted, segments);
      if (values) return { route, handler, values, query };
    }
    return undefined;
  }

  /**
   * Does what the request asks for and answers.
   * @param onThread told the thread's own id once it is known, for the log
   */
  async answer(
    { route, handler, values, query }: Match,
    request: IncomingMessage,
    response: ServerResponse,
    onThread: (threadId: ThreadId) => void,
  ): Promise<void> {
    const { guard, homes, log } = this.#services;
    try {
      const by =
        route.access === "anybody"
          ? undefined
          : (guard.find(request, route) ?? (await guard.refuse(request)));
      if (by === "cut") return;
      const params: Record<string, string> = {};
      for (const [name, escaped] of values) params[name] = readParam(name, escaped);
      if (params["id"] !== undefined) {
        const threadId = homes.resolve(params["id"]);
        params["id"] = threadId;
        onThread(threadId);
      }
      const call = {
        params,
        query: route.query ? parse(route.query, parseQuery(query)) : undefined,
        body: await readBody(route, request, response),
        by,
        request,
        response,
      } as unknown as Call<Route>;
      if (by) this.#judge(route, by, call);
      response.statusCode = route.status;
      const reply = await handler(call);
      if (typeof route.reply === "string") return; // the handler wrote it
      if (route.reply === undefined) response.end();
      else answer(response, reply as object, response.statusCode);
    } catch (error) {
      answerFailure(log, error, { method: request.method ?? "", path: request.url ?? "" }, response);
    }
  }

  /** @throws AppError `forbidden` */
  #judge(route: Route, by: Principal, asked: Asked): void {
    const { homes, jobs, people } = this.#services;
    // The guard has refused whoever is a person.
    if (route.right === "none") return;
    const demands = demandsOf(route.right, asked, {
      channelFor: (right, name) => this.#channelFor(by, right, name),
      channelOfThread: (name) => channelOf(homes, name),
      channelOfMain: (name) => homes.channelOfMain(name),
      channelOfJob: (name) => jobs.channelOf(name),
    });
    const isSomewhere = demands.some(({ right }) => right === route.right);
    if (!isSomewhere && route.isOfAnyChannel) people.judgeAnywhere(by, route.right);
    else if (!isSomewhere) people.judge(by, route.right, undefined);
    for (const { right, channelId } of demands) people.judge(by, right, channelId);
  }

  #channelFor(by: Principal, right: Right, name: string): string | undefined {
    const { homes, people, voice } = this.#services;
    const threadId = homes.find(name);
    const home = threadId && homes.channelOf(threadId);
    if (right !== "type" || threadId === undefined || people.may(by, right, home)) return home;
    return voice.channelsOf(threadId).find((channelId) => people.may(by, right, channelId)) ?? home;
  }
}

function channelOf(homes: ApiServices["homes"], name: string): string | undefined {
  const threadId = homes.find(name);
  return threadId && homes.channelOf(threadId);
}

async function readBody(
  { body, method }: Route,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<unknown> {
  if (typeof body === "string") {
    // A page of another origin can't send this content type without being asked whether it may.
    if (isOfType(request.headers, body)) return undefined;
    throw new AppError("invalid_request", `The body must be the file's bytes, with content-type: ${body}.`);
  }
  if (method === "get") return undefined;
  const sent = (await readJson(request, response)) ?? {};
  return body && parse(body, sent);
}

function keyOf(method: string, segments: readonly string[]): string {
  return `${method} ${segments.length}`;
}

function paramCount({ segments }: Entry): number {
  return segments.filter((segment) => segment.startsWith(":")).length;
}

function match(
  wanted: readonly string[],
  segments: readonly string[],
): ReadonlyMap<ParamName, string> | undefined {
  const values = new Map<ParamName, string>();
  for (const [i, part] of wanted.entries()) {
    const segment = segments[i] ?? "";
    if (part.startsWith(":") && segment !== "") values.set(part.slice(1) as ParamName, segment);
    else if (part !== segment) return undefined;
  }
  return values;
}

function readParam(name: ParamName, escaped: string): string {
  const { field, ...param } = PARAMS[name];
  let value: string;
  try {
    value = decodeURIComponent(escaped);
  } catch (cause) {
    throw new AppError("invalid_request", `${field}: can't be read: it has a % that begins no escape.`, {
      cause,
    });
  }
  return "schema" in param ? parse(param.schema, value, field) : value;
}

function split(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
