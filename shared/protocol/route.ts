/**
 * One definition a route. The server's handlers, the typed client, the console's rights, OpenAPI, `docs/api.md`, and the
 * names in the log and in the metrics all come from it.
 */
import * as z from "zod";
import { blobNameSchema } from "../agent/api.ts";
import { attachmentNameSchema } from "../agent/attachments.ts";
import type { ErrorCode } from "../errors.ts";
import { anyThreadNameSchema, snowflakeSchema } from "../ids.ts";
import { jobNameSchema } from "../jobs/job.ts";
import { newsIdSchema } from "../jobs/news.ts";
import { messageKeySchema } from "../ledger-api.ts";
import type { Right } from "../rights.ts";

/** The names that a path may have. Each means one thing in all routes. A value without a schema is looked up as it is. */
export const PARAMS = {
  /** A thread, by its own id or its Discord thread's, by its name, its number (`12`, `#12`) or its title. */
  id: { field: "threadId", schema: anyThreadNameSchema },
  channelId: { field: "channelId", schema: snowflakeSchema },
  /** The relay's name for a message. */
  key: { field: "key", schema: messageKeySchema },
  /** An attachment's name. */
  name: { field: "name", schema: attachmentNameSchema },
  sha256: { field: "sha256", schema: blobNameSchema },
  job: { field: "job", schema: jobNameSchema },
  newsId: { field: "newsId", schema: newsIdSchema },
  inputId: { field: "inputId" },
  requestId: { field: "requestId" },
  /** The number of an agent's message: `17`. */
  spokenId: { field: "spokenId", schema: z.string().regex(/^[1-9]\d{0,14}$/, "must be a number") },
} as const satisfies Record<string, { field: string; schema?: z.ZodType<string> }>;

export type ParamName = keyof typeof PARAMS;

/**
 * Who may call a route. `anybody`: without a credential. `owner`: who has the sidecar's token, and the relay. `console`:
 * they, and a browser that is signed in to the console.
 */
export type Access = "anybody" | "owner" | "console";

/** A request that can be sent as it is written; a test sends it. */
export interface Example {
  /** The values of the names in the path. */
  path?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number>>;
  /** A text if the route takes raw bytes. */
  body?: unknown;
}

export interface Route {
  method: "get" | "post" | "put" | "delete";
  /** `:name` stands for one of {@link PARAMS}. It is the route's name in the log and in the metrics too. */
  path: string;
  summary: string;
  query?: z.ZodType;
  /** JSON; a content type if it is something else, which the handler reads itself. */
  body?: z.ZodType | string;
  status: number;
  /** JSON; a content type if it is something else, which the handler writes itself; undefined if there is no body. */
  reply?: z.ZodType | string;
  /** Another content type that the reply has if the query asks for it. */
  otherType?: string;
  /** Besides those that every route can answer: {@link COMMON_ERRORS}. */
  errors: readonly ErrorCode[];
  /** Without it, the owner. */
  access?: Access;
  /**
   * What a person needs for it, in whose name the relay asks: in the channel of the thread, or in that which path or body
   * names; if they name none, in all channels. `none`: no person asks for it, whatever their role.
   */
  right: Right | "none";
  /** The right is enough in any channel: the reply holds what the person may read alone, or what is no channel's. */
  isOfAnyChannel?: true;
  /** The same request a second time changes nothing more, so whoever got no answer may send it again. */
  isRepeatable: boolean;
  /** Undefined if the path names what only an agent makes up: no example can name it before. */
  example?: Example;
}

export const COMMON_ERRORS: readonly ErrorCode[] = [
  "invalid_request",
  "too_large",
  "unauthorized",
  "forbidden",
  "internal",
];

/** Keeps the definition's own type, from which the handler's and the client's follow. */
export function route<const R extends Route>(definition: R): R {
  return definition;
}

/** The names in a path: `id` and `key` of `/thread/:id/messages/:key`. */
type NamesIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | NamesIn<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** The values of the names in a route's path. */
export type ParamsOf<R extends Route> = Readonly<Record<NamesIn<R["path"]>, string>>;

/** A part of a definition as it is sent, and as it is once it was parsed. */
type Sent<S> = S extends z.ZodType ? z.input<S> : undefined;
type Parsed<S> = S extends z.ZodType ? z.output<S> : undefined;

export type SentBody<R extends Route> = Sent<R["body"]>;
export type ParsedQuery<R extends Route> = Parsed<R["query"]>;
export type ParsedBody<R extends Route> = Parsed<R["body"]>;
/** A JSON reply, as the handler returns it. */
export type MadeReply<R extends Route> = R["reply"] extends z.ZodType ? z.input<R["reply"]> : never;
/** A JSON reply, as the client gets it; undefined if there is none. */
export type ReadReply<R extends Route> = R["reply"] extends z.ZodType ? z.output<R["reply"]> : undefined;

/** A route's path with its names filled in, escaped. */
export function pathOf<R extends Route>({ path }: R, params: ParamsOf<R>): string {
  const values: Readonly<Record<string, string>> = params;
  return path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
}
