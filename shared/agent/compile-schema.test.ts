import { expect, test } from "vitest";
import { compileSchema } from "./compile-schema.ts";

const DRAFT_07 = "http://json-schema.org/draft-07/schema#";

test("a value that fits, and where another does not", () => {
  const properties = { bugs: { type: "array", items: { $ref: "#/$defs/bug" } } };
  const $defs = { bug: { type: "object", required: ["line"], properties: { line: { type: "integer" } } } };
  const check = compileSchema({ type: "object", properties, $defs });
  expect(check({ bugs: [{ line: 1 }], more: true })).toBeUndefined();
  expect(check({ bugs: [{ line: "1" }] })).toBe("/bugs/0/line must be integer.");
  expect(check({ bugs: [{}] })).toBe("/bugs/0 must have required property 'line'.");
  expect(check(null)).toBe("it must be object.");
});

test("each draft in its own words, formats as remarks", () => {
  const pair = [{ type: "string" }, { type: "number" }];
  expect(compileSchema({ prefixItems: pair })(["a", "b"])).toBe("/1 must be number.");
  expect(compileSchema({ $schema: DRAFT_07, items: pair })(["a", "b"])).toBe("/1 must be number.");
  expect(compileSchema({ format: "email" })("no address")).toBeUndefined();
  expect(() => compileSchema({ $schema: "https://127.0.0.1/mine" })).toThrow("$schema: must name draft");
});

// Promise: S49
test("what would take for ever is ended, and said", () => {
  const late = /^can't be checked within 0\.1 seconds\.$/;
  const pattern = compileSchema({ pattern: "^(a+)+$" }, 100);
  expect(pattern(`${"a".repeat(50)}!`)).toMatch(late);
  expect(pattern("aaa")).toBeUndefined();
  const both = [{ items: { $ref: "#" } }, { items: { $ref: "#" } }];
  const forks = compileSchema({ anyOf: [...both, { const: 1 }] }, 100);
  const deep = JSON.parse(`${"[".repeat(60)}2${"]".repeat(60)}`);
  expect(forks(deep)).toMatch(late);
  const endless = compileSchema({ items: { $ref: "#" } }, 5_000);
  expect(endless(JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`))).toMatch(/call stack/);
});

test("a long problem is cut", () => {
  const check = compileSchema({ required: ["x".repeat(10_000)] });
  expect(check({})?.length).toBe(300);
});

test("what every object inherits is no field of it", () => {
  const check = compileSchema({ properties: { constructor: { type: "string" } }, required: ["toString"] });
  expect(check({ toString: 1 })).toBeUndefined();
  expect(check({})).toBe("it must have required property 'toString'.");
  expect(check({ toString: 1, constructor: 2 })).toBe("/constructor must be string.");
});
