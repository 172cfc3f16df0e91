/** Each job's input is charged with its share of what was spent while a turn had it, and with nothing else. */
import { expect, test } from "vitest";
import type { ThreadEvent } from "./events.ts";
import { emptyFold, foldEvent } from "./fold.ts";
import { chargeOf } from "./fold-charges.ts";

/** A transcript that is told event by event. */
function thread() {
  let fold = emptyFold();
  let seq = 0;
  const tell = (event: object) => {
    seq += 1;
    const whole = { seq, id: `x${seq}`, ts: "2027-01-05T08:30:00Z", ...event };
    fold = foldEvent(fold, whole as unknown as ThreadEvent);
  };
  let turns = 0;
  return {
    tell,
    charge: (messageId: string) => {
      const { usd, calls } = chargeOf(fold, messageId);
      return [Number(usd.toFixed(6)), calls];
    },
    /** These inputs go to the engine together: of `job-…` a job's, all others a person's. */
    read: (...ids: string[]) => {
      for (const messageId of ids) {
        const source = messageId.startsWith("job-") ? "job:nightly" : "owner";
        tell({ type: "user_message", messageId, source, content: [{ type: "text", text: "x" }] });
      }
      tell({ type: "delivery", deliveryId: `d-${ids[0]}`, messageIds: ids });
      return () => tell({ type: "delivery_update", deliveryId: `d-${ids[0]}`, status: "started" });
    },
    begin: (cause = "message") => tell({ type: "turn_start", turnId: `t${++turns}`, cause, deliveryIds: [] }),
    call: (amount: number) => {
      tell({ type: "step_start", stepId: `s${seq}`, kind: "chat", title: "a model" });
      tell({ type: "spend_update", cost: { amount, currency: "USD" } });
    },
    end: (amount: number) => {
      for (const { deliveryId, status } of fold.deliveries)
        if (status === "started") tell({ type: "delivery_update", deliveryId, status: "completed" });
      tell({
        type: "turn_end",
        turnId: `t${turns}`,
        stopReason: "end_turn",
        cost: { amount, currency: "USD" },
      });
    },
  };
}

test("an input that waits while a turn runs is charged with nothing of it", () => {
  const t = thread();
  const first = t.read("job-a");
  t.begin();
  first();
  const second = t.read("job-b");
  t.call(4);
  expect([t.charge("job-a"), t.charge("job-b")]).toEqual([
    [4, 1],
    [0, 0],
  ]);
  t.end(5);
  t.begin();
  second();
  t.call(1);
  t.call(2);
  expect([t.charge("job-a"), t.charge("job-b")]).toEqual([
    [5, 1],
    [2, 2],
  ]);
  t.end(3);
  expect([t.charge("job-a"), t.charge("job-b")]).toEqual([
    [5, 1],
    [3, 2],
  ]);
});

test("what is read together shares alike, a person's message too", () => {
  const t = thread();
  const all = t.read("job-a", "job-b", "hello", "and you");
  t.begin();
  all();
  t.call(2);
  expect([t.charge("job-a"), t.charge("job-b")]).toEqual([
    [0.5, 1],
    [0.5, 1],
  ]);
  t.end(4);
  expect([t.charge("job-a"), t.charge("hello")]).toEqual([
    [1, 1],
    [0, 0],
  ]);
});

test("one that comes into a turn shares what is spent from then on", () => {
  const t = thread();
  const person = t.read("hello");
  t.begin();
  person();
  t.call(6);
  t.read("job-a")();
  expect(t.charge("job-a")).toEqual([0, 0]);
  t.call(8);
  t.read("job-b")();
  t.call(11);
  expect([t.charge("job-a"), t.charge("job-b")]).toEqual([
    [2, 2],
    [1, 1],
  ]);
  t.end(14);
  expect([t.charge("job-a"), t.charge("job-b")]).toEqual([
    [3, 2],
    [2, 1],
  ]);
});

test("a turn that was cut off and is taken up is charged to those that it had", () => {
  const t = thread();
  const all = t.read("job-a");
  t.begin();
  all();
  t.call(1);
  t.tell({ type: "turn_end", turnId: "t1", stopReason: "interrupted" });
  expect(t.charge("job-a")).toEqual([1, 1]);
  t.begin("resume");
  t.call(2);
  expect(t.charge("job-a")).toEqual([3, 2]);
  t.end(2);
  const later = t.read("hello");
  t.begin();
  later();
  t.end(7);
  expect(t.charge("job-a")).toEqual([3, 2]);
});

test("what a child has cost is charged to those whose turn it was, also after its end", () => {
  const t = thread();
  const used = { turns: 1, calls: 1, tokens: 1, spendUsd: 4, seconds: 1 };
  const all = t.read("job-a", "hello");
  t.begin();
  all();
  t.tell({ type: "thread_ended", threadId: "child-1", used });
  expect(t.charge("job-a")).toEqual([2, 0]);
  t.end(2);
  expect(t.charge("job-a")).toEqual([3, 0]);
  t.tell({ type: "thread_ended", threadId: "child-2", used });
  expect(t.charge("job-a")).toEqual([5, 0]);
});

test("the sum of all charges is what the turns have cost; old inputs are forgotten", () => {
  const t = thread();
  for (let at = 0; at < 300; at++) {
    const all = t.read(`job-${at}`);
    t.begin();
    all();
    t.end(1);
  }
  expect([t.charge("job-0"), t.charge("job-299")]).toEqual([
    [0, 0],
    [1, 0],
  ]);
});
