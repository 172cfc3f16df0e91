import { describe, expect, test } from "vitest";
import * as z from "zod";
import { ConfigError, findNodeProblem, parseEnv } from "./config.ts";

const schema = z.object({
  NAME: z.string("must be a name"),
  COUNT: z.coerce.number("must be a number").int().min(1).default(5),
  TOKEN: z.string().min(8, "must have 8 characters").optional(),
});

function problemsOf(env: Record<string, string | undefined>): readonly string[] {
  try {
    parseEnv(schema, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe("parseEnv", () => {
  test("gives typed values and defaults, and leaves everything else out", () => {
    expect(parseEnv(schema, { NAME: "x", COUNT: "7", OTHER: "y" })).toEqual({ NAME: "x", COUNT: 7 });
  });

  test("takes an empty value as none", () => {
    expect(parseEnv(schema, { NAME: "x", COUNT: "", TOKEN: "  " })).toEqual({ NAME: "x", COUNT: 5 });
    expect(problemsOf({ NAME: "" })).toEqual(["NAME: missing; must be a name"]);
  });

  test("names every problem at once, one line each, and no value", () => {
    const problems = problemsOf({ COUNT: "many", TOKEN: "s3cret" });
    expect(problems).toEqual([
      "NAME: missing; must be a name",
      "COUNT: must be a number",
      "TOKEN: must have 8 characters",
    ]);
    expect(problems.join()).not.toContain("s3cret");
  });
});

test.each([
  ["v20.19.0", true],
  ["v20.18.3", false],
  ["v18.20.0", false],
  ["v22.0.0", true],
  ["v24.1.0", true],
])("Node.js %s is new enough: %s", (version, isFine) => {
  expect(findNodeProblem(version) === undefined).toBe(isFine);
});
