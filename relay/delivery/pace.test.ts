import { expect, test } from "vitest";
import { Pace } from "./pace.ts";

test("an urgent edit waits as long as Discord demands, and no longer", () => {
  const slow = new Pace(1_800);
  expect([slow.nextEditAt(), slow.nextEditAt(true)]).toEqual([0, 0]);
  slow.noteEdit(10_000);
  expect([slow.nextEditAt(), slow.nextEditAt(true)]).toEqual([11_800, 11_200]);
  const quick = new Pace(0);
  quick.noteEdit(10_000);
  expect([quick.nextEditAt(), quick.nextEditAt(true)]).toEqual([10_000, 10_000]);
});
