import fc from "fast-check";
import { expect, test } from "vitest";
import { hookCoalesceSchema } from "../../shared/hooks/settings.ts";
import { type Arrival, dueAtOf, gather, groupKeyOf, takeDue } from "./coalesce.ts";

const SETTINGS = hookCoalesceSchema.parse({ key: "/service", windowSeconds: 10, maxWaitSeconds: 25 });

test("what a path names is the key; what has nothing there belongs together", () => {
  const keyOf = (value: unknown) => groupKeyOf(SETTINGS, { value });
  expect(keyOf({ service: "api" })).toBe('"api"');
  expect(keyOf({ service: 1 })).not.toBe(keyOf({ service: "1" }));
  expect([keyOf({}), keyOf({ service: {} }), groupKeyOf(SETTINGS, undefined)]).toEqual(["", "", ""]);
  expect(groupKeyOf({ ...SETTINGS, key: undefined } as never, { value: { service: "api" } })).toBe("");
  expect(keyOf({ service: "x".repeat(1e6) }).length).toBe(1_000);
});

test("each request begins the window anew, until the first has waited long enough", () => {
  const arrivals: Arrival[] = [];
  const dueAfter = (id: string, key: string, at: number) => {
    arrivals.push({ id, key, at });
    return gather(arrivals).map((group) => dueAtOf(group, SETTINGS));
  };
  expect(dueAfter("a", "k", 0)).toEqual([10_000]);
  expect(dueAfter("b", "k", 9_000)).toEqual([19_000]);
  expect(dueAfter("c", "k", 18_000)).toEqual([25_000]);
  expect(dueAfter("d", "other", 18_000)).toEqual([25_000, 28_000]);
  const groups = gather(arrivals);
  expect(takeDue(groups, SETTINGS, 24_999).due).toEqual([]);
  const { due, waiting } = takeDue(groups, SETTINGS, 25_000);
  expect(due.map(({ ids }) => ids)).toEqual([["a", "b", "c"]]);
  expect(waiting.map(({ key }) => key)).toEqual(["other"]);
});

test("a clock that is set back lets nothing wait until it is as late again", () => {
  const groups = gather([{ id: "a", key: "k", at: 3_600_000 }]);
  expect(takeDue(groups, SETTINGS, 0).due).toHaveLength(1);
});

test("every request is passed on once, at most maxWaitSeconds after it came", () => {
  const arrivals = fc.array(
    fc.record({ key: fc.constantFrom("a", "b"), after: fc.integer({ min: 0, max: 20_000 }) }),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(arrivals, (list) => {
      let arrivals: Arrival[] = [];
      let now = 0;
      const passed: { id: string; at: number }[] = [];
      const came = new Map<string, number>();
      const tick = (to: number) => {
        for (; now < to; now += 500) {
          const { due } = takeDue(gather(arrivals), SETTINGS, now);
          const ids = due.flatMap((group) => group.ids);
          arrivals = arrivals.filter(({ id }) => !ids.includes(id));
          passed.push(...ids.map((id) => ({ id, at: now })));
        }
      };
      for (const [index, { key, after }] of list.entries()) {
        tick(now + after);
        const id = `${index}`;
        came.set(id, now);
        arrivals.push({ id, key, at: now });
      }
      tick(now + 30_000);
      expect(passed.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual(list.map((_, index) => index));
      for (const { id, at } of passed) expect(at - (came.get(id) ?? 0)).toBeLessThanOrEqual(25_500);
    }),
    { numRuns: 50 },
  );
});

test("a wait shorter than the window is refused, with its field", () => {
  const { error } = hookCoalesceSchema.safeParse({ windowSeconds: 10, maxWaitSeconds: 5 });
  expect(error?.issues.map(({ path }) => path.join("."))).toEqual(["maxWaitSeconds"]);
});
