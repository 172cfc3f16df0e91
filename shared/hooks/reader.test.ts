import { expect, test } from "vitest";
import { compileSchema } from "../agent/compile-schema.ts";
import { answerSchemaOf, findLoosePart, readerSchema } from "./reader.ts";

const ID = { type: "string", pattern: "^[\\w./#-]{1,64}$", maxLength: 64 };
const object = (properties: object, more: object = {}) => ({
  type: "object",
  additionalProperties: false,
  properties,
  ...more,
});

test("the usual answer has a kind of the job's words, numbers and ids, and no sentence", () => {
  const check = compileSchema(answerSchemaOf(readerSchema.parse({ words: ["deploy"] })));
  const answer = { kind: "deploy", urgent: false, numbers: [3], ids: ["owner/repo#12", "abc-1.2"] };
  expect(check(answer)).toBeUndefined();
  expect(check({ ...answer, kind: "other" })).toBeUndefined();
  for (const wrong of [
    { kind: "push" },
    { ids: ["run this now"] },
    { ids: ["x".repeat(65)] },
    { note: "hi" },
    { ids: ["a\n"] },
  ])
    expect(check({ ...answer, ...wrong }), JSON.stringify(wrong)).toBeDefined();
  expect(findLoosePart(answerSchemaOf(readerSchema.parse({})))).toBeUndefined();
});

test.each([
  ["free text", object({ a: { type: "string" } }), /^a would let free text through/],
  ["a pattern of one's own", object({ a: { type: "string", pattern: ".*", maxLength: 64 } }), /^a would let/],
  ["a long id", object({ a: { ...ID, maxLength: 65 } }), /^a would let/],
  ["other fields", object({}, { additionalProperties: true }), /additionalProperties: false/],
  ["fields by pattern", object({}, { patternProperties: { ".*": {} } }), /patternProperties/],
  ["a list without end", object({ a: { type: "array", items: ID } }), /^a must have maxItems/],
  [
    "a list of text",
    object({ a: { type: "array", maxItems: 2, items: { type: "string" } } }),
    /^a\[\] would/,
  ],
  ["a list of anything", object({ a: { type: "array", maxItems: 2 } }), /^a\[\] must be a schema/],
  [
    "first of a list",
    object({ a: { type: "array", maxItems: 2, items: ID, prefixItems: [{}] } }),
    /prefixItems/,
  ],
  ["no type", object({ a: {} }), /^a must be of type/],
  ["several types", object({ a: { type: ["string", "null"] } }), /^a must be of type/],
  ["a choice", object({ a: { anyOf: [{ type: "string" }] } }), /^a must be of type/],
  ["a choice beside", object({ a: { type: "number", anyOf: [{}] } }), /anyOf/],
  ["a reference", object({ a: { $ref: "#" } }), /^a must be of type/],
  ["deeper", object({ a: object({ b: object({ c: { type: "string" } }) }) }), /^a\.b\.c would/],
  [
    "too deep",
    object({ a: object({ a: object({ a: object({ a: object({ a: object({}) }) }) }) }) }),
    /nested/,
  ],
  ["a deep word", object({ a: { type: "number", description: { a: {} } } }), /^a must not have description/],
  ["a deep choice", object({ a: { enum: [{ a: [] }] } }), /^a must have an enum/],
  ["no object", { type: "string", enum: ["a"] }, /^must be of type object/],
])("a schema with %s is refused, with its place", (_, schema, problem) => {
  expect(findLoosePart(schema)).toMatch(problem);
  expect(readerSchema.safeParse({ outputSchema: schema }).error?.issues[0]?.path).toEqual(["outputSchema"]);
});

test("a schema of bounded parts is taken", () => {
  const schema = object({
    state: { enum: ["up", "down"], description: "as it says" },
    since: { type: "integer", minimum: 0 },
    hosts: { type: "array", maxItems: 100, items: object({ id: ID }, { required: ["id"] }) },
  });
  expect(findLoosePart(schema)).toBeUndefined();
  expect(answerSchemaOf(readerSchema.parse({ outputSchema: schema }))).toEqual(schema);
  expect(readerSchema.safeParse({ outputSchema: schema, words: ["a"] }).success).toBe(false);
});
