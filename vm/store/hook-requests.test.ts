import { expect, test } from "vitest";
import { Database } from "./database.ts";
import { HookRequestTable, type NewHookRequest } from "./hook-requests.ts";

const request = (deliveryId: string, more: Partial<NewHookRequest> = {}): NewHookRequest => ({
  hook: "deploy",
  deliveryId,
  receivedAt: 1_000,
  knownUntil: 5_000,
  groupKey: "",
  outcome: "taken",
  body: Buffer.from(`body of ${deliveryId}`),
  ...more,
});

function open() {
  const db = new Database(":memory:");
  return { db, requests: new HookRequestTable(db) };
}

test("the disk is waited for while requests are kept, and only then", () => {
  const { db } = open();
  const syncOf = () => db.prepare("PRAGMA synchronous").get();
  expect(syncOf()).toEqual({ synchronous: 1 });
  expect(db.durably(syncOf)).toEqual({ synchronous: 2 });
  expect(() =>
    db.durably(() => {
      throw new Error("no");
    }),
  ).toThrow("no");
  expect(syncOf()).toEqual({ synchronous: 1 });
});

test("the same request again is the first one, in one group too", () => {
  const { requests } = open();
  const filtered = request("b", { outcome: "filtered", body: null });
  expect(requests.keep([request("a"), filtered, request("a", { outcome: "filtered", body: null })])).toEqual([
    "taken",
    "filtered",
    "taken",
  ]);
  expect(requests.keep([request("b", { receivedAt: 4_999 })])).toEqual(["filtered"]);
  expect(requests.keep([request("b", { receivedAt: 5_000, knownUntil: 9_000 })])).toEqual(["taken"]);
  expect(requests.find("other", "a", 1_000)).toBeUndefined();
});

test("one that waits is known however long it waits; its body stays until it is passed on", () => {
  const { requests } = open();
  requests.keep([
    request("a"),
    request("b", { receivedAt: 900, groupKey: "k" }),
    request("c", { hook: "other" }),
  ]);
  expect(requests.listHooks().sort()).toEqual(["deploy", "other"]);
  expect(requests.listWaiting("deploy", 10)).toEqual([
    { deliveryId: "b", receivedAt: 900, groupKey: "k", bytes: 9 },
    { deliveryId: "a", receivedAt: 1_000, groupKey: "", bytes: 9 },
  ]);
  expect(requests.waitingBytes()).toBe(3 * "body of a".length);
  requests.forget(100_000);
  expect(requests.keep([request("a", { receivedAt: 100_000, body: Buffer.from("new") })])).toEqual(["taken"]);
  expect(requests.findBody("deploy", "a")?.toString()).toBe("body of a");
  requests.passOn("deploy", ["a", "b"]);
  expect(requests.findBody("deploy", "a")).toBeUndefined();
  expect(requests.find("deploy", "a", 4_999)).toBe("taken");
  expect(requests.waitingBytes()).toBe("body of c".length);
  requests.forget(5_000);
  expect(requests.find("deploy", "a", 0)).toBeUndefined();
  requests.remove("other");
  expect(requests.listHooks()).toEqual([]);
});

test("the bytes that wait are those in the table, whatever is kept, passed on, removed or rolled back", () => {
  const { db, requests } = open();
  const counted = () => new HookRequestTable(db).waitingBytes();
  const agree = () => expect(requests.waitingBytes()).toBe(counted());
  agree();
  requests.keep([request("a"), request("b"), request("f", { outcome: "filtered", body: null })]);
  expect(requests.waitingBytes()).toBe(18);
  requests.keep([request("a"), request("c", { hook: "other" })]);
  agree();
  requests.passOn("deploy", ["a", "a", "nowhere", "f"]);
  agree();
  expect(() =>
    db.transaction(() => {
      requests.add([request("d")]);
      requests.passOn("deploy", ["b"]);
      throw new Error("no");
    }),
  ).toThrow("no");
  agree();
  requests.remove("other");
  agree();
  expect(requests.waitingBytes()).toBe(9);
});
