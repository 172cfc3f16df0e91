import { expect, test } from "vitest";
import { AppError } from "../../shared/errors.ts";
import { checkOutputSchema } from "./output-schema.ts";

function refusal(schema: Record<string, unknown>): unknown {
  try {
    checkOutputSchema(schema, "claude");
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

test.each<[Record<string, unknown>, string]>([
  [{ type: "array", prefixItems: [{ type: "string" }] }, 'unknown keyword: "prefixItems".'],
  [{ properties: { a: { dependentRequired: { b: ["c"] } } } }, 'unknown keyword: "dependentRequired".'],
  [{ type: "object", colour: "red" }, 'unknown keyword: "colour".'],
  [{ if: { type: "string" } }, '"if" without "then" and "else" is ignored.'],
])("what claude would not start with is refused, and says why: %j", (schema, why) => {
  expect(refusal(schema)).toEqual([
    "unsupported",
    `agent.outputSchema: claude, which knows the words of draft-07 alone, would not start with it: ${why}`,
  ]);
});

test("what claude only remarks on, it takes", () => {
  const schemas = [
    { properties: { prefixItems: { type: "string", format: "nope" } } },
    { type: ["string", "number"], minItems: 1, nullable: true },
    { $schema: "http://json-schema.org/draft-07/schema#", items: [{ type: "string" }] },
    { definitions: { unused: { prefixItems: [{}] } }, $id: "https://x/y", $comment: "c", examples: [1] },
  ];
  expect(schemas.map(refusal)).toEqual(schemas.map(() => undefined));
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

// Promise: S49
test.each<[Record<string, unknown>, RegExp]>([
  [{ type: "strnig" }, /type must be equal to one of the allowed values/],
  [{ properties: { line: { $ref: "#/$defs/none" } } }, /can't resolve reference/],
  [{ properties: { line: { pattern: "(" } } }, /Invalid regular expression/],
  [{ $schema: "http://json-schema.org/draft-04/schema#" }, /\$schema: must name draft 2020-12 or draft-07/],
  [{ minimum: { $data: "1/other" } }, /minimum must be number/],
  [{ $async: true }, /\$async/],
  [{ anyOf: Array(250).fill({}) }, /at most 250 objects and lists/],
])("no schema: %j", (schema, why) => {
  const [code, message] = refusal(schema) as string[];
  expect(code).toBe("invalid_request");
  expect(message).toMatch(/^agent\.outputSchema: /);
  expect(message).toMatch(why);
});
