import { expect, test } from "vitest";
import { shortcutOf } from "./shortcuts.ts";

const plain = { ctrlKey: false, altKey: false, metaKey: false, isComposing: false };

test.each([
  ["/", "search"],
  ["n", "new"],
  ["j", "next"],
  ["k", "previous"],
  ["Escape", "leave"],
  ["?", "help"],
  ["x", undefined],
  ["N", undefined],
])("%s does: %s", (key, expected) => {
  expect(shortcutOf({ ...plain, key }, false)).toBe(expected);
  expect(shortcutOf({ ...plain, key }, true)).toBe(key === "Escape" ? "leave" : undefined);
});

test.each(["ctrlKey", "altKey", "metaKey", "isComposing"])("no key with %s", (held) => {
  expect(shortcutOf({ ...plain, [held]: true, key: "n" }, false)).toBeUndefined();
});
