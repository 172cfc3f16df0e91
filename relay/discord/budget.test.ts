import { expect, test } from "vitest";
import { awakeMs } from "../../test/support/measure.ts";
import { createBudget } from "./budget.ts";

/** The most of these times within any second. */
function mostInASecond(times: readonly number[]): number {
  return Math.max(...times.map((at) => times.filter((other) => other >= at && other < at + 1_000).length));
}

test("streams share their part of the second in turn, and never get more", async () => {
  const budget = createBudget({ requestsPerSecond: 30, streamsPerSecond: 25 });
  const times: number[] = [];
  const counts = new Map<string, number>();
  const stopAt = performance.now() + 2_000;
  const stream = async (name: string) => {
    while (performance.now() < stopAt) {
      await budget.run(async () => {
        times.push(performance.now());
        counts.set(name, (counts.get(name) ?? 0) + 1);
      });
    }
  };
  await Promise.all(["a", "b", "c", "d", "e", "f", "g"].map(stream));
  // A bunch of two more where a timer was late.
  expect(mostInASecond(times)).toBeLessThanOrEqual(27);
  const shares = [...counts.values()];
  expect(shares).toHaveLength(7);
  expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
});

// Promise: R27
test("one person's twenty floods leave another person as much as one flood would", async () => {
  const budget = createBudget({ requestsPerSecond: 60, streamsPerSecond: 40 });
  const counts = { many: 0, one: 0 };
  let isOver = false;
  const stream = async (owner: keyof typeof counts) => {
    while (!isOver) {
      await budget.run(
        async () => {
          counts[owner] += 1;
          isOver = counts.many + counts.one >= 60;
        },
        { owner },
      );
    }
  };
  await Promise.all([...Array.from({ length: 20 }, () => stream("many")), stream("one")]);
  // One task at a time: what it waits is one turn of the other person's.
  expect(counts.one).toBeGreaterThanOrEqual(20);
});

test("people do not wait behind the streams", async () => {
  const budget = createBudget({ requestsPerSecond: 30, streamsPerSecond: 20 });
  let isStreamed = false;
  const streams = Promise.all(Array.from({ length: 40 }, () => budget.run(() => budget.pass()))).then(() => {
    isStreamed = true;
  });
  for (let i = 0; i < 5; i++) await budget.pass();
  expect(isStreamed).toBe(false);
  await streams;
});

test("after a global 429 nothing starts for as long as Discord says, then at half the speed", async () => {
  let now = 1_000_000;
  const budget = createBudget({ requestsPerSecond: 1_000, streamsPerSecond: 40, now: () => now });
  budget.slowDown(200);
  const startedAt = performance.now();
  // The pause is over when the clock says so; it is looked at again after the time that was left.
  setTimeout(() => {
    now += 300;
  }, 100);
  await budget.run(async () => undefined);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(190);
  const slowAt = performance.now();
  for (let i = 0; i < 11; i++) await budget.run(async () => undefined);
  expect(performance.now() - slowAt).toBeGreaterThanOrEqual(400);
  now += 60_000;
  const fastMs = await awakeMs(async () => {
    for (let i = 0; i < 4; i++) await budget.run(async () => undefined);
  });
  expect(fastMs).toBeLessThan(5_000);
});

test("whoever leaves while a global 429 holds everything up waits no longer, and is not run afterwards", async () => {
  let now = 1_000_000;
  const budget = createBudget({ now: () => now });
  budget.slowDown(300);
  const leaving = new AbortController();
  const ran: string[] = [];
  const note = (name: string) => async () => void ran.push(name);
  const left = budget.run(note("left"), { signal: leaving.signal });
  const stays = budget.run(note("stays"), { signal: new AbortController().signal });
  leaving.abort();
  await left;
  await budget.run(note("late"), { signal: leaving.signal });
  expect(ran).toEqual([]);
  now += 300;
  await stays;
  expect(ran).toEqual(["stays"]);
});

test("a thread with a person in it goes before its owner's floods, and before others' threads with nobody in them", async () => {
  const budget = createBudget({
    requestsPerSecond: 60,
    streamsPerSecond: 40,
    isAttended: (id) => id === "here",
  });
  const order: string[] = [];
  const step = (owner: string, threadId: string) =>
    budget.run(async () => void order.push(`${owner} ${threadId}`), { owner, threadId });
  const steps = [
    ...Array.from({ length: 3 }, (_, i) => step("other", `flood ${i}`)),
    ...Array.from({ length: 3 }, (_, i) => step("me", `flood ${i}`)),
    step("me", "here"),
  ];
  await Promise.all(steps);
  expect(order.slice(0, 3)).toEqual(["me here", "other flood 0", "me flood 0"]);
});
