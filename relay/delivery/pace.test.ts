import { expect, test } from "vitest";
import { Pace } from "./pace.ts";

test("an urgent edit waits as long as Discord demands, and no longer", () => {
  const at = 10_000;
  const slow = new Pace(1_800);
  expect([slow.nextEditAt(at), slow.nextEditAt(at, true)]).toEqual([0, 0]);
  slow.noteEdit(at);
  expect([slow.nextEditAt(at), slow.nextEditAt(at, true)]).toEqual([11_800, 11_200]);
  const quick = new Pace(0);
  quick.noteEdit(at);
  expect([quick.nextEditAt(at), quick.nextEditAt(at, true)]).toEqual([10_000, 10_000]);
});

test("a clock that is set back makes nobody wait until it is there again", () => {
  const pace = new Pace();
  for (let i = 0; i < 5; i++) pace.noteSend(3_600_000 + i);
  pace.noteEdit(3_600_000);
  expect(pace.nextEditAt(10_000)).toBe(11_200);
  expect(pace.room(10_000, 0)).toBe(0);
  expect(pace.nextSendAt(10_000)).toBe(15_500);
  // As any other wait, from there on.
  expect([pace.nextSendAt(12_000), pace.room(15_500, 0)]).toEqual([15_500, 5]);
});

test("a scale holds for all waits, also for an urgent edit's", () => {
  const at = 10_000;
  const pace = new Pace(1_800, 0.1);
  for (let i = 0; i < 5; i++) pace.noteSend(at);
  pace.noteEdit(at);
  expect([pace.nextSendAt(at), pace.room(at, 0), pace.room(at, 550)]).toEqual([10_550, 0, 5]);
  expect([pace.nextEditAt(at), pace.nextEditAt(at, true)]).toEqual([10_180, 10_120]);
});
