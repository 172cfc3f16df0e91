/** What a hook takes from a body: which requests count, and the fields that are passed on. Pure. */
import { AppError } from "../../shared/errors.ts";
import type { HookCondition, Scalar } from "../../shared/hooks/settings.ts";
import type { Part } from "../../shared/outside-text.ts";

/** A body as JSON; undefined if it is none. */
export type Json = { value: unknown } | undefined;

export function parseBody(body: Buffer): Json {
  try {
    return { value: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)) };
  } catch {
    return undefined; // the parser's own words may hold what was sent
  }
}

/** What a JSON pointer names; undefined if it is not there. */
export function findAt(value: unknown, pointer: string): { value: unknown } | undefined {
  let found = value;
  for (const step of pointer.split("/").slice(1)) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    if (Array.isArray(found) && !/^(?:0|[1-9]\d*)$/.test(name)) return undefined; // such as its length
    found = Reflect.get(found, name);
  }
  return { value: found };
}

/** @throws AppError `invalid_request` if there are conditions and the body is no JSON */
export function doesFit(body: Json, filter: readonly HookCondition[]): boolean {
  const [first] = filter;
  if (!first) return true;
  if (!body) throw noJson(`filter: it looks at ${first.path}`);
  return filter.every((condition) => holds(body.value, condition));
}

function holds(body: unknown, condition: HookCondition): boolean {
  const found = findAt(body, condition.path);
  if ("exists" in condition) return (found !== undefined) === condition.exists;
  const wanted: readonly Scalar[] = "in" in condition ? condition.in : [condition.equals];
  return found !== undefined && wanted.some((one) => one === found.value);
}

/**
 * The template's words and, each as a part of its own, the fields that it takes.
 * @throws AppError `invalid_request` if the body is no JSON, or a field is not there or too deep to be written
 */
export function fillTemplate(template: string, body: Json): Part[] {
  const pieces = template.split(/\{(\/[^{}]*)\}/);
  if (pieces.length > 1 && !body) throw noJson(`template: it takes ${pieces[1]}`);
  const parts = pieces.map((piece, index): Part => {
    if (index % 2 === 0) return { kind: "own", text: piece.trim() };
    const found = findAt(body?.value, piece);
    if (!found) throw new AppError("invalid_request", `template: the body has nothing at ${piece}.`);
    return { kind: "outside", text: textOf(found.value, piece) };
  });
  return parts.filter(({ kind, text }) => kind === "outside" || text !== "");
}

function textOf(value: unknown, pointer: string): string {
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value);
  } catch {
    // Only depth can do that to what was parsed from JSON.
    throw new AppError("invalid_request", `template: ${pointer} is nested too deeply to be passed on.`);
  }
}

function noJson(why: string): AppError {
  return new AppError(
    "invalid_request",
    `${why}, and the body is no JSON. Have the sender send it as application/json.`,
  );
}
