import { expect, test } from "vitest";
import { isInside } from "./directory.ts";

test.each([
  ["/r", "/r", true],
  ["/r", "/r/a", true],
  ["/r", "/r/a/../b", true],
  ["/r", "/r/..a", true],
  ["/r", "/r/...", true],
  ["/r", "/", false],
  ["/r", "/ra", false],
  ["/r", "/r/..", false],
  ["/r", "/r/../ra", false],
  ["/", "/etc", true],
])("%s holds %s: %s", (parent, path, expected) => expect(isInside(parent, path)).toBe(expected));
