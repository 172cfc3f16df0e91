import { expect, test } from "vitest";
import { fillPrompt, fillText, type InputSpecs, readInputs, valuesOfWords, wordsOfLine } from "./inputs.ts";

const inputs: InputSpecs = {
  target: { type: "enum", values: ["staging", "prod"] },
  depth: { type: "number", min: 1, default: 2 },
  dry: { type: "boolean", default: false },
  ticket: { type: "id", default: "none" },
  why: { type: "text", default: "" },
};

test("inputs have their values or defaults", () => {
  expect(readInputs(inputs, { target: "prod", dry: true })).toEqual({
    target: "prod",
    depth: 2,
    dry: true,
    ticket: "none",
    why: "",
  });
});

test.each([
  [{}, /inputs\.target: is missing; it is one of staging, prod/],
  [{ target: "live" }, /inputs\.target: must be one of staging, prod/],
  [{ target: "prod", depth: "3" }, /inputs\.depth: must be a number/],
  [{ target: "prod", depth: 0 }, /inputs\.depth: must be at least 1/],
  [{ target: "prod", depth: Number.NaN }, /inputs\.depth: must be a number/],
  [{ target: "prod", dry: "true" }, /inputs\.dry: must be true or false/],
  [{ target: "prod", ticket: "a b" }, /inputs\.ticket: must be 1 to 64 of/],
  [{ target: "prod", ticket: "a\nb" }, /inputs\.ticket: must be/],
  [{ target: "prod", ticket: "a\n" }, /inputs\.ticket: must be/],
  [{ target: "prod", other: 1 }, /inputs\.other: is no input of this directive; it takes target, depth/],
  [{ target: "prod", why: "x".repeat(10_001) }, /inputs\.why: must be text of at most/],
  [{ other: 1, depth: true }, /inputs\.other: .*inputs\.target: .*inputs\.depth: /],
])("%j is refused by the input's name", (given, expected) => {
  expect(() => readInputs(inputs, given)).toThrow(expected);
});

test("a value is filled in once, and is expanded no further", () => {
  const ids: InputSpecs = { a: { type: "enum", values: ["{{b}}", "$&"] }, b: { type: "id" } };
  expect(fillText("{{a}} {{b}} {{a}} {{c}} {{ a }}", ids, { a: "{{b}}", b: "x" })).toBe(
    "{{b}} x {{b}} {{c}} {{ a }}",
  );
  expect(fillText("{{a}}", ids, { a: "$&" })).toBe("$&");
});

test("free text stands in the first message alone", () => {
  const values = readInputs(inputs, { target: "prod", why: "It is {{target}}." });
  expect(fillText("{{why}} {{target}}", { target: inputs["target"] as InputSpecs[string] }, values)).toBe(
    "{{why}} prod",
  );
  expect(fillPrompt("Deploy.", inputs, values)).toBe("Deploy.\n\nwhy:\nIt is {{target}}.");
});

test("typed words become values of the inputs' types", () => {
  expect(valuesOfWords(inputs, { target: "1", depth: "3", dry: "true", other: "4" })).toEqual({
    target: "1",
    depth: 3,
    dry: true,
    other: "4",
  });
  expect(valuesOfWords(inputs, { depth: "three", dry: "yes" })).toEqual({ depth: "three", dry: "yes" });
});

test("inputs are written on one line", () => {
  expect(wordsOfLine(`target=prod  why="some words" n=-1.5 e=`)).toEqual({
    target: "prod",
    why: "some words",
    n: "-1.5",
    e: "",
  });
  expect(() => wordsOfLine("a=1 b")).toThrow(/"b" must be name=value/);
  expect(() => wordsOfLine("a=1 a=2")).toThrow(/inputs\.a: is given twice/);
  expect(() => wordsOfLine(`a="1`)).toThrow(/must be name=value/);
});
