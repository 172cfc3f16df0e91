/** Reading what a caller sent, and answering. */
import type { ServerResponse } from "node:http";
import type { Request } from "express";
import type * as z from "zod";
import { AppError } from "../../shared/errors.ts";

/** The pattern of an Express route, such as `/console/:asset`; `unknown` before one has taken the request. */
export function expressRouteOf(req: Partial<Request>): string {
  const path: unknown = req.route?.path;
  return typeof path === "string" ? path : "unknown";
}

/**
 * Parses a body or query.
 * @throws AppError `invalid_request` whose sentence names every field that is wrong.
 */
export function parse<S extends z.ZodType>(schema: S, value: unknown, name?: string): z.output<S> {
  const result = schema.safeParse(value ?? {});
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => describeIssue(issue, name));
  throw new AppError("invalid_request", `${[...new Set(problems)].join("; ")}.`);
}

function describeIssue(issue: z.core.$ZodIssue, name?: string): string {
  if (issue.code === "invalid_union") {
    // If some ways to write it have all the fields that were sent, the others were not meant.
    const isMeant = (issues: z.core.$ZodIssue[]) => !issues.some(({ code }) => code === "unrecognized_keys");
    const meant = issue.errors.filter(isMeant);
    return (meant.length > 0 ? meant : issue.errors)
      .map((issues) => issues.map((inner) => describeIssue(inner, name)).join(" and "))
      .join(", or ");
  }
  const place = [name, ...issue.path].filter((part) => part !== undefined);
  if (issue.code === "unrecognized_keys")
    return `${issue.keys.map((key) => [...place, key].join(".")).join(", ")}: not a known field`;
  const field = place.join(".");
  return field === "" ? issue.message : `${field}: ${issue.message}`;
}

/** What `res.json` sends, without its look-ups, which cost a tenth of the time from a key to its echo. */
export function answer(res: ServerResponse, value: object, status = 200): void {
  res.statusCode = status;
  res.setHeader("content-type", "application/json; charset=utf-8");
  res.end(JSON.stringify(value));
}
