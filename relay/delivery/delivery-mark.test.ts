import { expect, test } from "vitest";
import { MAX_DELIVERY_BYTES, type Thread } from "../../shared/api.ts";
import { type DeliveryMark, findDeliveryMark, MAX_IDS, MAX_STATE_CHARACTERS } from "./delivery-mark.ts";

const thread = (delivery: unknown) => ({ delivery }) as Pick<Thread, "delivery"> as Thread;
const id = (n: number) => String(1_300_000_000_000_000_000n + BigInt(n));

/** As large as one gets. */
const largest: DeliveryMark = {
  offset: Number.MAX_SAFE_INTEGER,
  page: 9_999_999,
  state: "x".repeat(MAX_STATE_CHARACTERS),
  after: id(0),
  ids: Array.from({ length: MAX_IDS }, (_, i) => id(i)),
  screen: [9_999_999, id(21)],
  end: new Date().toISOString(),
  bells: 9_999_999,
  sent: id(22),
  seen: id(23),
};

test("the largest mark is one that the sidecar takes", () => {
  expect(Buffer.byteLength(JSON.stringify(largest))).toBeLessThanOrEqual(MAX_DELIVERY_BYTES);
});

test("comes back as it was", () => {
  expect(findDeliveryMark(thread(JSON.parse(JSON.stringify(largest))))).toEqual(largest);
  expect(findDeliveryMark(thread({ ...largest, screen: [3, ""] }))?.screen).toEqual([3, ""]);
});

test("none, and one of another version, are none", () => {
  expect(findDeliveryMark(thread(null))).toBeUndefined();
  expect(findDeliveryMark(thread({ offset: 3 }))).toBeUndefined();
  const { sent: _, ...withoutSent } = largest;
  expect(findDeliveryMark(thread(withoutSent))).toBeUndefined();
});
