import { expect, test, vi } from "vitest";
import { Alarm } from "./alarm.ts";

/** Milliseconds on the test's own clock until it rings. */
async function waited(alarm: Alarm, ms: number): Promise<number> {
  const startedAt = performance.now();
  const rungAt = alarm.wait(ms).then(() => performance.now());
  await vi.advanceTimersByTimeAsync(ms);
  return (await rungAt) - startedAt;
}

test("waits its time, sooner where it is told so before or meanwhile, and never later", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  try {
    const alarm = new Alarm();
    expect(await waited(alarm, 1_000)).toBe(1_000);
    alarm.within(200);
    alarm.within(500);
    expect(await waited(alarm, 1_000)).toBe(200);
    expect(await waited(alarm, 1_000)).toBe(1_000); // that was for once
    const waiting = waited(alarm, 1_000);
    alarm.within(50);
    expect(await waiting).toBe(50);
    // Others of this worker may have timers too.
    const count = vi.getTimerCount();
    const rung = alarm.wait(1_000);
    expect(vi.getTimerCount()).toBe(count + 1);
    alarm.ring();
    expect(vi.getTimerCount()).toBe(count);
    await rung;
  } finally {
    vi.useRealTimers();
  }
});
