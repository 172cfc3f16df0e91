import { expect, test } from "vitest";
import { cutInput } from "./cut-input.ts";

test("an input is JSON of 2,000 characters at most", () => {
  expect(cutInput({ command: "ls" })).toBe('{"command":"ls"}');
  expect(cutInput(undefined)).toBe("");
  expect(cutInput("x".repeat(1_998))).toBe(`"${"x".repeat(1_998)}"`);
  const cut = cutInput("x".repeat(1_999));
  expect(cut).toBe(`"${"x".repeat(1_998)}…`);
  expect(cut).toHaveLength(2_000);
});
