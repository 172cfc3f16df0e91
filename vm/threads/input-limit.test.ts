import { expect, test } from "vitest";
import { aThreadId } from "../../test/support/ids.ts";
import { InputLimit } from "./input-limit.ts";

const MIB = 1024 * 1024;

test("a burst of four seconds' worth goes in at once, then what the rate allows", () => {
  let now = 0;
  const limit = new InputLimit(() => now);
  for (let i = 0; i < 4; i++) limit.take(aThreadId("a"), MIB);
  expect(() => limit.take(aThreadId("a"), 1_024)).toThrow("try again in 0.1 s");
  expect(() => limit.take(aThreadId("a"), MIB)).toThrow(
    "Input for this thread comes too fast; try again in 1.0 s.",
  );
  limit.take(aThreadId("b"), MIB); // another thread has its own
  now += 1_000;
  limit.take(aThreadId("a"), MIB);
  expect(() => limit.take(aThreadId("a"), 1_024)).toThrow("too fast");
});

test("a thread into which nobody types any more is forgotten", () => {
  let now = 0;
  const limit = new InputLimit(() => now);
  for (let i = 0; i < 10_000; i++) {
    limit.take(aThreadId(`thread-${i}`), 1);
    now += 100;
  }
  expect(limit.size).toBeLessThanOrEqual(41);
});

test("what was refused costs nothing, and many small inputs are bounded too", () => {
  let now = 0;
  const limit = new InputLimit(() => now);
  for (let i = 0; i < 4_000; i++) limit.take(aThreadId("a"), 1);
  for (let i = 0; i < 100; i++) expect(() => limit.take(aThreadId("a"), 1)).toThrow("too fast");
  now += 10;
  for (let i = 0; i < 10; i++) limit.take(aThreadId("a"), 1);
  expect(() => limit.take(aThreadId("a"), 1)).toThrow("too fast");
});
