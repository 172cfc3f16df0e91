import fc from "fast-check";
import { expect, it } from "vitest";
import { CostAccount } from "./cost-account.ts";

it("refuses only once it is empty, and is filled up by what is written", () => {
  const account = new CostAccount();
  let paid = 0;
  while (account.pay(1_000_000)) paid++;
  expect(paid).toBeGreaterThan(5);
  expect(account.pay(1)).toBe(false);
  account.wrote(100_000);
  expect(account.pay(1)).toBe(true);
  const full = new CostAccount();
  account.wrote(10_000_000);
  expect(account.snapshot().balance).toBe(full.snapshot().balance);
});

it("has the same balance at the same place, however the text was cut", () => {
  const steps = fc.array(fc.record({ units: fc.nat(2_000), cost: fc.nat(5_000_000), at: fc.nat(2_000) }));
  fc.assert(
    fc.property(steps, (all) => {
      const [whole, pieces] = [new CostAccount(), new CostAccount()];
      for (const { units, cost, at } of all) {
        whole.wrote(units);
        pieces.wrote(Math.min(at, units));
        pieces.restore(pieces.snapshot());
        pieces.wrote(units - Math.min(at, units));
        expect(pieces.pay(cost)).toBe(whole.pay(cost));
      }
      expect(pieces.snapshot()).toEqual(whole.snapshot());
    }),
  );
});
