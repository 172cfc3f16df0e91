import { expect, test } from "vitest";
import { stateAt } from "./branch-files.ts";

const turns = [
  { turnId: "a", start: 10, end: 20 },
  { turnId: "b", start: 30, end: 40 },
  { turnId: "runs", start: 50, end: Number.POSITIVE_INFINITY },
];

test.each([
  [5, "a", "before"],
  [10, "a", "before"],
  [19, "a", "before"],
  [20, "a", "after"],
  [29, "a", "after"],
  [35, "b", "before"],
  [45, "b", "after"],
  [99, "runs", "before"],
] as const)("at event %i the files are those of turn %s, %s it", (seq, turnId, side) => {
  expect(stateAt(turns, seq)).toEqual({ turnId, side });
});

test("without a turn that changed files there is no state", () => {
  expect(stateAt([], 5)).toBeUndefined();
});
