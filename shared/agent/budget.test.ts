import fc from "fast-check";
import { expect, test } from "vitest";
import { addUse, type LimitsOfChild, limitsAtEnd, NO_USE, shareOf, useOfChildren } from "./budget.ts";

test("a child is given half of what is left unless it wants otherwise, and never more than there is", () => {
  expect(shareOf({ turns: 9, spendUsd: 1, seconds: 61 }, {})).toEqual({
    limits: { turns: 4, spendUsd: 0.5, seconds: 30 },
  });
  expect(shareOf({ turns: 1 }, {})).toEqual({ limits: { turns: 1 } });
  expect(shareOf({ spendUsd: 1 }, { spendUsd: 0.9, turns: 3 })).toEqual({
    limits: { spendUsd: 0.9, turns: 3 },
  });
  expect(shareOf({ spendUsd: 1 }, { spendUsd: 1.1 })).toEqual({ refused: "spendUsd", left: 1 });
  expect(shareOf({ turns: 0 }, {})).toEqual({ refused: "turns", left: 0 });
  expect(shareOf({ tokens: -5 }, {})).toEqual({ refused: "tokens", left: 0 });
  expect(shareOf({}, {})).toEqual({ limits: {} });
});

// Promise: S29
test("children that begin and end in any order, and use all that they have, stay within their parent's limit", () => {
  const step = fc.record({
    ends: fc.boolean(),
    which: fc.nat(9),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  const run = (tokens: number, steps: { ends: boolean; which: number; part: number }[]) => {
    const open: LimitsOfChild[] = [];
    let ended = NO_USE;
    let used = 0;
    for (const { ends, which, part } of steps) {
      const child = open[which % Math.max(1, open.length)];
      if (ends && child?.tokens !== undefined) {
        open.splice(open.indexOf(child), 1);
        const use = { ...NO_USE, tokens: Math.floor(child.tokens * part) };
        ended = addUse(ended, use);
        used += limitsAtEnd(child, use)?.tokens ?? Number.POSITIVE_INFINITY;
      }
      const left =
        tokens -
        useOfChildren(
          open.map((limits) => ({ limits })),
          ended,
        ).tokens;
      const share = shareOf({ tokens: left }, part > 0.5 ? { tokens: Math.ceil(left * part) } : {});
      if ("limits" in share) open.push(share.limits);
    }
    // One that used nothing may use one token: the least that can be said.
    expect(used).toBeLessThanOrEqual(tokens + steps.length);
    expect(
      useOfChildren(
        open.map((limits) => ({ limits })),
        ended,
      ).tokens,
    ).toBeLessThanOrEqual(tokens);
  };
  fc.assert(fc.property(fc.integer({ min: 1, max: 1_000_000 }), fc.array(step, { maxLength: 60 }), run));
});
