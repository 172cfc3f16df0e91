import { beforeEach, expect, test } from "vitest";
import { aThreadId } from "../../test/support/ids.ts";
import { Database } from "./database.ts";
import { EventTable } from "./events.ts";

let db: Database;
beforeEach(() => {
  db = new Database(":memory:");
});

const at = (byte: number) => ({ byte, bytes: 1 });

test("ids only grow: also past those that a lost database may have given", () => {
  const events = new EventTable(db);
  events.beginAt(1_000);
  expect(events.newest()).toBe(1_000);
  expect(events.floor()).toBe(1_000);
  events.add(aThreadId("a"), "plan", at(0));
  events.beginAt(500);
  events.addOwn(aThreadId("b"), { type: "thread_created", title: "t" });
  events.beginAt(2_000);
  events.add(aThreadId("a"), "plan", at(1));
  expect(events.list(0, 9).map(({ eventId, threadId }) => [eventId, threadId])).toEqual([
    [1_001, "a"],
    [1_002, "b"],
    [2_001, "a"],
  ]);
  expect(events.floor()).toBe(1_000);
  expect([events.idBefore(1), events.idBefore(2), events.idBefore(3)]).toEqual([1_002, 1_001, 1_000]);
});

test("the oldest go when there are too many, and what is left is told by the floor", () => {
  const events = new EventTable(db, 100);
  events.beginAt(1);
  for (let byte = 0; byte < 5_000; byte++) events.add(aThreadId(`t${byte % 3}`), "plan", at(byte));
  const kept = events.list(0, 10_000);
  expect(kept.length).toBeLessThan(1_100);
  expect(kept.length).toBeGreaterThanOrEqual(100);
  expect(kept[0]?.eventId).toBe(events.floor() + 1);
  expect(kept.at(-1)?.eventId).toBe(events.newest());
  events.removeThread(aThreadId("t0"));
  expect(events.list(0, 10_000).some(({ threadId }) => threadId === "t0")).toBe(false);
});

test("a transaction that fails has told nothing, and counts nothing", () => {
  const events = new EventTable(db, 100);
  events.beginAt(1);
  const fail = () =>
    db.transaction(() => {
      for (let byte = 0; byte < 1_050; byte++) events.add(aThreadId("a"), "plan", at(byte));
      throw new Error("no room");
    });
  expect(fail).toThrow("no room");
  expect(fail).toThrow("no room");
  events.add(aThreadId("a"), "plan", at(0));
  expect(events.list(0, 9)).toHaveLength(1);
  expect(events.floor()).toBe(1);
});
