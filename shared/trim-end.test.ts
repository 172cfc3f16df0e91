import { expect, test } from "vitest";
import { trimEndOf } from "./trim-end.ts";

test("only the end loses the characters, and only those", () => {
  expect(trimEndOf("\na\n\nb\n\n", "\n")).toBe("\na\n\nb");
  expect(trimEndOf("http://a/b//", "/")).toBe("http://a/b");
  expect(trimEndOf("a. .b . .", ". ")).toBe("a. .b");
  expect(trimEndOf("---", "-")).toBe("");
  expect(trimEndOf("", "-")).toBe("");
});
