import { expect, test } from "vitest";
import { WrongTokens } from "./guard.ts";

test("a clock that is set back cuts nobody off", async () => {
  let now = 3_600_000;
  const wrongTokens = new WrongTokens({ now: () => now, onWrong: () => undefined });
  for (let i = 0; i < 20; i++) expect(await wrongTokens.mayAnswer("10.0.0.1")).toBe(true);
  const slow = wrongTokens.mayAnswer("10.0.0.1");
  now -= 1_800_000;
  expect(await wrongTokens.mayAnswer("10.0.0.1")).toBe(true);
  expect(await slow).toBe(true);
});
