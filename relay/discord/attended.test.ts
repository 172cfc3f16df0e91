import { expect, test } from "vitest";
import { ATTENDED_MS, Attended } from "./attended.ts";

test("a thread counts for five minutes from what a person did there last", () => {
  let now = 1_000;
  const attended = new Attended(() => now);
  expect(attended.has("a")).toBe(false);
  attended.note("a");
  now += ATTENDED_MS - 1;
  attended.note("b");
  expect([attended.has("a"), attended.has("b")]).toEqual([true, true]);
  now += 1;
  expect([attended.has("a"), attended.has("b")]).toEqual([false, true]);
  attended.note("a");
  now += ATTENDED_MS - 1;
  expect([attended.has("a"), attended.has("b")]).toEqual([true, false]);
});
