import fc from "fast-check";
import { expect, test } from "vitest";
import { findFastGrowth } from "../../../../test/support/growth.ts";
import { apartPlacesOf, placesOf } from "./sequence.ts";

const text = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 40 });

test("each place is found, overlapping ones too, or those that are apart", () => {
  fc.assert(
    fc.property(
      text,
      fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 5 }),
      (all, wanted) => {
        const places = [...all].flatMap((_, at) => (all.startsWith(wanted, at) ? [at] : []));
        expect([...placesOf(wanted, all)]).toEqual(places);
        expect([...apartPlacesOf(wanted, all)]).toHaveLength(all.split(wanted).length - 1);
        expect([...placesOf([...wanted], [...all])]).toEqual(places);
      },
    ),
  );
});

test("no text and no part of it takes longer than their length says", () => {
  const hostile = [
    { name: "a…ba… in a…", make: (count: number) => "a".repeat(count) },
    { name: "ab… in ab…", make: (count: number) => "ab".repeat(count) },
  ];
  const find = (all: string) => [...placesOf(`${all.slice(0, 9)}b${all.slice(0, all.length / 3)}`, all)];
  expect(hostile.flatMap((one) => findFastGrowth(one, find) ?? [])).toEqual([]);
});
