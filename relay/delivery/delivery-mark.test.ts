import { expect, test } from "vitest";
import { MAX_DELIVERY_BYTES } from "../../shared/ledger-api.ts";
import { MAX_STATE_CHARACTERS } from "../content/log-content.ts";
import { type DeliveryMark, findDeliveryMark } from "./delivery-mark.ts";

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
