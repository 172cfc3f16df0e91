import fc from "fast-check";
import { expect, test } from "vitest";
import { FairQueue } from "./fair-queue.ts";

test("owners take turns, each owner's items keep their order", () => {
  const queue = new FairQueue<string>();
  for (const item of ["a1", "a2", "a3", "b1", "a4", "c1", "b2"]) queue.push(item.slice(0, 1), item);
  const taken: (string | undefined)[] = [];
  for (let i = 0; i < 8; i++) taken.push(queue.shift());
  expect(taken).toEqual(["a1", "b1", "c1", "a2", "b2", "a3", "a4", undefined]);
});

test("nobody waits longer than one turn of everybody else", () => {
  const owner = fc.constantFrom("a", "b", "c", "d");
  fc.assert(
    fc.property(fc.array(fc.option(owner, { nil: undefined }), { maxLength: 200 }), (steps) => {
      const queue = new FairQueue<string>();
      /** By owner who has something waiting: whose turns came since their last one. */
      const passed = new Map<string, string[]>();
      const waiting = new Map<string, number>();
      const take = () => {
        const taken = queue.shift();
        if (taken === undefined)
          return expect([...waiting.values()].every((count) => count === 0)).toBe(true);
        waiting.set(taken, (waiting.get(taken) ?? 0) - 1);
        passed.delete(taken);
        for (const [other, turns] of passed) {
          if (waiting.get(other)) expect(turns).not.toContain(taken);
          turns.push(taken);
        }
        if (waiting.get(taken)) passed.set(taken, []);
      };
      for (const step of steps) {
        if (step === undefined) {
          take();
          continue;
        }
        queue.push(step, step);
        waiting.set(step, (waiting.get(step) ?? 0) + 1);
        if (!passed.has(step)) passed.set(step, []);
      }
      while ([...waiting.values()].some((count) => count > 0)) take();
    }),
  );
});

test("what goes first does so among its owner's, and brings its owner forward once a round", () => {
  const queue = new FairQueue<string>((place) => place.startsWith("!"));
  for (const item of ["a1", "a2", "a!3", "a!4", "b1", "b2", "c1", "c2", "d!1"])
    queue.push(item.slice(0, 1), item, item.slice(1));
  const taken: (string | undefined)[] = [];
  for (let i = 0; i < 9; i++) taken.push(queue.shift());
  // a and d come before b and c, each once; then b and c have their turn before a's second.
  expect(taken).toEqual(["a!3", "d!1", "b1", "c1", "a!4", "b2", "c2", "a1", "a2"]);
});

// Promise: R27
test("whoever has much that goes first gets no more turns than anybody else, and nobody is left out", () => {
  const owners = ["a", "b", "c", "d", "e"];
  fc.assert(
    fc.property(fc.array(fc.subarray(owners), { minLength: 1, maxLength: 60 }), (rounds) => {
      let first: string[] = [];
      const queue = new FairQueue<string>((place) => first.includes(place));
      const counts = new Map(owners.map((owner) => [owner, 0]));
      // All owners have items waiting at all times; each round names other owners that go first.
      for (const owner of owners) for (let i = 0; i < 200; i++) queue.push(owner, owner, owner);
      for (const now of rounds) {
        first = now;
        const taken = queue.shift() ?? "";
        counts.set(taken, (counts.get(taken) ?? 0) + 1);
      }
      const shares = [...counts.values()];
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(2);
    }),
  );
});
