/** One route of the API, as OpenAPI and the server tell it. */
import type * as z from "zod";
import type { ErrorCode } from "./errors.ts";

export interface Route {
  method: "get" | "post" | "put" | "delete";
  /** As Express writes it. */
  path: string;
  summary: string;
  query?: z.ZodType;
  /** JSON; a content type if it is something else. */
  body?: z.ZodType | string;
  status: number;
  /** JSON; a content type where it is something else; undefined where there is no body. */
  reply?: z.ZodType | string;
  /** Besides `unauthorized`, `invalid_request`, `too_large` and `internal`, which every route can answer. */
  errors: readonly ErrorCode[];
  isPublic?: boolean;
}
