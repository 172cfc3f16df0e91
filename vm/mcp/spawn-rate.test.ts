import { expect, test } from "vitest";
import { aThreadId } from "../../test/support/ids.ts";
import { refuseTooMany, type Spawned } from "./spawn-rate.ts";

const HOUR = 3_600_000;
const NOW = 1_800_000_000_000;

const children = (count: number, parentId: string, createdAt = NOW): Spawned[] =>
  Array.from({ length: count }, () => ({ parentId: aThreadId(parentId), createdAt }));

test("a parent spawns 50 children a day, ended ones included", () => {
  expect(() => refuseTooMany(children(49, "one"), aThreadId("one"), NOW)).not.toThrow();
  const made = [...children(1, "one", NOW - 20.5 * HOUR), ...children(49, "one")];
  expect(() => refuseTooMany(made, aThreadId("one"), NOW)).toThrow(
    /^A thread may spawn 50 children in 24 hours, ended ones included.* in about 4 hours\.$/,
  );
  expect(() => refuseTooMany(made, aThreadId("one"), NOW + 3.6 * HOUR)).not.toThrow();
  expect(() => refuseTooMany(made, aThreadId("other"), NOW)).not.toThrow();
});

// Promise: S30
test("a family spawns 100 a day, whoever of it spawns them", () => {
  const made = ["a", "b", "c", "d"].flatMap((parentId) => children(25, parentId));
  expect(() => refuseTooMany(made.slice(1), aThreadId("e"), NOW)).not.toThrow();
  expect(() => refuseTooMany(made, aThreadId("e"), NOW)).toThrow(
    /^A thread and all that descend from it may spawn 100 .* in about 24 hours\.$/,
  );
});

test("times that lie far ahead, from before a clock was set back, count no more", () => {
  expect(() => refuseTooMany(children(60, "one", NOW + 30 * 24 * HOUR), aThreadId("one"), NOW)).not.toThrow();
});
