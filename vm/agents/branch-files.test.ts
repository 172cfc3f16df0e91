import { expect, test } from "vitest";
import { stateAt } from "./branch-files.ts";

const turns = [
  { turnId: "a", start: 10, end: 20 },
  { turnId: "b", start: 30, end: 40 },
  { turnId: "undo", start: 45, end: 45 },
  { turnId: "runs", start: 50, end: Number.POSITIVE_INFINITY },
];

test.each([
  [5, "a", "before", false],
  [10, "a", "before", true],
  [19, "a", "before", true],
  [20, "a", "end", false],
  [29, "a", "end", false],
  [35, "b", "before", true],
  [44, "b", "end", false],
  [45, "undo", "end", false],
  [99, "undo", "end", true],
] as const)(
  "at event %i the files are those of %s, %s; in the midst of a turn: %s",
  (seq, turnId, side, isMidTurn) => {
    expect(stateAt(turns, seq)).toEqual({ turnId, side, isMidTurn });
  },
);

test("without a turn that changed files there is no state", () => {
  expect(stateAt([], 5)).toBeUndefined();
  expect(stateAt([{ turnId: "runs", start: 3, end: Number.POSITIVE_INFINITY }], 5)).toBeUndefined();
});
