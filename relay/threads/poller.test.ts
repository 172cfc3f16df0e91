import { expect, test } from "vitest";
import { readInterval } from "./poller.ts";

const agent = { type: "agent", status: "running", paused: undefined } as const;
const terminal = { ...agent, type: "terminal" } as const;

test("threads are read more often while an agent is at work, and never less often than asked for", () => {
  expect(readInterval(1_000, [terminal])).toBe(1_000);
  expect(readInterval(1_000, [terminal, agent])).toBe(600);
  expect(readInterval(250, [agent])).toBe(250);
  expect(readInterval(1_000, [{ ...agent, status: "idle" }])).toBe(1_000);
  expect(readInterval(1_000, [{ ...agent, paused: "the thread is locked" }])).toBe(1_000);
});
