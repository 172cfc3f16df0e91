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

const resetAt = (text: string, now: string) =>
  findUsageLimit(result(`You've hit your limit · resets ${text}`), null, Date.parse(now))?.resetsAt;

test.each([
  // Clocks go back from 3:00 to 2:00 in Berlin on 25 October 2026, at 1:00 UTC.
  ["12:30am (Europe/Berlin)", "2026-10-24T20:00:00Z", "2026-10-24T22:30:00.000Z"],
  ["2:30am (Europe/Berlin)", "2026-10-24T20:00:00Z", "2026-10-25T00:30:00.000Z"],
  ["2:30am (Europe/Berlin)", "2026-10-25T00:45:00Z", "2026-10-25T01:30:00.000Z"],
  ["3am (Europe/Berlin)", "2026-10-24T20:00:00Z", "2026-10-25T02:00:00.000Z"],
  ["11pm (Europe/Berlin)", "2026-10-24T22:30:00Z", "2026-10-25T22:00:00.000Z"],
  // They go forward from 2:00 to 3:00 on 29 March, at 1:00 UTC.
  ["1:30am (Europe/Berlin)", "2026-03-28T20:00:00Z", "2026-03-29T00:30:00.000Z"],
  ["2:30am (Europe/Berlin)", "2026-03-28T20:00:00Z", "2026-03-29T01:30:00.000Z"],
  ["3am (Europe/Berlin)", "2026-03-28T20:00:00Z", "2026-03-29T01:00:00.000Z"],
  // Behind UTC: from 2:00 to 1:00 on 1 November at 6:00 UTC, from 2:00 to 3:00 on 8 March at 7:00 UTC.
  ["12:30am (America/New_York)", "2026-11-01T00:00:00Z", "2026-11-01T04:30:00.000Z"],
  ["1:30am (America/New_York)", "2026-11-01T05:40:00Z", "2026-11-01T06:30:00.000Z"],
  ["3am (America/New_York)", "2026-11-01T00:00:00Z", "2026-11-01T08:00:00.000Z"],
  ["11pm (America/New_York)", "2026-11-01T06:00:00Z", "2026-11-02T04:00:00.000Z"],
  ["4am (America/New_York)", "2026-03-08T00:00:00Z", "2026-03-08T08:00:00.000Z"],
  ["Mar 8, 1am (America/New_York)", "2026-03-07T00:00:00Z", "2026-03-08T06:00:00.000Z"],
  // By half an hour only, and in the south.
  ["5am (Australia/Lord_Howe)", "2026-04-04T10:00:00Z", "2026-04-04T18:30:00.000Z"],
  ["12:15am (Pacific/Auckland)", "2026-09-26T10:00:00Z", "2026-09-26T12:15:00.000Z"],
])("resets %s, read at %s, on a day on which clocks change", (text, now, at) => {
  expect(resetAt(text, now)).toBe(at);
});

test.each([
  ["3pm (Etc/GMT+5)", "2026-11-23T20:00:00.000Z"],
  ["3pm (Etc/GMT-14)", "2026-11-23T01:00:00.000Z"],
  ["3pm (EST5EDT)", "2026-11-23T20:00:00.000Z"],
  ["3pm (Asia/Kathmandu)", "2026-11-23T09:15:00.000Z"],
  ["3pm (America/Argentina/ComodRivadavia)", "2026-11-23T18:00:00.000Z"],
  ["3pm (UTC+2)", "2026-11-23T13:00:00.000Z"],
  ["3pm (GMT-03:30)", "2026-11-23T18:30:00.000Z"],
  ["3pm (+0530)", "2026-11-23T09:30:00.000Z"],
  ["3pm (UTC+99)", undefined],
  ["3pm (GMT+5)", "2026-11-23T10:00:00.000Z"],
  ["0pm (UTC)", undefined],
  ["13am (UTC)", undefined],
  ["3:75pm (UTC)", undefined],
  ["Feb 30, 3pm (UTC)", undefined],
])("resets %s", (text, at) => {
  expect(reset(`You've hit your limit · resets ${text}`)).toBe(at);
});
