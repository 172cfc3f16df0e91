/** Reading what a caller sent, and answering. */
import type { Response } from "express";
import type { z } from "zod";
import { AppError } from "../../shared/errors.ts";

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
    return issue.errors
      .map((issues) => issues.map((inner) => describeIssue(inner, name)).join(" and "))
      .join(", or ");
  }
  if (issue.code === "unrecognized_keys") return `${issue.keys.join(", ")}: not a known field`;
  const field = [name, ...issue.path].filter((part) => part !== undefined).join(".");
  return field === "" ? issue.message : `${field}: ${issue.message}`;
}

/** What `res.json` sends, without its look-ups, which cost a tenth of the time from a key to its echo. */
export function answer(res: Response, value: object, status = 200): void {
  res.statusCode = status;
  res.setHeader("content-type", "application/json; charset=utf-8");
  res.end(JSON.stringify(value));
}
