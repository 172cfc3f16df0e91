import { expect, test } from "vitest";
import { Addresses, networkOf } from "./addresses.ts";

test.each([
  ["127.0.0.1", "127.0.0.1"],
  ["::ffff:10.1.2.3", "10.1.2.3"],
  ["::1", "0:0:0:0::/64"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:DB8:1:2::1", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["2001:db8::1:2:3:4:5", "2001:db8:0:1::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["64:ff9b::10.1.2.3", "64:ff9b:0:0::/64"],
  ["1:2:3:4:5:6:10.1.2.3", "1:2:3:4::/64"],
  ["", ""],
])("%s is of %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});

// Promise: S2
test("remembers so many addresses, and forgets the one that was quiet for longest", () => {
  const forgotten: number[] = [];
  let made = 0;
  const addresses = new Addresses(
    2,
    () => ({ id: ++made }),
    ({ id }) => forgotten.push(id),
  );
  expect(addresses.get("10.0.0.1").id).toBe(1);
  expect(addresses.get("2001:db8::1").id).toBe(2);
  expect(addresses.get("10.0.0.1").id).toBe(1);
  expect(addresses.get("2001:db8::ffff").id).toBe(2); // another address of that network
  expect(addresses.get("10.0.0.1").id).toBe(1);
  expect(addresses.get("10.0.0.3").id).toBe(3);
  expect(forgotten).toEqual([2]);
  for (let i = 0; i < 1_000; i++) addresses.get(`10.1.${i >> 8}.${i & 255}`);
  expect(addresses.entries()).toHaveLength(2);
});
