import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { toCommandLine } from "./shell-words.ts";

test("one word is a command line already", () => {
  expect(toCommandLine(["npm ci && npm test"])).toBe("npm ci && npm test");
});

test("of several words a shell makes the same words again", () => {
  const words = ["", "a b", "it's", '"$HOME"', "`x`", "a\\b", "*", "~", "a\nb", "-n", "ü", "&&", "x=1"];
  const line = toCommandLine(["printf", "[%s]", ...words]);
  const shown = execFileSync("/bin/sh", ["-c", line], { encoding: "utf8" });
  expect(shown).toBe(words.map((word) => `[${word}]`).join(""));
});
