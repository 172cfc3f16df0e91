import { expect, test, vi } from "vitest";
import { Alarm } from "./alarm.ts";

/** Milliseconds on the test's own clock until it rings. */
async function waited(alarm: Alarm, ms: number): Promise<number> {
  const startedAt = performance.now();
  const waiting = alarm.wait(ms);
  await vi.advanceTimersToNextTimerAsync();
  await waiting;
  return performance.now() - startedAt;
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
    const rung = alarm.wait(1_000);
    alarm.ring();
    await rung;
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
