import { expect, test } from "vitest";
import { MAX_DELIVERY_BYTES } from "../../shared/api.ts";
import { MAX_STATE_CHARACTERS } from "../content/log-content.ts";
import { type DeliveryMark, findDeliveryMark } from "./delivery-mark.ts";
import { findOlderMark, rowsOf, toDeliveryMark } from "./older-mark.ts";

const id = (n: number) => String(1_300_000_000_000_000_000n + BigInt(n));

/** As large as one gets. */
const largest: DeliveryMark = {
  kind: "log",
  offset: Number.MAX_SAFE_INTEGER,
  page: 9_999_999,
  state: "x".repeat(MAX_STATE_CHARACTERS),
  alternates: 9_999_999,
  end: new Date().toISOString(),
  bells: 9_999_999,
  seen: id(23),
};

test("the largest mark is one that the sidecar takes", () => {
  expect(Buffer.byteLength(JSON.stringify(largest))).toBeLessThanOrEqual(MAX_DELIVERY_BYTES);
});

test("comes back as it was", () => {
  expect(findDeliveryMark(JSON.parse(JSON.stringify(largest)))).toEqual(largest);
});

test("none, and one of another version, are none", () => {
  expect(findDeliveryMark(null)).toBeUndefined();
  expect(findDeliveryMark({ offset: 3 })).toBeUndefined();
  const { seen: _, ...withoutSeen } = largest;
  expect(findDeliveryMark(withoutSeen)).toBeUndefined();
});

const older = {
  offset: 7,
  page: 3,
  state: "x",
  after: id(1),
  ids: [id(2), id(3)],
  bells: 1,
  sent: id(4),
  seen: id(5),
};

test("an older mark names its messages: they become rows", () => {
  expect(findOlderMark(largest)).toBeUndefined();
  const mark = findOlderMark(older);
  if (!mark) throw new Error("it is one");
  expect(findDeliveryMark(toDeliveryMark(mark))).toMatchObject({ offset: 7, page: 3, bells: 1, seen: id(5) });
  const rows = (more: object, unknown: string[] = []) =>
    Object.fromEntries(rowsOf({ ...mark, ...more }, unknown).map(({ key, messageId }) => [key, messageId]));
  const known = { "page.3": id(2), "page.4": id(3), "post.older": id(4) };
  expect(rows({})).toEqual(known);
  expect(rows({ screen: [2, id(4)] })).toEqual({ "page.3": id(2), "page.4": id(3), "screen.2": id(4) });
  // Killed before it noted a message: that one is the next page, or the picture that was about to be sent.
  expect(rows({}, [id(6), id(7)])).toEqual({ ...known, "page.5": id(6) });
  expect(rows({ screen: [2, ""] }, [id(6)])).toEqual({ ...known, "screen.2": id(6) });
  const full = Array.from({ length: 20 }, (_, i) => id(100 + i));
  expect(rows({ ids: full, sent: id(119) }, [id(120), id(121)])).toMatchObject({
    "page.22": id(119),
    "page.23": id(120),
    "page.24": id(121),
  });
});
