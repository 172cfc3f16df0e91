/** One REST route, and how a path finds it. */

import type * as z from "zod";
import { invalidForm, refuse } from "./discord-error.ts";
import type { RateLimiter } from "./rate-limits.ts";
import { isSnowflake } from "./snowflake.ts";
import type { World } from "./state.ts";
import type { Channel, Snowflake, UploadedFile } from "./types.ts";
import { parseBody } from "./validate.ts";
import { canView } from "./wire.ts";

export type RouteContext = {
  world: World;
  limiter: RateLimiter;
  params: Record<string, string>;
  query: URLSearchParams;
  body: unknown;
  files: readonly UploadedFile[];
  /** Who asks: the bot. */
  botId: Snowflake;
  gatewayUrl: string;
  /** IDENTIFYs that are left today. */
  sessionStarts: () => { remaining: number; resetAfterMs: number };
};

export type Reply = { status: number; body?: unknown };

export type Route = {
  method: string;
  /** As in Discord's documentation: `/channels/:channel/messages`. */
  path: string;
  /** `token` routes carry an interaction token in the path and take no Authorization header. */
  auth: "bot" | "token";
  handle: (context: RouteContext) => Reply;
};

export type RouteMatch = { route: Route; params: Record<string, string>; major: string };

/** The route of a path, or why there is none: 404 for the path, 405 for the method. */
export function matchRoute(
  routes: readonly Route[],
  method: string,
  path: string,
): RouteMatch | { status: 404 | 405 } {
  const segments = path.split("/").filter((segment) => segment !== "");
  let isPathKnown = false;
  for (const route of routes) {
    const params = matchSegments(route.path, segments);
    if (!params) continue;
    isPathKnown = true;
    if (route.method === method) return { route, params, major: majorOf(params) };
  }
  return { status: isPathKnown ? 405 : 404 };
}

/** @throws DiscordError 10003, 50001, 50035 (not an id) */
export function getVisibleChannel(context: RouteContext): Channel {
  const channel = context.world.getChannel(getId(context, "channel"));
  if (!canView(context.world, context.botId, channel)) throw refuse(50001);
  return channel;
}

/** @throws DiscordError 50035 */
export function getId(context: RouteContext, name: string): Snowflake {
  const id = context.params[name] ?? "";
  if (!isSnowflake(id)) {
    throw invalidForm([`${name}_id`], "NUMBER_TYPE_COERCE", `Value "${id}" is not snowflake.`);
  }
  return id;
}

export function parse<S extends z.ZodType>(context: RouteContext, schema: S): z.infer<S> {
  return parseBody(schema, context.body);
}

/** `limit` of a list, within its bounds. */
export function getLimit(context: RouteContext, bounds: { min: number; max: number; usual: number }): number {
  const given = context.query.get("limit");
  if (given === null) return bounds.usual;
  const limit = Number(given);
  if (!Number.isInteger(limit)) {
    throw invalidForm(["limit"], "NUMBER_TYPE_COERCE", `Value "${given}" is not int.`);
  }
  if (limit < bounds.min) {
    throw invalidForm(
      ["limit"],
      "NUMBER_TYPE_MIN",
      `int value should be greater than or equal to ${bounds.min}.`,
    );
  }
  if (limit > bounds.max) {
    throw invalidForm(
      ["limit"],
      "NUMBER_TYPE_MAX",
      `int value should be less than or equal to ${bounds.max}.`,
    );
  }
  return limit;
}

function matchSegments(path: string, segments: readonly string[]): Record<string, string> | undefined {
  const wanted = path.split("/").filter((segment) => segment !== "");
  if (wanted.length !== segments.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, name] of wanted.entries()) {
    const given = decode(segments[index] ?? "");
    if (given === undefined) return undefined;
    if (name.startsWith(":")) params[name.slice(1)] = given;
    else if (name !== given) return undefined;
  }
  return params;
}

/** discord.js sends `@original` as `%40original`. */
function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined; // a broken escape matches no route
  }
}

/** The top-level resource that a bucket belongs to. */
function majorOf(params: Record<string, string>): string {
  if (params["webhook"] !== undefined) return `${params["webhook"]}/${params["token"]}`;
  return params["channel"] ?? params["guild"] ?? params["interaction"] ?? "";
}
