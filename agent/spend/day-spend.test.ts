import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { thisProcess } from "../locks/alive.ts";
import { DaySpend } from "./day-spend.ts";

const CAP = 10;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "spend-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (threadId: string) =>
  new DaySpend({ folder, capUsd: CAP, threadId, createdAt: at(20).toISOString() });
const at = (day: number, hour = 12, second = 0) => new Date(2026, 10, day, hour, 0, second);

test("what a thread spent before today does not count, what others spent today does; a next runner goes on", () => {
  const a = open("a");
  a.note(100, at(22));
  a.note(103, at(22));
  const b = open("b");
  b.note(0, at(22));
  b.note(4, at(22));
  expect(a.look(at(22, 13))).toEqual({ day: "2026-11-22", allowedUsd: CAP, usedUsd: 7, stepUsd: CAP });
  const next = open("a");
  next.note(105, at(22));
  expect(next.look(at(22, 14)).usedUsd).toBe(9);
});

test("what was taken for too much is counted right once its price is told, also over midnight", () => {
  const [a, b] = [open("a"), open("b")];
  a.note(0, at(22));
  a.note(0.0625, at(22));
  a.note(0.05, at(22));
  b.note(0, at(22));
  expect(b.look(at(22)).usedUsd).toBeCloseTo(0.05, 9);
  a.note(0.0625, at(23));
  a.note(0.05, at(23));
  a.note(0.1, at(23));
  expect(a.look(at(23)).usedUsd).toBeCloseTo(0.05, 9);
});

test("a new thread with the id of one that has ended adds to what that one has spent", () => {
  const a = open("a");
  a.note(0, at(22));
  a.note(3, at(22));
  const again = new DaySpend({ folder, capUsd: CAP, threadId: "a", createdAt: at(22, 13).toISOString() });
  again.note(0, at(22, 14));
  again.note(2, at(22, 14));
  expect(again.look(at(22, 14)).usedUsd).toBe(5);
});

test("local midnight begins anew, and older days go", () => {
  const a = open("a");
  for (const [day, total] of [
    [20, 1],
    [21, 2],
    [22, 3],
  ] as const)
    a.note(total, at(day));
  a.note(5, at(22, 23));
  expect(a.look(at(22, 23)).usedUsd).toBe(2);
  a.note(5, at(23, 0));
  expect(a.look(at(23, 0))).toMatchObject({ day: "2026-11-23", usedUsd: 0 });
  expect(readdirSync(folder)).toEqual(["2026-11-22", "2026-11-23"]);
});

test("raised twice by the same answer, or for another day, it counts once or not", () => {
  const a = open("a");
  a.note(0, at(22));
  for (const each of [a, a]) each.raise({ day: "2026-11-22", allowedUsd: CAP });
  a.raise({ day: "2026-11-21", allowedUsd: 500 });
  expect(a.look(at(22)).allowedUsd).toBe(2 * CAP);
  const b = open("b");
  b.note(0, at(22));
  b.raise({ day: "2026-11-22", allowedUsd: 2 * CAP });
  expect(b.look(at(22)).allowedUsd).toBe(3 * CAP);
});

test("a file that is no such file is worth nothing, and stops nobody", () => {
  const a = open("a");
  a.note(0, at(22));
  for (const [name, text] of Object.entries({
    "thread-x.json": "{",
    "thread-y.json": "[]",
    "raise-9.json": "3",
  }))
    writeFileSync(join(folder, "2026-11-22", name), text);
  a.note(1, at(22));
  expect(a.look(at(22))).toMatchObject({ usedUsd: 1, allowedUsd: CAP });
});

test("calls that run at once fit into the day; the last one runs alone, and a dead one counts for a while", () => {
  const [a, b, c] = [open("a"), open("b"), open("c")];
  for (const each of [a, b, c]) each.note(0, at(22));
  const self = [thisProcess()];
  expect(a.reserve("1", 6, self, at(22))).toBe(true);
  expect(a.reserve("1", 6, self, at(22))).toBe(true);
  expect(b.reserve("1", 5, self, at(22))).toBe(false);
  expect(c.reserve("1", 4, self, at(22))).toBe(true);
  a.note(9.9, at(22));
  a.release();
  // Not enough is left for it, and another call runs.
  expect(a.reserve("2", 6, self, at(22))).toBe(false);
  c.release();
  expect(a.reserve("2", 6, self, at(22))).toBe(true);
  a.note(10, at(22));
  a.release();
  expect(b.reserve("2", 1, self, at(22))).toBe(false);
  const dead = { fifo: join(folder, "gone") };
  b.raise({ day: "2026-11-22", allowedUsd: CAP });
  expect(b.reserve("3", 9, [dead], at(22))).toBe(true);
  expect(a.reserve("3", 2, self, at(22, 12, 5))).toBe(false);
  expect(a.reserve("3", 2, self, at(22, 12, 40))).toBe(true);
});

test("a call that is counted while another looks for room is either running or spent, never neither", () => {
  const [a, b] = [open("a"), open("b")];
  a.note(0, at(22));
  b.note(0, at(22));
  const holder = thisProcess();
  expect(b.reserve("b1", CAP, [holder], at(22))).toBe(true);
  // b's call ends, and has cost all that was left, between two of a's looks into the folder, whichever those are.
  for (const moment of [1, 2, 3]) {
    let looks = 0;
    const now = at(22);
    now.getTime = () => {
      if (++looks === moment) {
        b.note(CAP, at(22));
        b.release();
      }
      return at(22).valueOf();
    };
    expect(a.reserve(`a${moment}`, 1, [holder], now), `moment ${moment}`).toBe(false);
    b.note(0, at(22));
    expect(b.reserve(`b${moment}`, CAP, [holder], at(22))).toBe(true);
  }
});
