import { expect, test } from "vitest";
import { until } from "../../test/support/wait.ts";
import { TypingPace } from "./typing-pace.ts";

const BURST_BYTES = 1024 * 1024;

function source() {
  const calls: string[] = [];
  return { calls, pause: () => void calls.push("pause"), resume: () => void calls.push("resume") };
}

test("a burst goes in at once; what is more holds the socket up until it is earned", async () => {
  const socket = source();
  const pace = new TypingPace(socket);
  pace.spend(BURST_BYTES);
  expect(socket.calls).toEqual([]);
  const startedAt = performance.now();
  pace.spend(256 * 200);
  pace.spend(256);
  expect(socket.calls).toEqual(["pause"]);
  await until("the socket to be read again", () => socket.calls.length > 1);
  expect(socket.calls).toEqual(["pause", "resume"]);
  expect(performance.now() - startedAt).toBeGreaterThan(100);
});

test("its end lets the socket go on", () => {
  const socket = source();
  const pace = new TypingPace(socket);
  pace.spend(10 * BURST_BYTES);
  pace.end();
  expect(socket.calls).toEqual(["pause", "resume"]);
});
