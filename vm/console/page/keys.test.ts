import { expect, test } from "vitest";
import { withCtrl } from "./keys.ts";

test.each([
  ["c", "\x03"],
  ["C", "\x03"],
  ["[", "\x1b"],
  ["_", "\x1f"],
  [" ", "\0"],
  ["?", "\x7f"],
  ["\x1b[D", "\x1b[1;5D"],
  ["1", "1"],
  ["é", "é"],
  ["word", "word"],
])("Ctrl with %j is %j", (typed, sent) => {
  expect(withCtrl(typed)).toBe(sent);
});
