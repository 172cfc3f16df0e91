import { expect, test } from "vitest";
import { AppError } from "../../shared/errors.ts";
import { checkOutputSchema } from "./output-schema.ts";

function refusal(schema: Record<string, unknown>): unknown {
  try {
    checkOutputSchema(schema);
  } catch (error) {
    return error instanceof AppError ? [error.code, error.message] : error;
  }
  return undefined;
}

function nested(depth: number): Record<string, unknown> {
  let schema: Record<string, unknown> = { type: "string" };
  for (let i = 0; i < depth; i++) schema = { items: schema };
  return schema;
}

test("what an engine can be given, and its own parts", () => {
  expect(refusal({ type: "object", properties: { bugs: { type: "array" } } })).toBeUndefined();
  expect(refusal({ $ref: "#/$defs/a", $defs: { a: { items: { $ref: "#/$defs/a" } } } })).toBeUndefined();
  expect(refusal(nested(31))).toBeUndefined();
});

test("too large, too deep, or to be fetched from elsewhere", () => {
  const large = refusal({ description: "x".repeat(70_000) });
  expect(large).toEqual(["too_large", "agent.outputSchema: may have at most 65,536 bytes of JSON."]);
  const deep = ["invalid_request", "agent.outputSchema: may be nested at most 32 deep."];
  expect(refusal(nested(32))).toEqual(deep);
  expect(refusal(nested(100_000))).toEqual(deep);
  for (const target of ["http://127.0.0.1/x", "file:///etc/passwd", "other.json"]) {
    expect(refusal({ anyOf: [{ $ref: target }] })).toEqual([
      "invalid_request",
      'agent.outputSchema: $ref: nothing is fetched; it must begin with "#".',
    ]);
  }
});
