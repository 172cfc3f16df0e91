import { expect, test } from "vitest";
import type { ClaudeResult } from "./lines.ts";
import { findUsageLimit } from "./usage-limit.ts";

const NOW = Date.parse("2026-11-22T22:20:29Z");
const result = (text: string, fields: object = {}): ClaudeResult => ({
  type: "result",
  subtype: "success",
  is_error: true,
  result: text,
  ...fields,
});
const reset = (text: string) => findUsageLimit(result(text), null, NOW)?.resetsAt;

test("the moment that its events name counts, whatever the sentence says", () => {
  const line = result("You've hit your 5-hour limit · resets 3am (UTC)", {
    api_error: "usage_limit_reached",
  });
  expect(findUsageLimit(line, 1795389627, NOW)).toEqual({
    message: "You've hit your 5-hour limit",
    resetsAt: "2026-11-22T23:20:27.000Z",
  });
});

test("without them the sentence is read, in its own zone", () => {
  expect(reset("You've hit your 5-hour limit · resets 12:20am (Europe/Berlin)")).toBe(
    "2026-11-22T23:20:00.000Z",
  );
  expect(reset("You've hit your 5-hour limit · resets 3pm (America/New_York)")).toBe(
    "2026-11-23T20:00:00.000Z",
  );
  expect(reset("You've hit your weekly limit · resets Nov 25, 3:30pm (UTC)")).toBe(
    "2026-11-25T15:30:00.000Z",
  );
  expect(reset("Claude AI usage limit reached|1795389627")).toBe("2026-11-22T23:20:27.000Z");
});

test("a moment that can't be is none: then nobody is told one", () => {
  for (const text of [
    "You've hit your limit",
    "You've hit your 5-hour limit · resets 3pm (Nowhere/Land)",
    "You've hit your limit · resets May 1, 3pm (UTC)",
    "Claude AI usage limit reached|1000000000",
  ]) {
    const found = findUsageLimit(result(text), null, NOW);
    expect(found).toBeDefined();
    expect(found?.resetsAt, text).toBeUndefined();
  }
  expect(
    findUsageLimit(result("x", { api_error: "usage_limit_reached" }), 4e9, NOW)?.resetsAt,
  ).toBeUndefined();
});

test("other failures are no limit", () => {
  expect(findUsageLimit(result("API Error: Request rejected (429)"), 1795389627, NOW)).toBeUndefined();
  expect(findUsageLimit(result("I read: You've hit your limit"), null, NOW)).toBeUndefined();
  const good = result("You've hit your limit", { is_error: false });
  expect(findUsageLimit(good, null, NOW)).toBeUndefined();
});
