import { expect, test } from "vitest";
import { retry } from "./retry.ts";

test("work is tried until it works, each time after a longer wait, up to the longest", async () => {
  const waits: number[] = [];
  const { signal } = new AbortController();
  const work = async () => {
    if (waits.length < 5) throw new Error("not yet");
    return "done";
  };
  const done = await retry(
    { firstMs: 1, longestMs: 4, signal },
    work,
    (_, waitMs) => void waits.push(waitMs),
  );
  expect([done, waits]).toEqual(["done", [1, 2, 4, 4, 4]]);
});

test("a signal ends the tries, and so does a failure that is thrown on", async () => {
  const stop = new AbortController();
  const fails = async () => {
    throw new Error("never");
  };
  const how = { firstMs: 60_000, longestMs: 60_000, signal: stop.signal };
  expect(await retry(how, fails, () => stop.abort())).toBeUndefined();
  const again = { ...how, signal: new AbortController().signal };
  await expect(
    retry(again, fails, (error) => {
      throw error;
    }),
  ).rejects.toThrow("never");
});
