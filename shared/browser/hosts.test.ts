import { expect, test } from "vitest";
import { OpenedHosts, whyClosed } from "./hosts.ts";

const OWN = new Set(["93.184.215.1", "2600:1f18::5"]);
const none = new OpenedHosts([]);

test.each([
  ...["0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.31.0.1"],
  ...["192.168.1.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "192.0.0.1"],
  ...["::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "fec0::1", "2001:db8::1"],
  // As another address is written, or tunnelled to.
  ...["::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:a9fe:a9fe", "64:ff9b::10.0.0.1", "64:ff9b::7f00:1"],
  ...["::127.0.0.1", "2002:7f00:1::", "2001:0:53aa:64c::1", "0:0:0:0:0:ffff:127.0.0.1"],
  // The machine's own, though public.
  ...["93.184.215.1", "::ffff:93.184.215.1", "2600:1f18::5", "2600:1f18:0:0::5"],
  ...["", "localhost", "999.1.1.1"],
])("%s is closed", (address) => {
  expect(whyClosed(address, OWN)).toBeDefined();
});

test.each(["93.184.215.14", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::8.8.8.8"])(
  "%s is public",
  (address) => {
    expect(whyClosed(address, OWN)).toBeUndefined();
  },
);

test("a setting opens a name, what is below one, and a network, each on all ports or on one", () => {
  const hosts = new OpenedHosts([
    "wiki.lan",
    "*.corp",
    "localhost:3000",
    "10.1.0.0/16",
    "[fd00::1]:80",
    "::1",
  ]);
  expect(hosts.hasName("wiki.lan", 443)).toBe(true);
  expect(hosts.hasName("WIKI.lan.", 80)).toBe(true);
  expect(hosts.hasName("a.wiki.lan", 80)).toBe(false);
  expect(hosts.hasName("a.b.corp", 80)).toBe(true);
  expect(hosts.hasName("corp", 80)).toBe(false);
  expect(hosts.hasName("localhost", 3000)).toBe(true);
  expect(hosts.hasName("localhost", 3001)).toBe(false);
  expect(hosts.hasAddress("10.1.200.3", 22)).toBe(true);
  expect(hosts.hasAddress("::ffff:10.1.0.1", 22)).toBe(true);
  expect(hosts.hasAddress("10.2.0.1", 22)).toBe(false);
  expect(hosts.hasAddress("fd00::1", 80)).toBe(true);
  expect(hosts.hasAddress("fd00::1", 81)).toBe(false);
  expect(hosts.hasAddress("::1", 1)).toBe(true);
  expect(none.hasName("wiki.lan", 80)).toBe(false);
});

test.each([
  "",
  "a b",
  "http://wiki.lan",
  "wiki.lan:0",
  "wiki.lan:99999",
  "10.0.0.0/33",
  "wiki.lan/8",
  "*",
  "::1/129",
  "[::1",
  "a:b:c",
])("%s names no host", (entry) => {
  expect(() => new OpenedHosts([entry])).toThrow("is neither a host");
});
