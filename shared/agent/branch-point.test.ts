import { expect, test } from "vitest";
import { aThreadId } from "../../test/support/ids.ts";
import { PointFinder, type WantedPoint } from "./branch-point.ts";
import type { ThreadEvent } from "./events.ts";

let seq = 0;
const event = (type: string, fields: object) =>
  ({ seq: ++seq, id: `r${seq}.0`, ts: "2026-11-22T10:00:00.000Z", type, ...fields }) as ThreadEvent;
const start = (threadId: string) => {
  seq = 0;
  return event("thread_start", { threadId, v: 1, createdBy: "discord:7", config: {} });
};
const engine = (sessionId: string) => event("engine_start", { sessionId, generation: 1 });
const message = (messageId: string) =>
  event("user_message", { messageId, content: [{ type: "text", text: "x" }] });
const deliver = (deliveryId: string, ...messageIds: string[]) => [
  event("delivery", { deliveryId, messageIds }),
  event("delivery_update", { deliveryId, status: "started" }),
];
const says = (messageId: string, more: object = {}) =>
  event("agent_message", { messageId, at: `at-${messageId}`, text: "x", ...more });
const calls = (toolCallId: string) => event("tool_call", { toolCallId, at: `at-${toolCallId}` });
const ends = (toolCallId: string) =>
  event("tool_call_update", { toolCallId, status: "completed", at: `end-${toolCallId}` });

function find(events: ThreadEvent[], wanted: WantedPoint = {}, own = "t") {
  const finder = new PointFinder<number>(wanted, aThreadId(own));
  for (const [index, one] of events.entries()) finder.take(one, index);
  return finder;
}

/** 1 start, 2 engine, 3 a, 4 b, 5–6 both delivered, 7 says, 8 calls, 9 c waits, 10 ends, 11–12 c, 13 says. */
const conversation = () => [
  start("t"),
  engine("S"),
  message("a"),
  message("b"),
  ...deliver("D", "a", "b"),
  says("one"),
  calls("call"),
  message("c"),
  ends("call"),
  ...deliver("E", "c"),
  says("two"),
];

test("the newest point is the last text, result or message that the agent has read", () => {
  expect(find(conversation()).found).toMatchObject({ seq: 13, fork: { sessionId: "S", at: "at-two" } });
  const upTo = (wanted: number) => find(conversation(), { seq: wanted }).found;
  expect(upTo(8)).toMatchObject({ seq: 7, fork: { at: "at-one" } });
  expect(upTo(10)).toMatchObject({ seq: 10, fork: { at: "end-call" } });
  expect(upTo(6)).toMatchObject({ seq: 4, messageId: "b", fork: { at: "D" }, end: 5 });
  expect(upTo(2)).toBeUndefined();
});

test("of messages that were read at once, only the last is a line of the engine's", () => {
  expect(find(conversation(), { messageId: "a" }).found).toEqual({
    threadId: "t",
    seq: 3,
    messageId: "a",
    chosen: {},
    end: 5,
  });
  expect(find(conversation(), { messageId: "two" }).found).toMatchObject({ seq: 13 });
});

test("a message that waits is no point; one whose delivery was lost waits again", () => {
  const waiting = [start("t"), engine("S"), says("one"), message("a")];
  expect(find(waiting, { messageId: "a" })).toMatchObject({ found: undefined, isUnread: true });
  expect(find(waiting, { seq: 4 })).toMatchObject({ found: undefined, isUnread: true });
  const lost = [
    ...waiting,
    ...deliver("D", "a"),
    event("delivery_update", { deliveryId: "D", status: "queued" }),
  ];
  expect(find(lost, { messageId: "a" })).toMatchObject({ found: undefined, isUnread: true });
  expect(find(lost).found).toMatchObject({ seq: 3 });
});

test("while calls are open, and within a sub-agent, nothing is a point", () => {
  const busy = [
    start("t"),
    engine("S"),
    says("one"),
    calls("a"),
    calls("b"),
    ends("a"),
    says("sub", { parentToolCallId: "b" }),
  ];
  expect(find(busy).found).toMatchObject({ seq: 3 });
  expect(find(busy, { messageId: "sub" }).found).toBeUndefined();
  expect(find([...busy, ends("b")]).found).toMatchObject({ seq: 8 });
});

test("in a branch's origin, numbers are another thread's", () => {
  const events = [...conversation(), start("child"), engine("C"), says("three")];
  expect(find(events, { seq: 3 }, "child").found).toMatchObject({
    threadId: "child",
    fork: { sessionId: "C" },
  });
  expect(find(events.slice(0, -1), {}, "child").found).toMatchObject({ threadId: "t", seq: 13 });
});
