/** A route's handler: it does what is asked, and knows nothing of paths, bodies and status codes. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type * as z from "zod";
import type { DiscordId, ThreadId } from "../../../shared/ids.ts";
import type { Principal } from "../../../shared/principal.ts";
import type { MadeReply, ParamsOf, ParsedBody, ParsedQuery, Route } from "../../../shared/protocol/route.ts";

/** A request, parsed as its route's definition says. */
export interface Call<R extends Route> {
  /** A thread's `id` is its own, also if it was asked for by its Discord thread's. */
  params: Own<ParamsOf<R>>;
  query: ParsedQuery<R>;
  body: ParsedBody<R>;
  /** Who asks; nobody is known if the route is for anybody. */
  by: R extends { access: "anybody" } ? undefined : Principal;
  /** If the route's body is no JSON, the handler reads it from here. */
  request: IncomingMessage;
  /** If the route's reply is no JSON, the handler writes it here. The status is already set. */
  response: ServerResponse;
}

/** The values of the names in a path, with the thread's own id. */
type Own<Params> = {
  readonly [Name in keyof Params]: Name extends "id"
    ? ThreadId
    : Name extends "channelId"
      ? DiscordId
      : Params[Name];
};

/** @throws AppError one of the route's errors */
export type Handler<R extends Route> = R["reply"] extends z.ZodType
  ? (call: Call<R>) => MadeReply<R> | Promise<MadeReply<R>>
  : (call: Call<R>) => void | Promise<void>;

/** One for each route of a noun. */
export type Handlers<Noun> = { [Name in keyof Noun]: Noun[Name] extends Route ? Handler<Noun[Name]> : never };

/** Fires when the caller has gone away or has its answer. */
export function whileOpen(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  // With a reason of its own: the usual one is an error with a stack, made anew for every request.
  response.on("close", () => controller.abort("the response is closed"));
  return controller.signal;
}

export function setHeaders(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}
