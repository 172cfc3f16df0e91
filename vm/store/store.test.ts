import { join } from "node:path";
import Database from "better-sqlite3";
import { beforeEach, describe, expect, test } from "vitest";
import { makeFolder } from "../../test/support/folders.ts";
import { type NewThread, Store } from "./store.ts";

let store: Store;

beforeEach(() => {
  store = new Store(":memory:");
});

const thread = (threadId: string, more: Partial<NewThread> = {}): NewThread => ({
  threadId,
  type: "terminal",
  dir: ".",
  path: "/r",
  command: "true",
  createdBy: "1",
  createdAt: 5,
  cols: 80,
  rows: 24,
  marker: "M=1",
  agentSession: null,
  ...more,
});

test("a thread comes back as it was stored, and as it was changed", () => {
  store.insertThread(thread("a", { command: "nasty '; DROP TABLE threads; --\n\u{1f600}" }));
  expect(store.findThread("a")).toMatchObject({
    ...thread("a"),
    command: expect.stringContaining("DROP"),
    isMade: false,
  });
  store.updateThread("a", { status: "exited", isMade: true, exitCode: 3, endedAt: 9 });
  expect(store.findThread("a")).toMatchObject({ status: "exited", isMade: true, exitCode: 3, endedAt: 9 });
  expect(store.findThread("b")).toBeUndefined();
});

test("open and ended ones are told apart, oldest first", () => {
  for (const [id, status] of [
    ["a", "running"],
    ["b", "idle"],
    ["c", "exited"],
    ["d", "killed"],
    ["e", "lost"],
  ] as const) {
    store.insertThread(thread(id, { createdAt: 10 - (id.charCodeAt(0) % 5) }));
    store.updateThread(id, { status });
  }
  const ids = (which: "open" | "ended" | "all") => store.listThreads(which).map((row) => row.threadId);
  expect(ids("open").sort()).toEqual(["a", "b", "c"]);
  expect(ids("ended").sort()).toEqual(["d", "e"]);
  const times = store.listThreads("all").map((row) => row.createdAt);
  expect(times).toEqual([...times].sort((a, b) => a - b));
  expect(store.countOpen()).toBe(3);
});

test("the same id again replaces the thread and everything of it", () => {
  store.insertThread(thread("a", { type: "agent", agentSession: "s" }));
  store.addTurn("a", "second", 6);
  store.setDelivery("a", { offset: 3 });
  store.setInput("a", "id", "sent");
  store.insertThread(thread("a", { type: "agent", agentSession: "t", command: "new" }));
  expect(store.countWaiting("a")).toBe(1);
  expect(store.findTurn("a", "waiting")).toEqual({ seq: 1, text: "new" });
  expect(store.findDelivery("a")).toBeUndefined();
  expect(store.findInput("a", "id")).toBeUndefined();
});

describe("turns", () => {
  test("are taken in order", () => {
    store.insertThread(thread("a", { type: "agent", agentSession: "s", command: "one" }));
    for (const text of ["two", "three"]) store.addTurn("a", text, 6);
    const taken: string[] = [];
    for (let turn = store.findTurn("a", "waiting"); turn; turn = store.findTurn("a", "waiting")) {
      taken.push(turn.text);
      store.setTurn("a", turn.seq, "done", 0);
    }
    expect(taken).toEqual(["one", "two", "three"]);
  });

  test.each([
    ["done", 0, true],
    ["done", 1, true],
    ["done", null, true],
    ["done", 127, false],
    ["done", 126, false],
    ["running", null, false],
  ] as const)("one that is %s with %s: there is a conversation: %s", (state, exitCode, expected) => {
    store.insertThread(thread("a", { type: "agent", agentSession: "s" }));
    store.setTurn("a", 1, state, exitCode);
    expect(store.hasConversation("a")).toBe(expected);
  });
});

test("a start that was cut off while it reserved room keeps nobody from the next one", () => {
  const { path, remove } = makeFolder();
  try {
    const file = join(path, "db");
    const first = new Store(file);
    first.insertThread(thread("a"));
    first.close();
    const db = new Database(file);
    db.exec("CREATE TABLE reserve AS SELECT zeroblob(4096) AS bytes");
    db.close();
    const second = new Store(file);
    expect(second.findThread("a")).toMatchObject(thread("a"));
    second.close();
  } finally {
    remove();
  }
});

test("a transaction that fails leaves nothing behind", () => {
  const work = () =>
    store.transaction(() => {
      store.insertThread(thread("a"));
      throw new Error("no");
    });
  expect(work).toThrow("no");
  expect(store.findThread("a")).toBeUndefined();
});
