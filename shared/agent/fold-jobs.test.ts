import { expect, test } from "vitest";
import { type EventBody, type ThreadEvent, toEvent } from "./events.ts";
import { foldEvents } from "./fold.ts";

function events(bodies: readonly EventBody[]): ThreadEvent[] {
  return bodies.map((body, at) => {
    const ts = new Date(Date.parse("2026-11-22T10:00:00Z") + at * 1_000).toISOString();
    return toEvent({ ...body, seq: at + 1, id: `r${at}.0`, ts }) as ThreadEvent;
  });
}

let count = 0;
function called(
  tool: string,
  rawInput: unknown,
  status: "completed" | "failed" | "in_progress" = "completed",
): EventBody[] {
  const toolCallId = `c${++count}`;
  const call = { toolCallId, at: "s1", name: tool, title: tool, kind: "other" as const, rawInput };
  return [
    { type: "tool_call", ...call },
    { type: "tool_call_update", toolCallId, status },
  ];
}
const made = (...calls: EventBody[][]) => foldEvents(events(calls.flat())).jobs?.made;
const add = (name: string) => called("mcp__threadmux__job_add", { name, when: "in 2h", text: "look" });

test("the jobs that the agent has made are known by their names until it removes them", () => {
  expect(made(called("bash", { command: "x" }))).toBeUndefined();
  expect(made(add("a"), add("b"), add("a"))).toEqual(["b", "a"]);
  expect(made(add("a"), add("b"), called("mcp__threadmux__job_remove", { name: "a" }))).toEqual(["b"]);
});

test("one whose call was refused, or has not ended, is none; nor is what has no name", () => {
  const tool = "mcp__threadmux__job_add";
  expect(made(called(tool, { name: "a" }, "failed"))).toEqual([]);
  expect(made(called(tool, { name: "a" }, "in_progress"))).toEqual([]);
  expect(made(called(tool, { name: "x".repeat(41) }), called(tool, "x"), called(tool, {}))).toBeUndefined();
});

test("at most twenty are kept, the newest", () => {
  const names = Array.from({ length: 25 }, (_, n) => `job-${n}`);
  expect(made(...names.map(add))).toEqual(names.slice(5));
});
