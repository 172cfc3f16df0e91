/** An engine asks people no more than they can decide on. */
import { expect, test } from "vitest";
import { type EventBody, type ThreadEvent, toEvent } from "../../shared/agent/events.ts";
import { foldEvents } from "../../shared/agent/fold.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { boundAsks } from "./ask-bound.ts";

const ask = (n: number): EventBody => ({
  ...{ type: "permission_request", requestId: `r${n}`, toolCallId: `c${n}`, toolName: "Bash" },
  ...{ callKey: `k${n}`, input: "{}", title: "Bash ls", options: [] },
});
const withdrawn = (n: number): EventBody => ({
  ...{ type: "permission_response", requestId: `r${n}`, outcome: "cancelled", reason: "withdrawn" },
});
const question: EventBody = {
  ...{ type: "elicitation_request", requestId: "q", toolCallId: "c", callKey: "k", input: "{}" },
  ...{ message: "Which?", questions: [] },
};
const written: EventBody = {
  ...{ type: "user_message", messageId: "m", source: "discord:7" },
  content: [{ type: "text", text: "go on" }],
};

function foldOf(bodies: readonly EventBody[]): ThreadFold {
  const place = (n: number) => ({ seq: n + 1, id: `r${n}.0`, ts: "2026-11-28T10:00:00.000Z" });
  return foldEvents(bodies.map((body, n) => toEvent({ ...body, ...place(n) }) as ThreadEvent));
}

const times = (count: number, of: (n: number) => EventBody[]) =>
  Array.from({ length: count }, (_, n) => of(n)).flat();

test("the hundred and first open ask is refused, whatever it asks", () => {
  const almost = foldOf(times(99, (n) => [ask(n)]));
  expect(boundAsks([ask(500)], almost)).toMatchObject({ bodies: [ask(500)], refused: new Map() });
  const full = foldOf(times(100, (n) => [ask(n)]));
  for (const [id, body] of [
    ["r500", ask(500)],
    ["q", question],
  ] as const) {
    const { bodies, refused } = boundAsks([body], full);
    expect(bodies).toEqual([]);
    expect(refused.get(id)).toContain("100 questions wait for people");
  }
  // The line is read again by a runner that takes over.
  expect(boundAsks([ask(7)], full).bodies).toHaveLength(1);
});

test("an ask that stands for an older one, or that is answered already, is no further one", () => {
  const full = foldOf(times(100, (n) => [ask(n)]));
  expect(boundAsks([{ ...ask(500), replaces: "r3" } as EventBody], full).refused.size).toBe(0);
  expect(boundAsks([ask(500), withdrawn(500)], full).bodies).toHaveLength(2);
});

test("asks that are taken back again and again end after two hundred, until somebody writes or decides", () => {
  const taken = times(200, (n) => [ask(n), withdrawn(n)]);
  expect(boundAsks([ask(500)], foldOf(taken.slice(2))).refused.size).toBe(0);
  expect(boundAsks([ask(500)], foldOf(taken)).refused.get("r500")).toContain("last 200 questions");
  const decided: EventBody = { ...withdrawn(199), outcome: "selected", by: "discord:7" } as EventBody;
  for (const after of [
    [...taken, written],
    [...taken.slice(0, -1), decided],
  ])
    expect(boundAsks([ask(500)], foldOf(after)).refused.size).toBe(0);
});
