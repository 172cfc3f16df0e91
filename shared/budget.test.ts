import { expect, test } from "vitest";
import { formatMemory, formatUse, parseMemory } from "./budget.ts";

test.each([
  ["512M", 512 * 1024 ** 2],
  ["2G", 2 * 1024 ** 3],
  ["1.5 GiB", 1.5 * 1024 ** 3],
  ["64kb", 64 * 1024],
  ["1048576", 1024 ** 2],
  ["2X", undefined],
  ["-1G", undefined],
  ["1e9", undefined],
  ["", undefined],
  ["9".repeat(40), undefined],
])("%s is a size", (text, bytes) => {
  expect(parseMemory(text)).toBe(bytes);
});

test("sizes are told as people write them", () => {
  expect([1, 1023, 1024, 96 * 1024 ** 2, 1.5 * 1024 ** 3].map(formatMemory)).toEqual([
    "1 bytes",
    "1023 bytes",
    "1 KiB",
    "96 MiB",
    "1.5 GiB",
  ]);
});

test("a budget in one line", () => {
  const memory = { limit: 1024 ** 3, used: 20 * 1024 ** 2, hits: 2 };
  expect(formatUse({ memory, pids: { limit: 64, used: 3, hits: 0 }, notHeld: ["cpu"] })).toBe(
    "memory 20 MiB of 1 GiB (held 2 times) · 3 of 64 processes · cpu: not held on this machine",
  );
  expect(formatUse({ memory: { ...memory, hits: 1 }, notHeld: [] })).toBe(
    "memory 20 MiB of 1 GiB (held once)",
  );
  expect(formatUse(null)).toBe("");
});
