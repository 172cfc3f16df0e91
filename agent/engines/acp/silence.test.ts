/** How long an agent may say nothing. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Silence } from "./silence.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function watch() {
  const told: string[] = [];
  const state = { isExcused: false };
  const silence = new Silence({
    ...{ quietMs: 60_000, endMs: 600_000, isExcused: () => state.isExcused },
    ...{ quiet: (title) => void told.push(title), silent: (why) => void told.push(why) },
  });
  return { silence, told, state };
}

test("people are told once, and then it is given up once", () => {
  const { silence, told } = watch();
  silence.begin();
  vi.advanceTimersByTime(59_000);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(10_000);
  expect(told).toEqual(["The agent has said nothing for 60 seconds"]);
  vi.advanceTimersByTime(3_600_000);
  expect(told.slice(1)).toEqual(["The agent said nothing for 600 seconds, and was ended."]);
});

test("a word begins the time anew, an excuse holds it, the turn's end ends it", () => {
  const { silence, told, state } = watch();
  silence.begin();
  for (let n = 0; n < 30; n++) {
    vi.advanceTimersByTime(50_000);
    silence.heard();
  }
  state.isExcused = true;
  vi.advanceTimersByTime(7_200_000);
  expect(told).toEqual([]);
  state.isExcused = false;
  vi.advanceTimersByTime(50_000);
  silence.end();
  vi.advanceTimersByTime(7_200_000);
  expect(told).toEqual([]);
});
